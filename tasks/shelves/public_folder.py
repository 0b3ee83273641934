"""The public folder: a release appears in it whole or not at all."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from algorithms.errors import ContractError, RefusedError, StorageError
from algorithms.measures import MEASURES
from expectations.gate import Approval
from expectations.published import (
    CSV,
    FILES,
    METHODOLOGY,
    PACKAGE,
    PARQUET,
    README,
    Verification,
    checksums,
    field_type,
    verify,
)
from expectations.recomputed import recompute
from expectations.spec import Publication, Release, ReleaseSpec
from tasks.shelves.disk import existing_part, flush, make_folder, write
from tasks.shelves.report.methodology import facts_of, methodology, treatment


def check_places(publication: Publication) -> None:
    """See, before any work is done and without leaving a trace, that the folders can be written.

    Raises
    ------
    StorageError
        If one cannot, or if a finished release could not be moved into place in one step.
    """
    devices = {
        name: existing_part(folder, name).stat().st_dev
        for name, folder in (
            ("register_folder", publication.register_folder),
            ("public_folder", publication.public_folder),
            ("staging_folder", publication.staging),
        )
    }
    if devices["staging_folder"] != devices["public_folder"]:
        raise StorageError(
            "staging_folder and public_folder must be on one file system; "
            f"{str(publication.staging)!r} and {str(publication.public_folder)!r} are not: set "
            "publication.staging_folder to a folder beside the public one"
        )


def sweep(publication: Publication) -> None:
    """Remove what a run left in the staging folder; the public folder must be locked."""
    if publication.staging.is_dir():
        for leftover in publication.staging.glob(f"{_mark(publication)}*"):
            shutil.rmtree(leftover)
        if not any(publication.staging.iterdir()):
            publication.staging.rmdir()


def _mark(publication: Publication) -> str:
    """Tell our folders from others, should the staging folder be shared."""
    public = hashlib.sha256(str(publication.public_folder.resolve()).encode()).hexdigest()
    return f"microrelease-{public[:8]}-"


def staging_for(publication: Publication, attempt: str) -> Path:
    """Name the folder in which an attempt is put together, in a staging folder that is there."""
    make_folder(publication.staging, "staging_folder")
    return publication.staging / f"{_mark(publication)}{attempt}"


def prepare(masked: pd.DataFrame, approval: Approval, spec: ReleaseSpec, attempt: str) -> Path:
    """Write the public files into the staging folder, flush them, and verify them from there."""
    folder = staging_for(spec.publication, attempt)
    folder.mkdir()
    table = canonical(masked)
    pyarrow.csv.write_csv(table, folder / CSV)
    pyarrow.parquet.write_table(table, folder / PARQUET, compression="zstd")
    for name in (CSV, PARQUET):
        flush(folder / name)
    package = describe(table, approval, spec, folder)
    write(folder / PACKAGE, json.dumps(package, indent=2, ensure_ascii=False).encode() + b"\n")
    write(folder / README, _readme(package, spec).encode())
    facts = facts_of(table, list(spec.columns.quasi_identifiers))
    write(folder / METHODOLOGY, methodology(package, facts).encode())
    flush(folder)
    _compare(verify(folder), table, spec)
    recompute(folder)
    return folder


def canonical(masked: pd.DataFrame) -> pa.Table:
    """Sort the rows by their published content, so that their order says nothing of the source."""
    table = pa.Table.from_pandas(masked, preserve_index=False).replace_schema_metadata(None)
    return table.sort_by([(name, "ascending") for name in table.column_names])


def is_there(release: Release, public: Path, prepared: Path) -> bool:
    """Tell whether the very same bytes are already published.

    Raises
    ------
    RefusedError
        If the period is published with other bytes, or what this revises is not published.
    IntegrityError
        If what is published there is not whole.
    """
    target = public / release.folder
    if target.exists():
        verify(target)
        if checksums(target) == checksums(prepared):
            return True
        raise RefusedError(
            f"{release.name} {target.name} must not change once published; it is published with "
            f"other bytes: to replace it, set release.revision to {release.revision + 1}, which "
            "keeps the old files"
        )
    if release.revision:
        revised = release.model_copy(update={"revision": release.revision - 1})
        if not (public / revised.folder).exists():
            raise RefusedError(
                f"revision {release.revision} must follow a published {revised.folder.name}; there "
                f"is none: set release.revision to {revised.revision}"
            )
    return False


def describe(
    table: pa.Table, approval: Approval, spec: ReleaseSpec, folder: Path
) -> dict[str, Any]:
    """Describe the release as a Frictionless data package.

    It holds nothing that differs from run to run: the same release gives the same bytes.
    """
    schema = {
        "fields": [
            {
                "name": field.name,
                "type": field_type(field.type),
                "microrelease:role": spec.columns.role_of(field.name),
            }
            for field in table.schema
        ],
        "missingValues": [""],
    }
    digests = {
        name: f"sha256:{sha256}" for name, sha256 in checksums(folder, (CSV, PARQUET)).items()
    }
    resources = [
        {
            "name": name,
            "path": path,
            "format": path.split(".")[1],
            "mediatype": mediatype,
            "bytes": (folder / path).stat().st_size,
            "hash": digests[path],
            "schema": schema,
        }
        for name, path, mediatype in (
            ("data-csv", CSV, "text/csv"),
            ("data-parquet", PARQUET, "application/vnd.apache.parquet"),
        )
    ]
    release, how, measured = spec.release, spec.microaggregation, approval.evaluation
    return {
        "profile": "tabular-data-package",
        "name": release.name,
        "title": release.title,
        "version": release.folder.name,
        "licenses": [{"name": release.licence}],
        "resources": resources,
        "microrelease": {
            "period": release.period,
            "revision": release.revision,
            "rows": table.num_rows,
            "k": how.k,
            "method": how.method,
            "ordering": how.ordering,
            "ordering_options": how.ordering_options,
            "options": how.options,
            "recut": how.recut,
            "refine": how.refine,
            "each_column": how.each_column,
            "integers": list(spec.columns.integers),
            "decimals": spec.columns.decimals,
            "groups": measured.groups,
            "measures": {
                name: measured.measures[name]
                for name, measure in MEASURES.items()
                if name in measured.measures and not measure.needs_original
            },
            "il_percent": measured.measures["il"],
            "il_rounding_percent": measured.measures["rounding"],
            "dld_percent": measured.measures["dld"],
        },
    }


def _readme(package: dict[str, Any], spec: ReleaseSpec) -> str:
    release, facts = spec.release, package["microrelease"]
    fields = "\n".join(
        f"| {field['name']} | {field['type']} | {treatment(field, facts)} |"
        for field in package["resources"][0]["schema"]["fields"]
    )
    revision = f", revision {release.revision}" if release.revision else ""
    return f"""# {release.title}

{release.period}{revision}. {facts["rows"]} records. Licence: {release.licence}.

| column | type | treatment |
|---|---|---|
{fields}

## How these records were protected

Similar records were put into groups by microaggregation (method {facts["method"]}). In the columns
marked "averaged" each record shows the average of its group, so that every combination of their
values stands in at least k = {facts["k"]} records; there are {facts["groups"]} such combinations.
Rows are sorted by their content; their order means nothing.

## What that costs

Averaging took away {facts["il_percent"]:.2f} % of the variance of the averaged columns (information
loss), {facts["il_rounding_percent"]:.2g} of that by rounding. Means are kept, up to rounding;
variances are smaller and correlations can be larger than in the original data.

## The files

`data.csv` (UTF-8, comma, decimal point, empty for missing) and `data.parquet` hold the same
records.
`datapackage.json` describes columns and types and carries the SHA-256 of both, in the Frictionless
Data Package format. `methodology.html` tells how records were protected, what that guarantees, and
how to check it.
"""


def _compare(found: Verification, table: pa.Table, spec: ReleaseSpec) -> None:
    """See that what was read back from disk is what was to be written."""
    agrees = (
        found.rows == table.num_rows
        and found.columns == spec.columns.published
        and set(found.quasi_identifiers) == set(spec.columns.quasi_identifiers)
        and found.k_claimed == spec.microaggregation.k
        and set(found.checksums) == set(FILES)
    )
    if not agrees:
        raise ContractError("the files read back from disk are not those that were to be written")
