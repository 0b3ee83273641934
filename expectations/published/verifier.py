"""The verifier of published folders.

It reads files with a CSV and a Parquet reader, batch by batch, and relies on nothing else. It
shares no code with the methods: anyone who has the folder can repeat the verification.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from expectations.published.batches import COUNT, ROWS, rebatched, tally
from expectations.published.claims import KNOWN_SINCE, Claims, claims_of
from expectations.published.files import (
    CSV,
    METHODOLOGY,
    PACKAGE,
    PARQUET,
    PARTS,
    README,
    STATEMENT,
    Files,
    OpenFile,
    broken,
    checksums_of,
    open_folder,
)
from expectations.published.statement import Statement, read_statement

TEXT_BLOCK = 2**22
"""Number of bytes of a CSV file that are read at a time."""

PART = re.compile(rf"{PARTS}/part-\d{{5}}\.(csv|parquet)")
"""Names of the data files of a release in parts."""


UNREADABLE = pa.table({})
"""Stands for the records of a CSV file that cannot be read."""

COMPARING = 0.8
"""Share of the time of a verification after which files are compared and rows are counted."""

Watch = Callable[[float], None]
"""Is told the share of some work that is done."""


def _ignore(_share: float) -> None:
    """Tell nobody how far a verification is."""


@dataclass(frozen=True, eq=False)
class Verification:
    """A published folder whose claims are verified.

    Attributes
    ----------
    claims : Claims
        The verified claims.
    files : mapping of str to OpenFile
        Its files, which can be read again.
    k_found : int
        Number of rows that share the rarest combination of the columns counted into k.
    checksums : dict of str to str
        SHA-256 of the verified bytes of each file.
    statement : Statement, optional
        What the publisher signed about these files; None if it is not signed. Whose key it is, the
        files cannot tell.
    """

    claims: Claims
    files: Files
    k_found: int
    checksums: dict[str, str]
    statement: Statement | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.claims.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in their order."""
        return tuple(self.claims.types)

    @property
    def k_claimed(self) -> int:
        """The promised k."""
        return self.claims.k

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Read the verified records, or some of their columns, batch by batch."""
        return read_batches(parquet_files(self.files, self.claims), names)

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column of all records."""
        return pa.concat_tables(self.batches([name]))[name]


def verify(folder: Path, watch: Watch = _ignore) -> Verification:
    """Verify the claims of a published folder from its own files.

    ``watch`` is told the share of the work that is done.

    Raises
    ------
    IntegrityError
        If a claim is false; the message lists every such claim.
    """
    return verify_content(open_folder(folder), str(folder), watch)


def verify_content(files: Files, name: str, watch: Watch = _ignore) -> Verification:
    """Verify the claims of open files; ``name`` is the name of their folder.

    ``watch`` is told the share of the work that is done.

    Raises
    ------
    IntegrityError
        If a claim is false; the message lists every such claim.
    """
    claims = _read_claims(files, name)
    pairs = list(zip(_of_format(files, claims, "csv"), parquet_files(files, claims), strict=True))
    contents = _Contents(claims, watch)
    for text, columns in pairs:
        contents.read(text, columns, name)
    if contents.faults:
        raise broken(name, contents.faults)
    k_found = _smallest_class(files, claims)
    if k_found < claims.k:
        counted = (
            "quasi-identifiers"
            if claims.format < KNOWN_SINCE
            else "all columns but the confidential ones"
        )
        fault = (
            f"every combination of {counted} must occur in at least {claims.k} rows; the rarest "
            f"occurs in {k_found}"
        )
        raise broken(name, [fault])
    if contents.silent < claims.muted:
        fault = (
            f"{', '.join(claims.emptied)} must be empty in {claims.muted} muted rows; they are in "
            f"{contents.silent}"
        )
        raise broken(name, [fault])
    checksums = checksums_of(files)
    statement = None
    if STATEMENT in files:
        statement = read_statement(files[STATEMENT].read(), claims, checksums, name)
    watch(1.0)
    return Verification(claims, files, k_found, checksums, statement)


def _read_claims(files: Files, name: str) -> Claims:
    """Read the description, and check that it describes the files that are there."""
    in_parts = [file for file in files if PART.fullmatch(file)]
    expected = [*(in_parts or (CSV, PARQUET)), PACKAGE, README, METHODOLOGY]
    faults = [
        *(f"{file} is missing" for file in expected if file not in files),
        *(
            f"{file!r} does not belong there"
            for file in sorted(set(files) - {*expected, STATEMENT})
        ),
    ]
    if faults:
        raise broken(name, faults)
    try:
        claims = claims_of(files[PACKAGE].read())
    except ValueError:
        raise broken(name, [f"{PACKAGE} is not a description of a release"]) from None
    described = [resource.path for resource in claims.resources]
    if in_parts and described != part_names(len(in_parts) // 2):
        raise broken(name, [f"{PACKAGE} does not describe the files in {PARTS}"])
    if not in_parts and described != [CSV, PARQUET]:
        raise broken(name, [f"{PACKAGE} does not describe {CSV} and {PARQUET}"])
    faults = [
        f"{resource.path} is not the file that {PACKAGE} describes: its checksum differs"
        for resource in claims.resources
        if (files[resource.path].size, files[resource.path].sha256)
        != (resource.size, resource.sha256)
    ]
    if faults:
        raise broken(name, faults)
    return claims


def part_names(parts: int) -> list[str]:
    """Name the data files of a release in parts, in the order of its description.

    Examples
    --------
    >>> part_names(1)
    ['data/part-00000.csv', 'data/part-00000.parquet']
    """
    return [
        f"{PARTS}/part-{number:05}.{ending}"
        for ending in ("csv", "parquet")
        for number in range(parts)
    ]


def parquet_files(files: Files, claims: Claims) -> list[OpenFile]:
    """Give the Parquet files of a release, in the order of its records."""
    return _of_format(files, claims, "parquet")


def _of_format(files: Files, claims: Claims, ending: str) -> list[OpenFile]:
    return [files[each.path] for each in claims.resources if each.format == ending]


def read_batches(
    files: Iterable[OpenFile], names: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Read the records of Parquet files, or some of their columns, batch by batch."""
    for file in files:
        parquet = pyarrow.parquet.ParquetFile(file.reader())
        for batch in parquet.iter_batches(ROWS, columns=None if names is None else list(names)):
            table = pa.Table.from_batches([batch]).replace_schema_metadata(None)
            yield table if names is None else table.select(list(names))


class _Contents:
    """Reads data files, and collects all faults in them."""

    def __init__(self, claims: Claims, watch: Watch) -> None:
        self._claims, self._watch = claims, watch
        self._rows = self.silent = 0
        self._missing = dict.fromkeys(claims.quasi_identifiers, 0)
        self._values: dict[str, set[str | None]] = {name: set() for name in claims.enums}
        self._of_claims: list[str] = []
        self._of_files: list[str] = []
        self._schema: pa.Schema | None = None

    def read(self, text: OpenFile, columns: OpenFile, name: str) -> None:
        """Read the CSV and the Parquet file of the same records."""
        try:
            schema = pyarrow.parquet.ParquetFile(columns.reader()).schema_arrow.remove_metadata()
            if schema.names != list(self._claims.types):
                fault = f"{columns.name} does not have the columns that {PACKAGE} lists"
                raise broken(name, [fault])
            self._check_types(schema, columns.name)
            self._compare(text, columns, schema)
        except (pa.ArrowException, OSError):
            raise broken(name, [f"{columns.name} cannot be read"]) from None

    def _check_types(self, schema: pa.Schema, file: str) -> None:
        if self._schema is None:
            self._schema = schema
            self._of_claims += _misdescribed(schema, self._claims)
        elif not schema.equals(self._schema):
            self._of_claims.append(f"{file} must have columns of the same types as the first part")

    def _compare(self, text: OpenFile, columns: OpenFile, schema: pa.Schema) -> None:
        """Read the CSV file with the types of the Parquet file, and compare all cells."""
        same, readable = True, True
        records = rebatched(read_batches([columns]), ROWS)
        for batch, cells in zip_longest(records, _cells(text, schema)):
            if batch is not None:
                self._count(batch)
            readable = readable and cells is not UNREADABLE
            same = same and batch is not None and cells is not None and cells.equals(batch)
        if not readable:
            self._of_files.append(
                f"{text.name} cannot be read with the columns and types of {columns.name}"
            )
        elif not same:
            self._of_files.append(f"{text.name} and {columns.name} do not hold the same records")

    def _count(self, batch: pa.Table) -> None:
        self._rows += batch.num_rows
        self._watch(COMPARING * min(self._rows / max(self._claims.rows, 1), 1.0))
        for name in self._missing:
            self._missing[name] += batch[name].null_count
        for name, values in self._values.items():
            values.update(pc.cast(batch[name], pa.string()).unique().to_pylist())
        self.silent += pc.sum(silent_rows(batch, self._claims), min_count=0).as_py()

    @property
    def faults(self) -> list[str]:
        """All faults: false claims first, and files that differ if there are none."""
        claims = self._claims
        faults = list(self._of_claims)
        if self._rows != claims.rows:
            faults.append(f"there must be {claims.rows} rows; there are {self._rows}")
        faults += [
            f"quasi-identifier {name!r} must have no missing values; it has {count}"
            for name, count in self._missing.items()
            if count and not claims.kinds[name].missing
        ]
        faults += [
            f"column {name!r} must hold the values that {PACKAGE} lists; it holds others"
            for name, values in claims.enums.items()
            if not self._values[name] <= {*values, None}
        ]
        return faults or self._of_files


def _cells(text: OpenFile, schema: pa.Schema) -> Iterator[pa.Table]:
    """Read a CSV file with given types, batch by batch; `UNREADABLE` where that is impossible."""
    try:
        reader = pyarrow.csv.open_csv(
            text.reader(),
            read_options=pyarrow.csv.ReadOptions(block_size=TEXT_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={field.name: field.type for field in schema},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        yield from rebatched((pa.Table.from_batches([batch]) for batch in reader), ROWS)
    except (pa.ArrowException, OSError):
        yield UNREADABLE


def _smallest_class(files: Files, claims: Claims) -> int:
    """Count the rows of the rarest combination of the columns that are counted into k."""
    known = claims.known
    parts = parquet_files(files, claims)
    counts = tally(lambda: read_batches(parts, known), known, claims.rows, claims.k)
    smallest = (pc.min(part[COUNT]).as_py() for part in counts)
    return min((count for count in smallest if count is not None), default=0)


def silent_rows(table: pa.Table, claims: Claims) -> pa.ChunkedArray:
    """Mark the rows in which every column that muting empties is empty."""
    silent = pa.chunked_array([pa.repeat(True, table.num_rows)])
    for name in claims.emptied:
        silent = pc.and_(silent, pc.is_null(table[name]))
    return silent


def field_type(arrow: pa.DataType) -> str | None:
    """Give the Frictionless type of an Arrow type; None if it cannot be published."""
    types = pa.types
    for test, name in (
        (types.is_integer, "integer"),
        (types.is_floating, "number"),
        (types.is_decimal128, "number"),
        (types.is_string, "string"),
        (types.is_boolean, "boolean"),
        (types.is_date32, "date"),
    ):
        if test(arrow):
            return name
    return "datetime" if types.is_timestamp(arrow) and arrow.tz is None else None


def _misdescribed(schema: pa.Schema, claims: Claims) -> list[str]:
    actual = {field.name: field_type(field.type) for field in schema}
    return [
        f"column {name!r} must be of type {claimed}; it is {actual[name]}"
        for name, claimed in claims.types.items()
        if actual[name] != claimed
    ]
