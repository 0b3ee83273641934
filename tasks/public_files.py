"""Creates the public files of a release in memory, stages them and verifies the staged files."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from algorithms.attributes import (
    Attribute,
    Category,
    Date,
    Hierarchy,
    Number,
    Ordered,
    WithMissing,
)
from algorithms.errors import ContractError
from algorithms.evaluation import Evaluation
from algorithms.masked import Masked
from algorithms.measures import MEASURES
from expectations.gate import Approval
from expectations.published.claims import (
    FORMAT,
    RECORDS,
    UNITS,
    Claims,
    Kind,
    Resource,
    encode,
)
from expectations.published.series_claims import SeriesClaims, Start
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
from expectations.request.sections.series import SeriesSection
from expectations.request.spec import ReleaseSpec
from expectations.tables import arrow_of
from tasks.reporting.methodology import facts_of, methodology, readme
from tasks.store.public_folder import Places, Prepared, stage_files

PUBLIC_FIGURES = (
    "linked_known", "category_error", "margin_change", "filled", "blanked", "withheld", "merged",
    "k_units", "mean_change",
)  # fmt: skip
"""Measures that need the originals, and that people who use the data should know."""


def prepare(
    masked: Masked, approval: Approval, spec: ReleaseSpec, attempt: str, places: Places
) -> Prepared:
    """Write the public files to the staging folder, and verify them there."""
    rows = arrow_of(masked.published, spec.columns)
    order = sort_order(rows)
    table = rows.take(order)
    content = _encoded(table, masked, approval, spec)
    prepared = stage_files(content, attempt, places)
    _compare(prepared.verified, table, spec)
    if masked.original.units is not None:
        units = pa.array(masked.original.units).take(order)
        _count_units(prepared.verified, units, spec)
    return prepared


def sort_order(table: pa.Table) -> pa.Array:
    """Sort rows by their published content, so that their order reveals nothing else."""
    return pc.sort_indices(table, [(name, "ascending") for name in table.column_names])


def _encoded(
    table: pa.Table, masked: Masked, approval: Approval, spec: ReleaseSpec
) -> dict[str, bytes]:
    """Write every public file."""
    text, columns = io.BytesIO(), io.BytesIO()
    pyarrow.csv.write_csv(table, text)
    pyarrow.parquet.write_table(table, columns, compression="zstd")
    data = {CSV: text.getvalue(), PARQUET: columns.getvalue()}
    claims = describe(table, masked, approval, spec, data)
    facts = facts_of(table, claims)
    return {
        **data,
        PACKAGE: encode(claims),
        README: readme(claims).encode(),
        METHODOLOGY: methodology(claims, facts).encode(),
    }


def describe(
    table: pa.Table,
    masked: Masked,
    approval: Approval,
    spec: ReleaseSpec,
    data: Mapping[str, bytes],
) -> Claims:
    """Describe the release.

    It contains nothing that differs between runs, so the same release gives the same bytes.
    """
    digests = checksums_of(data)
    release, how, measured = spec.release, spec.microaggregation, approval.evaluation
    attributes = masked.published.attributes
    blocks = spec.plan.blocks_for(table.num_rows)
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
        blocks=None if blocks is None else asdict(blocks),
        kinds={attribute.name: kind_of(attribute) for attribute in attributes},
        counts=RECORDS if spec.columns.unit is None else UNITS,
        small_strata=how.small_strata,
        enums=_enums(table, attributes),
        groups=measured.groups,
        measures={
            name: measured.measures[name]
            for name, measure in MEASURES.items()
            if name in measured.measures and not measure.needs_original
        },
        il_percent=measured.measures["il"],
        il_rounding_percent=measured.measures["rounding"],
        dld_percent=measured.measures["dld"],
        figures={
            name: measured.measures[name] for name in PUBLIC_FIGURES if name in measured.measures
        },
        revision_reason=release.reason or "",
        series=None if spec.series is None else _series(spec.series, masked, measured),
    )


def _series(series: SeriesSection, masked: Masked, measured: Evaluation) -> SeriesClaims:
    """Describe what holds together with earlier releases."""
    candidates = measured.measures.get("candidates_min")
    start = series.start
    return SeriesClaims(
        method=series.method,
        persons=series.persons,
        reason=series.reason or "",
        window=series.window,
        links=series.links,
        compared=len(measured.compared or ()),
        muted=0 if masked.muted is None else int(masked.muted.sum()),
        candidates_min=None if candidates is None else int(candidates),
        start=None if start is None else Start(start.period, start.reason),
    )


def kind_of(attribute: Attribute) -> Kind:
    """Describe the kind of a quasi-identifier."""
    match attribute:
        case WithMissing():
            return replace(kind_of(attribute.present), missing=attribute.policy)
        case Number():
            places = None if attribute.whole else attribute.places
            return Kind("number", whole=attribute.whole, places=places)
        case Date():
            return Kind("date", unit=attribute.unit)
        case Ordered():
            return Kind("ordered")
        case Category():
            return Kind("category", published=attribute.published)
        case Hierarchy():
            return Kind("hierarchy", published=attribute.published)
    raise ContractError(f"there are no words for the kind of {attribute.name!r}")


def _enums(table: pa.Table, attributes: Sequence[Attribute]) -> dict[str, tuple[str, ...]]:
    """List the values of columns of labels: all levels of the spec, and published labels only.

    A label that vanished stood for few records, so its name stays confidential.
    """
    enums = {}
    for attribute in attributes:
        kind = attribute.present if isinstance(attribute, WithMissing) else attribute
        if isinstance(kind, Ordered):
            enums[kind.name] = kind.levels
        elif isinstance(kind, Category | Hierarchy):
            values = table[kind.name].unique().drop_null().to_pylist()
            enums[kind.name] = tuple(sorted(values))
    return enums


def _count_units(verified: Verification, units: pa.Array, spec: ReleaseSpec) -> None:
    """Count the units behind each combination of the files that were read back from disk."""
    known = [verified.table[name] for name in verified.claims.known]
    names = [str(i) for i in range(len(known))]
    table = pa.table([*known, units], names=[*names, "unit"])
    counts = table.group_by(names).aggregate([("unit", "count_distinct")])["unit_count_distinct"]
    fewest = pc.min(counts).as_py()
    if fewest < spec.microaggregation.k:
        raise ContractError(
            f"the files read back from disk must hold k={spec.microaggregation.k} units in every "
            f"combination; the rarest has {fewest}"
        )


def _compare(verified: Verification, table: pa.Table, spec: ReleaseSpec) -> None:
    """Check that the files read back from disk hold the intended table."""
    agrees = (
        verified.table.equals(table)
        and verified.columns == spec.columns.public
        and set(verified.claims.quasi_identifiers) == set(spec.columns.quasi_identifiers)
        and set(verified.claims.known) == set(spec.columns.known)
        and verified.k_claimed == spec.microaggregation.k
    )
    if not agrees:
        raise ContractError(
            "the files read back from disk must hold the approved table; they do not"
        )
