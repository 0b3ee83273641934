"""Creates the public files of a release in memory, stages them and verifies the staged files."""

import io
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from algorithms.attributes import Attribute, Number
from algorithms.errors import ContractError
from algorithms.measures import MEASURES
from algorithms.table import Table
from expectations.gate import Approval
from expectations.published.claims import FORMAT, Claims, Resource, encode
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
from tasks.reporting.methodology import facts_of, methodology, readme
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
    claims = describe(table, attributes, approval, spec, data)
    facts = facts_of(table, list(spec.columns.quasi_identifiers))
    return {
        **data,
        PACKAGE: encode(claims),
        README: readme(claims).encode(),
        METHODOLOGY: methodology(claims, facts).encode(),
    }


def describe(
    table: pa.Table,
    attributes: Sequence[Attribute],
    approval: Approval,
    spec: ReleaseSpec,
    data: Mapping[str, bytes],
) -> Claims:
    """Describe the release.

    It contains nothing that differs between runs, so the same release gives the same bytes.
    """
    digests = checksums_of(data)
    release, how, measured = spec.release, spec.microaggregation, approval.evaluation
    return Claims(
        format=FORMAT,
        name=release.name,
        title=release.title,
        version=release.folder.name,
        licence=release.licence,
        resources=tuple(Resource(path, len(data[path]), digests[path]) for path in (CSV, PARQUET)),
        types={field.name: str(field_type(field.type)) for field in table.schema},
        roles={name: spec.columns.role_of(name) for name in table.column_names},
        period=str(release.period),
        revision=release.revision,
        rows=table.num_rows,
        k=how.k,
        method=how.method,
        ordering=how.ordering,
        ordering_options=how.ordering_options,
        options=how.options,
        recut=how.recut,
        refine=how.refine,
        each_column=how.each_column,
        integers=spec.columns.integers,
        decimals=spec.columns.decimals | _decimals(attributes),
        groups=measured.groups,
        measures={
            name: measured.measures[name]
            for name, measure in MEASURES.items()
            if name in measured.measures and not measure.needs_original
        },
        il_percent=measured.measures["il"],
        il_rounding_percent=measured.measures["rounding"],
        dld_percent=measured.measures["dld"],
    )


def _decimals(attributes: Sequence[Attribute]) -> dict[str, int]:
    """Give the number of decimals of each rounded column that is not whole."""
    return {
        attribute.name: attribute.places
        for attribute in attributes
        if isinstance(attribute, Number) and not attribute.whole and attribute.places is not None
    }


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
