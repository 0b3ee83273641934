"""Measures in tables: of each period, and of a release against the one before."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from algorithms.measures import MEASURES
from expectations.gate import Verdict
from flows.desk.snapshot import Attempt, Measured
from tasks.reporting.page import counted, signed
from tasks.store.history import Limited, Past
from tasks.store.shifts import shown_limit, title_of, unit_of

SHORT = 12
"""Digits of a checksum that are shown where there is little room."""


@dataclass(frozen=True)
class Cell:
    """A measure in one period; ``failed`` says that it broke its limit."""

    value: str = ""
    limit: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Row:
    """One period, with a cell for each measure."""

    attempt: Attempt
    past: Past
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class MeasureTable:
    """Every gated measure by period, the latest period first."""

    titles: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Difference:
    """A figure of a release beside that of another.

    Attributes
    ----------
    title : str
        Its name.
    before, now : str
        Both values; empty where there is none.
    differs : bool
        Whether the two are not the same.
    change : str
        By how much; empty for text.
    is_main : bool
        Whether it is a fact of the run, or a measure with a limit.
    """

    title: str
    before: str
    now: str
    differs: bool
    change: str = ""
    is_main: bool = True


@dataclass(frozen=True)
class Judgement:
    """A measure against its limit, in words."""

    title: str
    value: str
    limit: str
    passed: bool


def judgements(verdicts: Sequence[Verdict]) -> list[Judgement]:
    """Write verdicts for readers; a measure of another version keeps its name."""
    return [
        Judgement(
            title_of(verdict.measure),
            "does not apply"
            if math.isnan(verdict.value)
            else shown_value(verdict.measure, verdict.value),
            _limit(verdict.measure, verdict.limit, verdict.floor),
            verdict.passed,
        )
        for verdict in verdicts
    ]


def measures_by_period(measured: Sequence[Measured]) -> MeasureTable:
    """Lay out gated measures as a table."""
    gated = [past.gated for _, past in measured]
    names = tuple(dict.fromkeys(name for each in gated for name in each))
    rows = (
        Row(attempt, past, tuple(_cell(name, each.get(name)) for name in names))
        for (attempt, past), each in zip(measured, gated, strict=True)
    )
    return MeasureTable(tuple(map(title_of, names)), tuple(rows)[::-1])


def differences(before: Past, now: Past) -> list[Difference]:
    """Compare a release with the one before: method, k, spec, sizes and every measure."""
    return [*_facts(before, now), *_measures(before, now)]


def shown_value(name: str, value: float) -> str:
    """Write a measure with its unit; one of another version as it is."""
    return MEASURES[name].shown(value) if name in MEASURES else f"{value:g}"


def _cell(name: str, limited: Limited | None) -> Cell:
    if limited is None or limited.value is None:
        return Cell()
    value, limit = limited.value, limited.limit
    if math.isnan(limit):
        return Cell(shown_value(name, value))
    failed = value < limit if limited.floor else value > limit
    return Cell(shown_value(name, value), _limit(name, limit, limited.floor), failed)


def _limit(name: str, limit: float, floor: bool) -> str:
    return f"{'at least' if floor else 'at most'} {shown_limit(name, limit)}"


def _facts(before: Past, now: Past) -> Iterator[Difference]:
    yield _text("Method", before.method, now.method)
    yield _count("k in the spec", before.k, now.k)
    yield _count("Records", before.records, now.records)
    yield _count("Groups", before.groups, now.groups)
    yield _text("Spec file", before.spec_file, now.spec_file)
    yield _text("SHA-256 of the spec file", before.spec_sha256, now.spec_sha256, SHORT)


def _text(title: str, before: str, now: str, most: int | None = None) -> Difference:
    """Compare whole texts, and show as much of them as there is room for."""
    return Difference(title, before[:most], now[:most], before != now)


def _count(title: str, before: int | None, now: int | None) -> Difference:
    change = "" if before is None or now is None else counted(now - before)
    old, new = ("" if count is None else f"{count:,}" for count in (before, now))
    return Difference(title, old, new, before != now, change)


def _measures(before: Past, now: Past) -> Iterator[Difference]:
    order = {name: place for place, name in enumerate(MEASURES)}
    names = {**now.measures, **before.measures}
    gated = {**now.gated, **before.gated}
    for name in sorted(names, key=lambda name: order.get(name, len(order))):
        values = [before.measures.get(name), now.measures.get(name)]
        old, new = ("" if value is None else shown_value(name, value) for value in values)
        known = [value for value in values if value is not None and math.isfinite(value)]
        change = _change(name, *known) if len(known) == 2 else ""
        yield Difference(title_of(name), old, new, old != new, change, name in gated)


def _change(name: str, before: float, now: float) -> str:
    """Write by how much a measure changed, as precisely as it is shown."""
    is_count = not unit_of(name) and before.is_integer() and now.is_integer()
    return counted(int(now - before)) if is_count else signed(now - before)
