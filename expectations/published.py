"""Of the bytes on disk: the verifier of published folders.

It reads what is there with a CSV and a Parquet reader, believes nothing else, and shares nothing
with the methods: what it confirms, anyone can confirm who has the folder.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from algorithms.errors import IntegrityError

CSV, PARQUET, PACKAGE, README = "data.csv", "data.parquet", "datapackage.json", "README.md"
METHODOLOGY = "methodology.html"
FILES = (CSV, PARQUET, PACKAGE, README, METHODOLOGY)

SMALLEST_K = 2


@dataclass(frozen=True)
class Verification:
    """What a published folder was found to hold."""

    rows: int
    columns: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]
    k_claimed: int
    k_found: int
    checksums: dict[str, str]


def verify(folder: Path) -> Verification:
    """Confirm from its own files that a published folder keeps what it promises.

    Raises
    ------
    IntegrityError
        With every promise that is broken.
    """
    faults = _wrong_files(folder)
    if faults:
        raise _broken(folder, faults)
    try:
        package = json.loads((folder / PACKAGE).read_bytes())
        claims = _Claims.of(package)
    except (ValueError, KeyError, TypeError, IndexError):
        raise _broken(folder, [f"{PACKAGE} is not a description of a release"]) from None
    faults = [fault for resource in claims.resources for fault in _altered(folder, resource)]
    if faults:
        raise _broken(folder, faults)
    try:
        table = pyarrow.parquet.read_table(folder / PARQUET)
    except (pa.ArrowException, OSError):
        raise _broken(folder, [f"{PARQUET} cannot be read"]) from None
    faults = _misdescribed(table, claims) or _csv_differs(folder, table)
    if faults:
        raise _broken(folder, faults)
    found = smallest_class(table, claims.quasi_identifiers)
    if found < claims.k:
        raise _broken(
            folder,
            [
                f"every combination of quasi-identifiers must stand in {claims.k} rows; one "
                f"stands in {found}"
            ],
        )
    return Verification(
        rows=table.num_rows,
        columns=tuple(table.column_names),
        quasi_identifiers=claims.quasi_identifiers,
        k_claimed=claims.k,
        k_found=found,
        checksums=checksums(folder),
    )


def checksums(folder: Path, names: tuple[str, ...] = FILES) -> dict[str, str]:
    """Compute the SHA-256 of the public files of a folder."""
    return {name: _sha256(folder / name) for name in names}


def smallest_class(table: pa.Table, keys: tuple[str, ...]) -> int:
    """Count the rows of the rarest combination of ``keys``; missing is a value like others."""
    # under names of our own: a column may be called as the count is
    numbered = table.select(list(keys)).rename_columns([str(i) for i in range(len(keys))])
    counts = numbered.group_by(numbered.column_names).aggregate([([], "count_all")])["count_all"]
    return min(counts.to_pylist(), default=0)


def field_type(arrow: pa.DataType) -> str | None:
    """Name the Frictionless type of an Arrow type; none if it cannot be published."""
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


@dataclass(frozen=True)
class _Claims:
    """What a package says of itself."""

    resources: list[dict[str, Any]]
    fields: dict[str, str]
    quasi_identifiers: tuple[str, ...]
    k: int
    rows: int

    @classmethod
    def of(cls, package: dict[str, Any]) -> "_Claims":
        resources = package["resources"]
        if [resource["path"] for resource in resources] != [CSV, PARQUET]:
            raise ValueError
        fields = resources[0]["schema"]["fields"]
        claims = package["microrelease"]
        keys = tuple(str(f["name"]) for f in fields if f["microrelease:role"] == "quasi-identifier")
        if not keys or type(claims["k"]) is not int or claims["k"] < SMALLEST_K:
            raise ValueError
        return cls(
            resources=[{key: r[key] for key in ("path", "bytes", "hash")} for r in resources],
            fields={str(field["name"]): str(field["type"]) for field in fields},
            quasi_identifiers=keys,
            k=claims["k"],
            rows=int(claims["rows"]),
        )


def _wrong_files(folder: Path) -> list[str]:
    if not folder.is_dir():
        return ["there is no such folder"]
    present = {path.name for path in folder.iterdir()}
    return [
        *(f"{name} is missing" for name in FILES if name not in present),
        *(f"{name!r} does not belong there" for name in sorted(present - set(FILES))),
    ]


def _altered(folder: Path, resource: dict[str, Any]) -> list[str]:
    path = folder / resource["path"]
    if path.stat().st_size != resource["bytes"] or f"sha256:{_sha256(path)}" != resource["hash"]:
        return [f"{path.name} is not the file that {PACKAGE} describes: its checksum differs"]
    return []


def _misdescribed(table: pa.Table, claims: _Claims) -> list[str]:
    if table.column_names != list(claims.fields):
        return [f"{PARQUET} does not have the columns that {PACKAGE} lists"]
    faults = [
        f"column {name!r} must be of type {told}; it is {field_type(table.schema.field(name).type)}"
        for name, told in claims.fields.items()
        if field_type(table.schema.field(name).type) != told
    ]
    if table.num_rows != claims.rows:
        faults.append(f"there must be {claims.rows} rows; there are {table.num_rows}")
    faults += [
        f"quasi-identifier {name!r} must have no missing values; {table[name].null_count} are"
        for name in claims.quasi_identifiers
        if table[name].null_count
    ]
    return faults


def _csv_differs(folder: Path, table: pa.Table) -> list[str]:
    """Read the CSV file as the types of the Parquet file, and compare cell by cell."""
    try:
        text = pyarrow.csv.read_csv(
            folder / CSV,
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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _broken(folder: Path, faults: list[str]) -> IntegrityError:
    return IntegrityError(f"{str(folder)!r} is not a whole release: {'; '.join(faults)}")
