"""DLD, distance-linkage disclosure, and related measures."""

from algorithms.comparison import Files
from algorithms.measure import Measure
from algorithms.search.linkage import Linkage


def _linkage(files: Files) -> Linkage:
    return files.once(_measured)


def _measured(files: Files) -> Linkage:
    return files.linkage()


MEASURES = (
    Measure(
        name="dld",
        title="DLD",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of published records whose own original is the nearest or second nearest of "
            "all originals. Ties between originals count by their expected value."
        ),
        paper="CPD13",
        run=lambda files: _linkage(files).expected,
        most=200.0,
        over_k=True,
    ),
    Measure(
        name="dld_optimistic",
        title="DLD, ties lost",
        kind="risk",
        unit="%",
        better="lower",
        definition="DLD if the attacker loses every tie between originals.",
        paper="CPD13",
        run=lambda files: _linkage(files).optimistic,
        most=200.0,
        over_k=True,
    ),
    Measure(
        name="dld_pessimistic",
        title="DLD, ties won",
        kind="risk",
        unit="%",
        better="lower",
        definition="DLD if the attacker wins every tie between originals.",
        paper="CPD13",
        run=lambda files: _linkage(files).pessimistic,
        most=100.0,
    ),
    Measure(
        name="linked_nearest",
        title="linked to the nearest",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of published records whose own original is the nearest of all originals. Ties "
            "between originals count by their expected value."
        ),
        paper="DT01",
        run=lambda files: _linkage(files).nearest,
        most=100.0,
        over_k=True,
    ),
)
