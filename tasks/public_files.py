"""Creates the public files of a release in memory, stages them and verifies the staged files."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from algorithms.attributes import Attribute, Number
from algorithms.errors import ContractError
from algorithms.measures import MEASURES
from algorithms.table import Table
from expectations.gate import Approval
from expectations.published.claims import FORMAT
from expectations.published.verifier import (
    CSV,
    METHODOLOGY,
    PACKAGE,
    PARQUET,
    README,
    Verification,
    checksums_of,
    field_type,
)
from expectations.request.spec import ReleaseSpec
from expectations.tables import arrow_of
from tasks.reporting.methodology import facts_of, methodology, treatment
from tasks.reporting.page import render
from tasks.store.public_folder import Places, Prepared, stage_files


def prepare(
    masked: Table, approval: Approval, spec: ReleaseSpec, attempt: str, places: Places
) -> Prepared:
    """Write the public files to the staging folder, and verify them there."""
    table = canonical(arrow_of(masked, spec.columns.published))
    content = _encoded(table, masked.attributes, approval, spec)
    prepared = stage_files(content, attempt, places)
    _compare(prepared.verified, table, spec)
    return prepared


def canonical(table: pa.Table) -> pa.Table:
    """Sort rows by their published content, so that their order reveals nothing else."""
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _encoded(
    table: pa.Table, attributes: Sequence[Attribute], approval: Approval, spec: ReleaseSpec
) -> dict[str, bytes]:
    """Write every public file."""
    text, columns = io.BytesIO(), io.BytesIO()
    pyarrow.csv.write_csv(table, text)
    pyarrow.parquet.write_table(table, columns, compression="zstd")
    data = {CSV: text.getvalue(), PARQUET: columns.getvalue()}
    package = describe(table, attributes, approval, spec, data)
    facts = facts_of(table, list(spec.columns.quasi_identifiers))
    return {
        **data,
        PACKAGE: json.dumps(package, indent=2, ensure_ascii=False).encode() + b"\n",
        README: _readme(package, spec).encode(),
        METHODOLOGY: methodology(package, facts).encode(),
    }


def describe(
    table: pa.Table,
    attributes: Sequence[Attribute],
    approval: Approval,
    spec: ReleaseSpec,
    data: Mapping[str, bytes],
) -> dict[str, Any]:
    """Describe the release as a Frictionless data package.

    It contains nothing that differs between runs, so the same release gives the same bytes.
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
    release, section, evaluation = spec.release, spec.microaggregation, approval.evaluation
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
            "k": section.k,
            "method": section.method,
            "ordering": section.ordering,
            "ordering_options": section.ordering_options,
            "options": section.options,
            "recut": section.recut,
            "refine": section.refine,
            "each_column": section.each_column,
            "integers": list(spec.columns.integers),
            "decimals": spec.columns.decimals | _decimals(attributes),
            "groups": evaluation.groups,
            "measures": {
                name: evaluation.measures[name]
                for name, measure in MEASURES.items()
                if name in evaluation.measures and not measure.needs_original
            },
            "il_percent": evaluation.measures["il"],
            "il_rounding_percent": evaluation.measures["rounding"],
            "dld_percent": evaluation.measures["dld"],
        },
    }


def _decimals(attributes: Sequence[Attribute]) -> dict[str, int]:
    """Give the number of decimals of each rounded column that is not whole."""
    return {
        attribute.name: attribute.places
        for attribute in attributes
        if isinstance(attribute, Number) and not attribute.whole and attribute.places is not None
    }


def _readme(package: dict[str, Any], spec: ReleaseSpec) -> str:
    claims = package["microrelease"]
    fields = package["resources"][0]["schema"]["fields"]
    columns = [(field["name"], field["type"], treatment(field, claims)) for field in fields]
    return render("readme.md", release=spec.release, claims=claims, columns=columns)


def _compare(verified: Verification, table: pa.Table, spec: ReleaseSpec) -> None:
    """Check that the files read back from disk hold the intended table."""
    agrees = (
        verified.table.equals(table)
        and verified.columns == spec.columns.published
        and set(verified.claims.quasi_identifiers) == set(spec.columns.quasi_identifiers)
        and verified.k_claimed == spec.microaggregation.k
    )
    if not agrees:
        raise ContractError(
            "the files read back from disk must hold the approved table; they do not"
        )
