"""Attackers who know all columns that are counted into k, and more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.comparison import Files, PublishedFiles
from algorithms.measure import Estimate, Measure
from algorithms.table import Table, combinations
from algorithms.types import Labels, units_per_group


@dataclass(frozen=True)
class Exposure:
    """How many records stand out by a set of columns.

    Attributes
    ----------
    columns : tuple of str
        Columns that the attacker knows beside those that are counted into k; empty for none.
    unique : int
        Records whose combination of values occurs once.
    below : int
        Records whose combination of values occurs fewer than k times.
    """

    columns: tuple[str, ...]
    unique: int
    below: int


def exposures(files: PublishedFiles) -> tuple[Exposure, ...]:
    """Count records that stand out if an attacker also knows confidential columns.

    Returns
    -------
    tuple of Exposure
        Without them, with each of them, and with all of them if there are several.
    """
    return tuple(files.once(exposure, columns) for columns in _sets(files.confidential_names))


def _sets(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Give no column, each column, and all columns if there are several."""
    sets: list[tuple[str, ...]] = [(), *((name,) for name in names)]
    return [*sets, tuple(names)] if len(names) > 1 else sets


def exposure(files: PublishedFiles, columns: tuple[str, ...]) -> Exposure:
    """Count records that stand out by the columns counted into k and some confidential ones.

    Muted records show no confidential value by which they could.
    """
    classes, k = files.classes, files.k
    for name in columns:
        classes = combinations([classes, files.confidential(name).values])
    if columns and files.silent is not None:
        classes = classes[~files.silent]
    sizes = np.bincount(classes)
    return Exposure(columns, int((sizes == 1).sum()), int(sizes[sizes < k].sum()))


def unchanged_exposures(table: Table, k: int) -> tuple[Exposure, ...]:
    """Count records that stand out by columns that are published unchanged, whatever is masked.

    Returns
    -------
    tuple of Exposure
        By strata and other columns together, by these with each confidential column, and with all
        confidential columns if there are several.
    """
    shared = {each.name: each.values for each in table.strata}
    shared |= {name: codes.values for name, codes in table.other.items()}
    found = []
    for added in _sets(tuple(table.confidential)):
        columns = {**shared, **{name: table.confidential[name].values for name in added}}
        if columns:
            sizes = np.bincount(combinations(list(columns.values())))
            unique, below = int((sizes == 1).sum()), int(sizes[sizes < k].sum())
            found.append(Exposure(tuple(columns), unique, below))
    return tuple(found)


def linked_by_known(files: Files) -> float | Estimate:
    """Give the share of records that are linked by all columns counted into k, in per cent."""
    linked = files.linked_known()
    if isinstance(linked, Estimate):
        return replace(linked, value=100.0 * linked.value / files.rows)
    return 100.0 * linked / files.rows


def smallest_number_of_units(files: Files) -> float | None:
    """Count the units of the published combination that has the fewest; None without units."""
    units = files.original.units
    return None if units is None else float(units_per_group(files.classes, units).min())


def one_value(files: PublishedFiles) -> float | None:
    """Give the share of records whose class has one value of a confidential column, in per cent.

    Muted records show no value, so that they neither share one nor keep others from sharing one.
    """
    shown = slice(None) if files.silent is None else ~files.silent
    counts = [
        _alike(files.classes[shown], files.confidential(name).values[shown], files.sizes.size)
        for name in files.confidential_names
    ]
    return 100.0 * (max(counts) / files.rows) if counts else None


def _alike(classes: Labels, codes: Labels, count: int) -> int:
    """Count the records of those of ``count`` classes in which all records have one value."""
    lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(lowest, classes, codes)
    np.maximum.at(highest, classes, codes)
    return int(np.bincount(classes, minlength=count)[lowest == highest].sum())


def _with_one(files: PublishedFiles) -> Iterator[Exposure]:
    for name in files.confidential_names:
        yield files.once(exposure, (name,))


def _with_all(files: PublishedFiles) -> Exposure | None:
    names = tuple(files.confidential_names)
    return files.once(exposure, names) if names else None


def _unique_with_one(files: PublishedFiles) -> float | None:
    found = [each.unique for each in _with_one(files)]
    return 100.0 * max(found) / files.rows if found else None


def _below_with_one(files: PublishedFiles) -> float | None:
    found = [each.below for each in _with_one(files)]
    return 100.0 * max(found) / files.rows if found else None


def _unique_with_all(files: PublishedFiles) -> float | None:
    found = _with_all(files)
    return None if found is None else 100.0 * found.unique / files.rows


def _below_with_all(files: PublishedFiles) -> float | None:
    found = _with_all(files)
    return None if found is None else 100.0 * found.below / files.rows


MEASURES = (
    Measure(
        name="k_units",
        title="k in units",
        kind="risk",
        unit="",
        better="higher",
        definition=(
            "Number of different persons, households or companies whose records share the rarest "
            "combination of published values that are counted into k."
        ),
        paper="SWE02",
        run=smallest_number_of_units,
        least=1.0,
    ),
    Measure(
        name="linked_known",
        title="linked by all known columns",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records linked to their own published record by an attacker who knows the "
            "original values of all columns that are counted into k: among published records with "
            "the same strata and other columns, one of the nearest is picked at random."
        ),
        paper="DT01",
        run=linked_by_known,
        most=100.0,
        over_k=True,
    ),
    Measure(
        name="unique_with_one",
        title="unique with one confidential column",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records that are unique if an attacker also knows one confidential column, "
            "for the column where that is most frequent."
        ),
        paper="SWE02",
        run=_unique_with_one,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="below_k_with_one",
        title="below k with one confidential column",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records with fewer than k alike if an attacker also knows one confidential "
            "column, for the column where that is most frequent."
        ),
        paper="SWE02",
        run=_below_with_one,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="unique_with_all",
        title="unique with all confidential columns",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records that are unique if an attacker also knows all confidential columns."
        ),
        paper="SWE02",
        run=_unique_with_all,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="below_k_with_all",
        title="below k with all confidential columns",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records with fewer than k alike if an attacker also knows all confidential "
            "columns."
        ),
        paper="SWE02",
        run=_below_with_all,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="one_value",
        title="groups with one confidential value",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records whose group shares one value of a confidential column, which "
            "everyone who finds the group then knows, for the column where that is most frequent."
        ),
        paper="MKG07",
        run=one_value,
        needs_original=False,
        most=100.0,
    ),
)
