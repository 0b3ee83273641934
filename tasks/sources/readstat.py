"""Decodes files of statistical software through pyreadstat, as a program of its own.

`tasks.sources.apart` starts it, because pyreadstat may crash on a damaged file. It imports nothing
else of the project, so that it starts quickly. It reads the file from its standard input and writes
an Arrow stream to its standard output, whose metadata hold the value labels and the number of
declared missing values by column.
"""

import contextlib
import io
import json
import re
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
from numpy.typing import NDArray

UNREADABLE = 3
"""Exit code if the file cannot be decoded."""

MEMORY, MEMORY_PER_BYTE = 2**32, 300
"""Bytes of memory that decoding may take, in all and for each byte of the file."""

METADATA = b"codes"
"""Key of the labels and counts in the metadata of the stream."""

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]

DAY = 86_400
MONTH = 28 * DAY * 1000
FARTHEST = 10**15
"""Milliseconds to a year that is refused, as all later ones would be."""
LARGEST = 2.0**53
"""Below this, 64-bit real numbers represent every whole number exactly."""


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

    def read(self, numbers: Numbers, style: str | None) -> pa.Array | None:
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

    def _first_days(self, months: Numbers) -> NDArray[np.datetime64]:
        counted = np.clip(np.rint(months), -FARTHEST // MONTH, FARTHEST // MONTH).astype(np.int64)
        origin = np.datetime64(self.origin, "M")
        return (origin + counted.astype("timedelta64[M]")).astype("datetime64[D]")

    def _times(self, seconds: Numbers, known: Mask) -> pa.Array:
        counted = np.clip(np.rint(seconds * 1000), -FARTHEST, FARTHEST).astype(np.int64)
        times = np.datetime64(self.origin, "ms") + counted.astype("timedelta64[ms]")
        days = times.astype("datetime64[D]")
        return pa.array(days if (days == times)[known].all() else times, mask=~known)


SPSS_TIMES = (
    "DATE", "ADATE", "EDATE", "JDATE", "SDATE", "MOYR", "QYR", "WKYR", "DATETIME", "YMDHMS",
)  # fmt: skip
SPSS = Clock(
    # day 1 is the first day of the Gregorian calendar
    origin=date(1582, 10, 14),
    name=r"[A-Z]+",
    seconds=dict.fromkeys(SPSS_TIMES, 1),
)
STATA = Clock(
    origin=date(1960, 1, 1),
    name=r"%t[a-zA-Z]|%d",
    seconds={"%tc": 0.001, "%td": DAY, "%d": DAY},
    months={"%tm": 1, "%tq": 3, "%th": 6},
)
SAS_DATES = (
    "DATE", "WEEKDATE", "WEEKDATX", "WORDDATE", "WORDDATX", "JULIAN", "MONYY", "YYMON", "E8601DA",
    "B8601DA", "IS8601DA", "NLDATE",
)  # fmt: skip
SAS_SEPARATED = ("DDMMYY", "MMDDYY", "YYMMDD", "YYMM", "MMYY", "YYQ")
"""Formats of dates whose name may end in the sign between their parts."""
SAS_SIGNS = ("", "B", "C", "D", "N", "P", "S")
SAS_TIMES = (
    "DATETIME", "DATEAMPM", "MDYAMPM", "E8601DT", "B8601DT", "IS8601DT", "DTDATE", "DTMONYY",
    "NLDATM",
)  # fmt: skip
SAS = Clock(
    origin=date(1960, 1, 1),
    name=r"[A-Z0-9]*[A-Z]",
    seconds=dict.fromkeys(SAS_DATES, DAY)
    | {name + sign: DAY for name in SAS_SEPARATED for sign in SAS_SIGNS}
    | dict.fromkeys(SAS_TIMES, 1),
)
SYSTEM_FILES = (b"$FL2", b"$FL3")
TRANSPORT = b"HEADER RECORD*******LIB"
RECORD = 80
"""Transport files consist of records of so many bytes."""

Result = tuple[pa.Table, dict[str, dict[Any, str]], dict[str, int]]
"""A table, its value labels, and the number of declared missing values by column."""


def decode_spss(content: bytes, encoding: str | None) -> Result:
    """Decode a system file (.sav, .zsav) or a portable file (.por)."""
    if content.startswith(SYSTEM_FILES):
        # otherwise missing values that the file declares would be missing uncounted
        return _decode(content, encoding, "read_sav", SPSS, user_missing=True)
    return _decode(content, encoding, "read_por", SPSS)


def decode_stata(content: bytes, encoding: str | None) -> Result:
    """Decode a file of any version; extended missing values (.a to .z) are missing."""
    # pyreadstat reads a file that ends too early without its value labels
    if content.startswith(b"<stata_dta>") and not content.rstrip().endswith(b"</stata_dta>"):
        raise EOFError
    return _decode(content, encoding, "read_dta", STATA)


def decode_sas(content: bytes, encoding: str | None) -> Result:
    """Decode a data set (.sas7bdat) or a transport file (.xpt)."""
    if not content.startswith(TRANSPORT):
        return _decode(content, encoding, "read_sas7bdat", SAS)
    if len(content) % RECORD:
        raise EOFError
    return _decode(content, encoding, "read_xport", SAS)


DECODERS: dict[str, Callable[[bytes, str | None], Result]] = {
    "spss": decode_spss,
    "stata": decode_stata,
    "sas": decode_sas,
}


def compact(numbers: Numbers, known: Mask) -> pa.Array:
    """Give real numbers as whole ones if all of them are; as nothing if none is known.

    Statistical software and spreadsheets store whole numbers as real ones, and a CSV file with the
    same table does not.

    Examples
    --------
    >>> compact(np.array([1.0, 2.0]), np.array([True, False])).to_pylist()
    [1, None]
    """
    present = numbers[known]
    if not present.size:
        return pa.nulls(len(numbers))
    if (np.abs(present) < LARGEST).all() and (np.floor(present) == present).all():
        return pa.array(np.where(known, numbers, 0).astype(np.int64), mask=~known)
    return pa.array(numbers, mask=~known)


def _decode(
    content: bytes,
    encoding: str | None,
    function: str,
    clock: Clock,
    **options: Any,
) -> Result:
    import pyreadstat

    if encoding is not None:
        options["encoding"] = encoding
    columns, facts = getattr(pyreadstat, function)(
        io.BytesIO(content),
        output_format="dict",
        disable_datetime_conversion=True,
        **options,
    )
    cells, missing = [], {}
    for name in facts.column_names:
        ranges = facts.missing_ranges.get(name, ())
        values = columns.pop(name)  # freed as soon as it is converted
        if facts.readstat_variable_types[name] == "string":
            column, count = _text(values, ranges)
        else:
            numbers, count = _without(np.array(values, dtype=np.float64), ranges)
            is_short = facts.readstat_variable_types[name] == "float"
            times = clock.read(numbers, facts.original_variable_types[name])
            column = _numbers(numbers, is_short) if times is None else times
        cells.append(column)
        if ranges:
            missing[name] = count
    table = pa.table(cells, names=list(facts.column_names))
    if facts.number_rows not in (None, table.num_rows):
        raise EOFError
    return table, dict(_labels(table, facts.variable_value_labels)), missing


def _text(values: list[str | None], ranges: Any) -> tuple[pa.Array, int]:
    """Convert text; empty text is how these files store a missing one."""
    text = pa.array(values, pa.string())
    declared = pc.is_in(text, pa.array([each["lo"] for each in ranges], pa.string()))
    return pc.if_else(pc.or_(declared, pc.equal(text, "")), None, text), pc.sum(declared).as_py()


def _without(numbers: Numbers, ranges: Any) -> tuple[Numbers, int]:
    """Drop the numbers in ranges that the file declares to be missing, and count them."""
    declared = np.zeros(len(numbers), dtype=bool)
    for each in ranges:
        declared |= (numbers >= each["lo"]) & (numbers <= each["hi"])
    numbers[declared] = np.nan
    return numbers, int(declared.sum())


def _numbers(numbers: Numbers, is_short: bool) -> pa.Array:
    array = compact(numbers, ~np.isnan(numbers))
    if is_short and pa.types.is_floating(array.type):
        # 0.1 in 32 bits is another number than in 64 bits, and is written in the same way
        return array.cast(pa.float32()).cast(pa.string()).cast(pa.float64())
    return array


def _labels(table: pa.Table, labels: Any) -> Iterator[tuple[str, dict[Any, str]]]:
    """List the labels of numbers and text, without those of missing values."""
    for name, pairs in labels.items():
        kind = table.schema.field(name).type
        if not pa.types.is_temporal(kind):
            fits = str if pa.types.is_string(kind) else int | float
            yield name, {code: label for code, label in pairs.items() if isinstance(code, fits)}


def _limit_harm(size: int) -> None:
    """Write no core dump, which would hold the file, and do not fill the memory of the machine."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    # not every system can limit memory
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY + MEMORY_PER_BYTE * size, most))


def main(kind: str, encoding: str = "") -> None:
    """Decode the file on the standard input; write the table to the standard output."""
    content = sys.stdin.buffer.read()
    _limit_harm(len(content))
    try:
        table, labels, missing = DECODERS[kind](content, encoding or None)
    # of any type: pyreadstat raises many
    except Exception:
        sys.exit(UNREADABLE)
    pairs = [(name, list(codes.items())) for name, codes in labels.items()]
    described = table.replace_schema_metadata({METADATA: json.dumps([pairs, missing])})
    with pyarrow.ipc.new_stream(sys.stdout.buffer, described.schema) as stream:
        stream.write_table(described)


if __name__ == "__main__":
    main(*sys.argv[1:])
