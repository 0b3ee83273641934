"""The periods of a replay: those whose files are at hand, and their tables."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from algorithms.errors import ReleaseError, SpecError
from algorithms.table import Table
from expectations.request.periods import FORMS, in_order
from expectations.request.sections.series import NEW_EACH_PERIOD
from expectations.request.sections.source import SourceSection
from expectations.request.spec import PERIOD_MARK, ReleaseSpec
from expectations.suites.require import plainly
from expectations.tables import read_persons
from tasks.ingest import read_source
from tasks.stage import guarded
from tasks.validate import validate

MOST_PERIODS = 12
"""The most periods that a replay takes if none are named."""
FEWEST_PERIODS = 2


@dataclass(frozen=True)
class Period:
    """The persons of one period, in counts.

    Attributes
    ----------
    name : str
        The period.
    records : int
        Records of its table.
    entered, left, returned : int
        Persons who were in no period before, who were in the period before and are gone, and who
        are back after an absence.
    """

    name: str
    records: int
    entered: int
    left: int
    returned: int


def check_followed(spec: ReleaseSpec) -> None:
    """Check that persons can be followed from period to period.

    Raises
    ------
    SpecError
        If the spec names no identifiers, declares that no person lasts, or groups each column on
        its own.
    """
    if not spec.columns.identifiers:
        raise SpecError(
            "columns.identifiers must name a column, by which persons are followed from period to "
            "period; it names none"
        )
    if spec.series is not None and spec.series.persons == NEW_EACH_PERIOD:
        raise SpecError(
            f"series.persons must not be {NEW_EACH_PERIOD!r}, because a replay compares releases "
            "of the same persons; it is: there is nothing to compare"
        )
    if spec.microaggregation.each_column:
        raise SpecError(
            "microaggregation.each_column must not be set, because groups of single columns "
            "cannot last; it is"
        )


@contextmanager
def about(period: str) -> Iterator[None]:
    """Name the period that an error is about."""
    try:
        yield
    except ReleaseError as error:
        raise type(error)(f"{period}: {error}") from None


def periods_at_hand(spec: ReleaseSpec) -> tuple[str, ...]:
    """List the latest periods whose files stand where the spec expects them, the oldest first.

    Raises
    ------
    SpecError
        If periods cannot be found by the name of the source.
    """
    source = spec.source
    if not isinstance(source, SourceSection) or PERIOD_MARK not in source.path.name:
        raise SpecError(
            f"source.path must have {PERIOD_MARK} in its name, so that periods can be found by "
            "it; it has not: name the periods with --periods"
        )
    before, after = source.path.name.split(PERIOD_MARK)
    form = FORMS[spec.release.every][0] if spec.release.every else ".+"
    name = re.compile(f"{re.escape(before)}({form}){re.escape(after)}", re.ASCII)
    matches = (name.fullmatch(path.name) for path in source.path.parent.glob("*"))
    found = sorted((match[1] for match in matches if match), key=in_order)
    return tuple(found[-MOST_PERIODS:])


def read_periods(specs: Sequence[ReleaseSpec]) -> tuple[Table, ...]:
    """Read and check the tables of all periods; a person has the same number in each.

    Raises
    ------
    DataError
        If a table does not match its spec.
    """
    identifiers, tables = [], []
    for spec in specs:
        with about(str(spec.release.period)):
            source, _ = guarded("ingest", read_source)(spec)
            table, _ = validate.fn(source, spec, plainly)
        tables.append(table)
        identifiers.append(source.select(list(spec.columns.identifiers)))
    # files of two periods may hold the same identifiers as numbers and as text
    joined = pa.concat_tables([_as_text(each) for each in identifiers])
    ends = np.cumsum([len(table) for table in tables])
    numbers = np.split(read_persons(joined), ends[:-1])
    return tuple(
        replace(table, persons=persons) for table, persons in zip(tables, numbers, strict=True)
    )


def _as_text(identifiers: pa.Table) -> pa.Table:
    names = identifiers.column_names
    return identifiers.cast(pa.schema([(name, pa.string()) for name in names]))


def counted(names: Sequence[str], tables: Sequence[Table]) -> tuple[Period, ...]:
    """Count who enters, leaves and returns in each period."""
    periods = []
    known = before = np.zeros(0, dtype=np.int64)
    for name, table in zip(names, tables, strict=True):
        assert table.persons is not None
        back = np.isin(table.persons, known) & ~np.isin(table.persons, before)
        periods.append(
            Period(
                name=name,
                records=len(table),
                entered=int((~np.isin(table.persons, known)).sum()),
                left=int((~np.isin(before, table.persons)).sum()),
                returned=int(back.sum()),
            )
        )
        known, before = np.union1d(known, table.persons), table.persons
    return tuple(periods)
