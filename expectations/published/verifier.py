"""The verifier of published folders.

It reads each file once, with a CSV and a Parquet reader, and relies on nothing else. It shares no
code with the methods: anyone who has the folder can repeat the verification.
"""

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from algorithms.errors import IntegrityError
from expectations.published.claims import KNOWN_SINCE, Claims, claims_of

CSV, PARQUET, PACKAGE, README = "data.csv", "data.parquet", "datapackage.json", "README.md"
METHODOLOGY = "methodology.html"
FILES = (CSV, PARQUET, PACKAGE, README, METHODOLOGY)

Content = Mapping[str, bytes]
"""The files of a folder, each read once."""


@dataclass(frozen=True, eq=False)
class Verification:
    """A published folder whose claims are verified.

    Attributes
    ----------
    claims : Claims
        The verified claims.
    table : pyarrow.Table
        Its records.
    k_found : int
        Number of rows that share the rarest combination of the columns counted into k.
    checksums : dict of str to str
        SHA-256 of the verified bytes of each file.
    """

    claims: Claims
    table: pa.Table
    k_found: int
    checksums: dict[str, str]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in their order."""
        return tuple(self.table.column_names)

    @property
    def k_claimed(self) -> int:
        """The promised k."""
        return self.claims.k


def verify(folder: Path) -> Verification:
    """Verify the claims of a published folder from its own files.

    Raises
    ------
    IntegrityError
        If a claim is false; the message lists every such claim.
    """
    return verify_content(read_folder(folder), str(folder))


def verify_content(content: Content, name: str) -> Verification:
    """Verify the claims of files that were read; ``name`` is the name of their folder.

    Raises
    ------
    IntegrityError
        If a claim is false; the message lists every such claim.
    """
    faults = [
        *(f"{file} is missing" for file in FILES if file not in content),
        *(f"{file!r} does not belong there" for file in sorted(set(content) - set(FILES))),
    ]
    if faults:
        raise _broken(name, faults)
    checksums = checksums_of(content)
    try:
        claims = claims_of(content[PACKAGE])
    except ValueError:
        raise _broken(name, [f"{PACKAGE} is not a description of a release"]) from None
    if [resource.path for resource in claims.resources] != [CSV, PARQUET]:
        raise _broken(name, [f"{PACKAGE} does not describe {CSV} and {PARQUET}"])
    faults = [
        f"{resource.path} is not the file that {PACKAGE} describes: its checksum differs"
        for resource in claims.resources
        if (len(content[resource.path]), checksums[resource.path])
        != (resource.size, resource.sha256)
    ]
    if faults:
        raise _broken(name, faults)
    try:
        table = pyarrow.parquet.read_table(pa.BufferReader(content[PARQUET]))
    except (pa.ArrowException, OSError):
        raise _broken(name, [f"{PARQUET} cannot be read"]) from None
    faults = _misdescribed(table, claims) or _csv_differs(content[CSV], table)
    if faults:
        raise _broken(name, faults)
    k_found = smallest_class(table, claims.known)
    if k_found < claims.k:
        columns = (
            "quasi-identifiers"
            if claims.format < KNOWN_SINCE
            else "all columns but the confidential ones"
        )
        raise _broken(
            name,
            [
                f"every combination of {columns} must occur in at least {claims.k} rows; the "
                f"rarest occurs in {k_found}"
            ],
        )
    silent = pc.sum(silent_rows(table, claims), min_count=0).as_py()
    if silent < claims.muted:
        raise _broken(
            name,
            [
                f"{', '.join(claims.emptied)} must be empty in {claims.muted} muted rows; they are "
                f"in {silent}"
            ],
        )
    return Verification(claims, table, k_found, checksums)


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read every file of a folder once; neither the folder nor its files may be links.

    Raises
    ------
    IntegrityError
        If the folder does not exist, or contains anything but regular files.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        raise _broken(str(folder), ["there is no such folder"]) from None
    try:
        return read_open_folder(handle, str(folder))
    finally:
        os.close(handle)


def read_open_folder(handle: int, name: str) -> dict[str, bytes]:
    """Read every file of an open folder once."""
    content = {}
    for file in sorted(os.listdir(handle)):
        try:
            content[file] = read_file(handle, file)
        except OSError:
            raise _broken(name, [f"{file!r} is not a regular file that can be read"]) from None
    return content


def read_file(folder: int, name: str) -> bytes:
    """Read a regular file of an open folder; never follow a link, never block."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError
        return file.read()


def checksums_of(content: Content) -> dict[str, str]:
    """Compute the SHA-256 of each file, the public files in their usual order."""
    names = [name for name in FILES if name in content] + sorted(set(content) - set(FILES))
    return {name: hashlib.sha256(content[name]).hexdigest() for name in names}


def checksums(folder: Path) -> dict[str, str]:
    """Compute the SHA-256 of each file of a folder."""
    return checksums_of(read_folder(folder))


def smallest_class(table: pa.Table, keys: tuple[str, ...]) -> int:
    """Count the rows of the rarest combination of ``keys``; missing counts as a value."""
    # rename the columns: one of them may have the name of the count
    numbered = table.select(list(keys)).rename_columns([str(i) for i in range(len(keys))])
    counts = numbered.group_by(numbered.column_names).aggregate([([], "count_all")])["count_all"]
    return min(counts.to_pylist(), default=0)


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


def _misdescribed(table: pa.Table, claims: Claims) -> list[str]:
    if table.column_names != list(claims.types):
        return [f"{PARQUET} does not have the columns that {PACKAGE} lists"]
    actual = {field.name: field_type(field.type) for field in table.schema}
    faults = [
        f"column {name!r} must be of type {claimed}; it is {actual[name]}"
        for name, claimed in claims.types.items()
        if actual[name] != claimed
    ]
    if table.num_rows != claims.rows:
        faults.append(f"there must be {claims.rows} rows; there are {table.num_rows}")
    faults += [
        f"quasi-identifier {name!r} must have no missing values; it has {table[name].null_count}"
        for name in claims.quasi_identifiers
        if table[name].null_count and not claims.kinds[name].missing
    ]
    faults += [
        f"column {name!r} must hold the values that {PACKAGE} lists; it holds others"
        for name, values in claims.enums.items()
        if not set(pc.cast(table[name], pa.string()).unique().to_pylist()) <= {*values, None}
    ]
    return faults


def _csv_differs(content: bytes, table: pa.Table) -> list[str]:
    """Read the CSV file with the types of the Parquet file, and compare all cells."""
    try:
        text = pyarrow.csv.read_csv(
            pa.BufferReader(content),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={field.name: field.type for field in table.schema},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, OSError):
        return [f"{CSV} cannot be read with the columns and types of {PARQUET}"]
    same = text.column_names == table.column_names and text.equals(table)
    return [] if same else [f"{CSV} and {PARQUET} do not hold the same records"]


def _broken(name: str, faults: list[str]) -> IntegrityError:
    return IntegrityError(f"{name!r} is not a whole release: {'; '.join(faults)}")
