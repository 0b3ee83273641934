"""The public folder: a release appears in it whole or not at all."""

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from algorithms.errors import ContractError, IntegrityError, RefusedError, SpecError, StorageError
from algorithms.measures import MEASURES
from expectations.gate import Approval
from expectations.published.claims import FORMAT
from expectations.published.recomputed import recompute
from expectations.published.verifier import (
    CSV,
    METHODOLOGY,
    PACKAGE,
    PARQUET,
    README,
    Verification,
    checksums_of,
    field_type,
    verify_content,
)
from expectations.request.spec import Publication, Release, ReleaseSpec
from tasks.reporting.methodology import facts_of, methodology, treatment
from tasks.store.disk import (
    IN_PREPARATION,
    PRIVATE,
    PUBLIC,
    Folder,
    existing_part,
    opened,
)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Public files in the staging folder.

    Attributes
    ----------
    name : str
        Name of their folder there.
    content : mapping of str to bytes
        The bytes that were read back from there.
    verified : Verification
        The verification of these bytes.
    """

    name: str
    content: Mapping[str, bytes]
    verified: Verification


@dataclass(frozen=True)
class Places:
    """The public folder and the staging folder, opened once and locked."""

    public: Folder
    staging: Folder
    mark: str


def check_places(publication: Publication) -> None:
    """Check, before any work is done and without leaving a trace, that folders can be written.

    Raises
    ------
    StorageError
        If one cannot, or if a finished release could not be moved into place in one step.
    """
    _check_apart(publication)
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


def _check_apart(publication: Publication) -> None:
    """Check that no folder was replaced by a link since the spec was read."""
    try:
        publication.check_apart()
    except SpecError as error:
        raise StorageError(f"{error}: a link may have been put in its place") from None


@contextmanager
def opened_places(publication: Publication) -> Iterator[Places]:
    """Open and lock the public folder, and leave nothing in the staging folder."""
    _check_apart(publication)
    with opened(publication.public_folder, "public_folder", PUBLIC) as public:
        with opened(publication.register_folder, "register_folder", PRIVATE) as register:
            # a link can appear at any time; both folders are locked, and would wait for each other
            if public.is_same_as(register):
                raise StorageError(
                    "public_folder must be a folder of its own; it leads to register_folder: put a "
                    "folder in place of the link"
                )
        with (
            public.locked(),
            opened(publication.staging, "staging_folder", IN_PREPARATION) as staging,
        ):
            places = Places(public, staging, _mark(publication))
            _sweep(places)
            try:
                yield places
            finally:
                _sweep(places)
                if publication.staging_folder is None:
                    with suppress(OSError):
                        publication.staging.rmdir()


def _sweep(places: Places) -> None:
    """Remove what a run left in the staging folder; the public folder must be locked."""
    for name in places.staging.names():
        if name.startswith(places.mark):
            places.staging.remove(name)


def _mark(publication: Publication) -> str:
    """Name the prefix of our folders, in case the staging folder is shared."""
    public = hashlib.sha256(os.path.realpath(publication.public_folder).encode()).hexdigest()
    return f"microrelease-{public[:8]}-"


def prepare(
    masked: pd.DataFrame, approval: Approval, spec: ReleaseSpec, attempt: str, places: Places
) -> Prepared:
    """Write the public files into the staging folder, and verify them from there."""
    table = canonical(masked)
    prepared = stage_files(_encoded(table, approval, spec), attempt, places)
    _compare(prepared.verified, table, spec)
    return prepared


def stage_files(content: Mapping[str, bytes], attempt: str, places: Places) -> Prepared:
    """Write files into the staging folder, flush them, read them back and verify what was read.

    Raises
    ------
    IntegrityError
        If their claims do not hold.
    ContractError
        If the bytes read differ from those written.
    """
    name = f"{places.mark}{attempt}"
    with places.staging.within(name, make=True) as folder:
        for file, written in content.items():
            folder.write(file, written)
        folder.flush()
        read = folder.read_all()
    verified = verify_content(read, name)
    recompute(verified)
    if verified.checksums != checksums_of(content):
        raise ContractError("the files read back from disk are not those that were written")
    return Prepared(name, read, verified)


def reveal(prepared: Prepared, release: Release, places: Places) -> None:
    """Give prepared files their public name in one step, and check that they are as verified.

    Raises
    ------
    IntegrityError
        If other files appeared; they are withdrawn.
    """
    target = release.folder
    with places.public.within(target.parent.name, make=True) as dataset:
        with places.staging.within(prepared.name) as folder:
            folder.open_to(PUBLIC)
            folder.flush()
        places.staging.move(prepared.name, dataset, target.name)
        try:
            with dataset.within(target.name) as appeared:
                same = checksums_of(appeared.read_all()) == prepared.verified.checksums
        except (StorageError, IntegrityError):
            same = False
        if not same:
            _take_back(dataset, target.name, prepared, places)


def _take_back(dataset: Folder, name: str, prepared: Prepared, places: Places) -> NoReturn:
    """Remove files that were not verified from the public folder."""
    try:
        dataset.move(name, places.staging, prepared.name)
        outcome = "were taken back"
    except StorageError as error:
        outcome = f"could not be taken back ({error}): remove {str(dataset.path / name)!r} at once"
    raise IntegrityError(
        f"only the files that were verified may appear; those of {dataset.path.name} {name} were "
        f"changed in the staging folder meanwhile, and {outcome}: find out who can write there, "
        "and run again"
    )


def flush(release: Release, places: Places) -> None:
    """Flush the name of a release that has appeared to disk."""
    with places.public.within(release.folder.parent.name) as dataset:
        dataset.flush()


def canonical(masked: pd.DataFrame) -> pa.Table:
    """Sort the rows by their published content, so that the order reveals nothing of the source."""
    table = pa.Table.from_pandas(masked, preserve_index=False).replace_schema_metadata(None)
    return table.sort_by([(name, "ascending") for name in table.column_names])


def same_release(release: Release, prepared: Prepared, places: Places) -> Verification | None:
    """Find and verify the same release, if it is published already.

    Returns
    -------
    Verification or None
        None if the release is not published yet.

    Raises
    ------
    RefusedError
        If the period is published with other data, or the revised release is not published.
    IntegrityError
        If the published folder is not intact.
    """
    target = release.folder
    published = _published(places.public, target)
    if published is not None:
        if published.claims.same_release(prepared.verified.claims):
            return published
        raise RefusedError(
            f"{release.name} {target.name} must not change once published; it is published with "
            f"other data or other claims: to replace it, set release.revision to "
            f"{release.revision + 1}, which keeps the old files"
        )
    if release.revision:
        revised = release.model_copy(update={"revision": release.revision - 1})
        if _published(places.public, revised.folder) is None:
            raise RefusedError(
                f"revision {release.revision} must follow a published {revised.folder.name}; there "
                f"is none: set release.revision to {revised.revision}"
            )
    return None


def _published(public: Folder, target: Path) -> Verification | None:
    """Verify the release that is published under a name; None if there is no such release."""
    name = target.parent.name
    if not public.has(name):
        return None
    with public.within(name) as dataset:
        if not dataset.has(target.name):
            return None
        with dataset.within(target.name) as folder:
            return verify_content(folder.read_all(), str(folder.path))


def _encoded(table: pa.Table, approval: Approval, spec: ReleaseSpec) -> dict[str, bytes]:
    """Write every public file."""
    text, columns = io.BytesIO(), io.BytesIO()
    pyarrow.csv.write_csv(table, text)
    pyarrow.parquet.write_table(table, columns, compression="zstd")
    data = {CSV: text.getvalue(), PARQUET: columns.getvalue()}
    package = describe(table, approval, spec, data)
    facts = facts_of(table, list(spec.columns.quasi_identifiers))
    return {
        **data,
        PACKAGE: json.dumps(package, indent=2, ensure_ascii=False).encode() + b"\n",
        README: _readme(package, spec).encode(),
        METHODOLOGY: methodology(package, facts).encode(),
    }


def describe(
    table: pa.Table, approval: Approval, spec: ReleaseSpec, data: Mapping[str, bytes]
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
    digests = checksums_of(data)
    resources = [
        {
            "name": name,
            "path": path,
            "format": path.split(".")[1],
            "mediatype": mediatype,
            "bytes": len(data[path]),
            "hash": f"sha256:{digests[path]}",
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
            "format": FORMAT,
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
values occurs in at least k = {facts["k"]} records; there are {facts["groups"]} such combinations.
Rows are sorted by their content; their order means nothing.

## What this costs

Averaging removed {facts["il_percent"]:.2f} % of the variance of the averaged columns (information
loss), of which rounding accounts for {facts["il_rounding_percent"]:.2g} points. Means are kept, up
to rounding; variances are smaller and correlations can be larger than in the original data.

## The files

`data.csv` (UTF-8, comma, decimal point, empty for missing) and `data.parquet` hold the same
records.
`datapackage.json` describes columns and types and carries the SHA-256 of both, in the Frictionless
Data Package format. `methodology.html` explains how records were protected, what this guarantees,
and how to check it.
"""


def _compare(verified: Verification, table: pa.Table, spec: ReleaseSpec) -> None:
    """Check that the files read back from disk hold the table that was to be written."""
    agrees = (
        verified.table.equals(table)
        and verified.columns == spec.columns.published
        and set(verified.claims.quasi_identifiers) == set(spec.columns.quasi_identifiers)
        and verified.k_claimed == spec.microaggregation.k
    )
    if not agrees:
        raise ContractError("the files read back from disk are not those that were to be written")
