"""Decodes files of statistical software through pyreadstat."""

import codecs
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from algorithms.types import Mask
from expectations.numbers import LARGEST_REAL
from expectations.request.sections.source import SourceSection
from tasks.sources.codes import blank
from tasks.sources.reader import Code, Decoded

DAY = 86_400
MONTH = 28 * DAY * 1000
FARTHEST = 10**15
"""Milliseconds to a year that is refused, as all later ones would be."""


@dataclass(frozen=True)
class Clock:
    """How a kind of file counts time.

    Attributes
    ----------
    origin : date
        The day from which time is counted.
    name : str
        Regular expression of the name of a format, which may be followed by its width.
    seconds : mapping of str to float
        Seconds per unit in columns with a format of this name.
    months : mapping of str to int
        Months per unit, likewise.
    """

    origin: date
    name: str
    seconds: Mapping[str, float]
    months: Mapping[str, int] = field(default_factory=dict)

    def read(self, numbers: NDArray[np.float64], style: str | None) -> pa.Array | None:
        """Read numbers as days, or as times if some are not whole days.

        Returns
        -------
        pyarrow.Array or None
            None if the format of the column is not one of dates or times.
        """
        match = re.match(self.name, (style or "").replace("%-", "%"))
        name = match[0] if match else ""
        known = ~np.isnan(numbers)
        filled = np.where(known, numbers, 0.0)
        if name in self.months:
            return pa.array(self._first_days(filled * self.months[name]), mask=~known)
        if name in self.seconds:
            return self._times(filled * self.seconds[name], known)
        return None

    def _first_days(self, months: NDArray[np.float64]) -> NDArray[np.datetime64]:
        counted = np.clip(np.rint(months), -FARTHEST // MONTH, FARTHEST // MONTH).astype(np.int64)
        origin = np.datetime64(self.origin, "M")
        return (origin + counted.astype("timedelta64[M]")).astype("datetime64[D]")

    def _times(self, seconds: NDArray[np.float64], known: Mask) -> pa.Array:
        counted = np.clip(np.rint(seconds * 1000), -FARTHEST, FARTHEST).astype(np.int64)
        times = np.datetime64(self.origin, "ms") + counted.astype("timedelta64[ms]")
        days = times.astype("datetime64[D]")
        return pa.array(days if (days == times)[known].all() else times, mask=~known)


def decode(
    content: bytes,
    source: SourceSection,
    function: Callable[..., Any],
    clock: Clock,
    **options: Any,
) -> Decoded:
    """Decode a file, in memory, by a function of pyreadstat.

    Parameters
    ----------
    content : bytes
        The whole file.
    source : SourceSection
        An encoding other than UTF-8 replaces the one that the file states.
    function : callable
        Such as `pyreadstat.read_sav`.
    clock : Clock
        How dates and times are read.
    **options
        Options of the function.

    Raises
    ------
    Exception
        If the file cannot be read. The error may be of any type, and its text may quote a cell.
    """
    encoding = codecs.lookup(source.encoding).name
    if encoding not in ("utf-8", "utf-8-sig"):
        options["encoding"] = encoding.upper()
    columns, facts = function(
        io.BytesIO(content), output_format="dict", disable_datetime_conversion=True, **options
    )
    cells, missing = [], {}
    for name in facts.column_names:
        kind = facts.readstat_variable_types[name]
        column, is_missing = _column(
            # each list is given up as soon as it is converted
            columns.pop(name),
            kind,
            facts.missing_ranges.get(name, ()),
            lambda numbers, name=name: clock.read(numbers, facts.original_variable_types[name]),
        )
        cells.append(column)
        if name in facts.missing_ranges:
            missing[name] = is_missing
    table = pa.table(cells, names=list(facts.column_names))
    if facts.number_rows not in (None, table.num_rows):
        raise EOFError
    return Decoded(table, labels=dict(_labels(table, facts)), missing=missing)


def _column(
    cells: list[Any],
    kind: str,
    ranges: Any,
    as_time: Callable[[NDArray[np.float64]], pa.Array | None],
) -> tuple[pa.ChunkedArray, int]:
    """Convert a column; count the cells in ranges that the file declares to be missing."""
    if kind == "string":
        text = pa.array(cells, pa.string())
        text = blank(text, np.asarray(pc.equal(text, "").fill_null(False)))
        declared = pa.array([each["lo"] for each in ranges], pa.string())
        is_missing = np.asarray(pc.is_in(text, declared))
        return pa.chunked_array([blank(text, is_missing)]), int(is_missing.sum())
    numbers = np.array(cells, dtype=np.float64)
    is_missing = np.zeros(len(numbers), dtype=bool)
    for each in ranges:
        is_missing |= (numbers >= each["lo"]) & (numbers <= each["hi"])
    numbers[is_missing] = np.nan
    known = ~np.isnan(numbers)
    if not known.any():
        return pa.chunked_array([pa.nulls(len(numbers))]), int(is_missing.sum())
    times = as_time(numbers)
    return pa.chunked_array([_numbers(numbers, known, kind) if times is None else times]), int(
        is_missing.sum()
    )


def _numbers(numbers: NDArray[np.float64], known: Mask, kind: str) -> pa.Array:
    """Give whole numbers as such, and numbers of 32 bits by the digits they are written with."""
    present = numbers[known]
    if (np.abs(present) < LARGEST_REAL).all() and (np.floor(present) == present).all():
        return pa.array(np.where(known, numbers, 0).astype(np.int64), mask=~known)
    array = pa.array(numbers, mask=~known)
    return (
        array.cast(pa.float32()).cast(pa.string()).cast(pa.float64()) if kind == "float" else array
    )


def _labels(table: pa.Table, facts: Any) -> Iterator[tuple[str, dict[Code, str]]]:
    """List the value labels of columns of numbers or text; labels of missing values are not."""
    for name, labels in facts.variable_value_labels.items():
        kind = table.schema.field(name).type
        if pa.types.is_temporal(kind):
            continue
        fits = str if pa.types.is_string(kind) else int | float
        yield (
            name,
            {code: label for code, label in labels.items() if label and isinstance(code, fits)},
        )
