"""Creates the public files of a release in the staging folder, and verifies them there."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from itertools import islice

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
from expectations.published.batches import COUNT, rebatched, tally
from expectations.published.claims import (
    FORMAT,
    RECORDS,
    UNITS,
    Claims,
    Kind,
    Resource,
    encode,
)
from expectations.published.files import (
    CSV,
    METHODOLOGY,
    PACKAGE,
    PARQUET,
    PARTS,
    README,
    Files,
    OpenFile,
)
from expectations.published.series_claims import SeriesClaims, Start
from expectations.published.verifier import Verification, field_type, part_names, read_batches
from expectations.request.sections.series import SeriesSection
from expectations.request.spec import ReleaseSpec
from tasks.listening import reporter
from tasks.publishable import ROW_GROUP, MaskedRows, Publishable
from tasks.reporting.methodology import facts_of, methodology, readme
from tasks.sources.fingerprint import streamed_fingerprint
from tasks.store.disk import Folder
from tasks.store.public_folder import (
    WRITING,
    Places,
    Prepared,
    opened_stage,
    verify_staged,
    write_statement,
)

WHOLE_ROWS = 100_000_000
"""Largest number of rows in one file of each kind."""
PART_ROWS = 16 * ROW_GROUP
"""Number of rows of a part, where there are more."""

PUBLIC_FIGURES = (
    "linked_known", "category_error", "margin_change", "filled", "blanked", "withheld", "merged",
    "k_units", "mean_change",
)  # fmt: skip
"""Measures that need the originals, and that people who use the data should know."""


def prepare(
    rows: Publishable,
    approval: Approval,
    spec: ReleaseSpec,
    attempt: str,
    places: Places,
    *,
    signed: bool = True,
) -> Prepared:
    """Write the public files to the staging folder, and verify them there.

    Those of a candidate are not ``signed`` before its reviewers have decided.
    """
    with opened_stage(attempt, places) as folder:
        resources, digest = write_data(rows, folder)
        pages = _pages(rows, approval, spec, resources, folder.open_all())
        for name, content in pages.items():
            folder.write(name, content)
        written = {each.path: each.sha256 for each in resources}
        written |= {name: hashlib.sha256(page).hexdigest() for name, page in pages.items()}
        if signed:
            written |= write_statement(folder, pages[PACKAGE], written)
        prepared = verify_staged(folder, written)
    _compare(prepared.verified, rows, digest, spec)
    if isinstance(rows, MaskedRows) and rows.units is not None:
        _count_units(prepared.verified, rows.units, spec)
    return prepared


def write_data(rows: Publishable, folder: Folder) -> tuple[tuple[Resource, ...], str]:
    """Write sorted rows as CSV and Parquet, row group by row group.

    More than `WHOLE_ROWS` rows are written in parts.

    Returns
    -------
    tuple of Resource
        The data files, in the order of the description.
    str
        Fingerprint of the rows that were written.
    """
    written: list[Resource] = []
    groups = _watched(rebatched(rows.batches(), ROW_GROUP), rows.rows)
    if rows.rows <= WHOLE_ROWS:
        digest = streamed_fingerprint(
            rows.schema, _writing(groups, rows.schema, folder, (CSV, PARQUET), written)
        )
        return tuple(written), digest
    with folder.within(PARTS, make=True) as parts:
        digest = streamed_fingerprint(rows.schema, _in_parts(groups, rows, parts, written))
        parts.flush()
    named = {each.path: each for each in written}
    return tuple(named[name] for name in part_names(len(written) // 2)), digest


def _watched(groups: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Pass row groups on, and report how many of their rows are written."""
    report = reporter(0.0, WRITING)
    done = 0
    for group in groups:
        done += group.num_rows
        yield group
        del group
        report(done / rows)


def _in_parts(
    groups: Iterator[pa.Table], rows: Publishable, folder: Folder, written: list[Resource]
) -> Iterator[pa.Table]:
    """Write row groups into parts, and pass them on."""
    for number in range(-(-rows.rows // PART_ROWS)):
        names = (f"part-{number:05}.csv", f"part-{number:05}.parquet")
        part: list[Resource] = []
        own = islice(groups, PART_ROWS // ROW_GROUP)
        yield from _writing(own, rows.schema, folder, names, part)
        written += [replace(each, path=f"{PARTS}/{each.path}") for each in part]


def _writing(
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    folder: Folder,
    names: tuple[str, str],
    written: list[Resource],
) -> Iterator[pa.Table]:
    """Write row groups into a CSV and a Parquet file, and pass them on."""
    with ExitStack() as files:
        sinks = [files.enter_context(folder.writing(name)) for name in names]
        text, columns = (pa.PythonFile(sink, mode="w") for sink in sinks)
        with (
            pyarrow.csv.CSVWriter(text, schema) as lines,
            pyarrow.parquet.ParquetWriter(columns, schema, compression="zstd") as pages,
        ):
            for group in groups:
                # in one piece: how a table is cut must not show in the bytes
                whole = group.combine_chunks()
                del group
                lines.write_table(whole)
                pages.write_table(whole, row_group_size=ROW_GROUP)
                yield whole
                del whole
    written += [
        Resource(name, sink.size, sink.sha256) for name, sink in zip(names, sinks, strict=True)
    ]


def _pages(
    rows: Publishable,
    approval: Approval,
    spec: ReleaseSpec,
    resources: tuple[Resource, ...],
    files: Files,
) -> dict[str, bytes]:
    """Write the description and the pages, from the data files that were read back."""
    data = [files[each.path] for each in resources if each.format == "parquet"]
    enums = _enums(data, rows.attributes)
    claims = describe(rows, approval, spec, resources, enums)
    facts = facts_of(partial(read_batches, data, claims.known), claims)
    return {
        PACKAGE: encode(claims),
        README: readme(claims).encode(),
        METHODOLOGY: methodology(claims, facts).encode(),
    }


def describe(
    rows: Publishable,
    approval: Approval,
    spec: ReleaseSpec,
    resources: tuple[Resource, ...],
    enums: Mapping[str, tuple[str, ...]],
) -> Claims:
    """Describe the release.

    It contains nothing that differs between runs, so the same release gives the same bytes.
    """
    release, how, measured = spec.release, spec.microaggregation, approval.evaluation
    blocks = spec.plan.blocks_for(rows.rows)
    return Claims(
        format=FORMAT,
        name=release.name,
        title=release.title,
        version=release.folder.name,
        licence=release.licence,
        resources=resources,
        types={field.name: str(field_type(field.type)) for field in rows.schema},
        roles={name: spec.columns.role_of(name) for name in rows.schema.names},
        period=str(release.period),
        revision=release.revision,
        rows=rows.rows,
        k=how.k,
        method=how.method,
        ordering=how.ordering,
        ordering_options=how.ordering_options,
        options=how.options,
        recut=how.recut,
        refine=how.refine,
        each_column=how.each_column,
        blocks=None if blocks is None else asdict(blocks),
        kinds={attribute.name: kind_of(attribute) for attribute in rows.attributes},
        counts=RECORDS if spec.columns.unit is None else UNITS,
        small_strata=how.small_strata,
        enums=enums,
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
        series=None if spec.series is None else _series(spec.series, rows.masked, measured),
    )


def _series(series: SeriesSection, masked: Masked | None, measured: Evaluation) -> SeriesClaims:
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
        muted=0 if masked is None or masked.muted is None else int(masked.muted.sum()),
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


def _enums(data: Sequence[OpenFile], attributes: Sequence[Attribute]) -> dict[str, tuple[str, ...]]:
    """List the values of columns of labels: all levels of the spec, and published labels only.

    A label that vanished stood for few records, so its name stays confidential.
    """
    kinds = [each.present if isinstance(each, WithMissing) else each for each in attributes]
    labelled = [each.name for each in kinds if isinstance(each, Category | Hierarchy)]
    values: dict[str, set[str]] = {name: set() for name in labelled}
    for batch in read_batches(data, labelled) if labelled else ():
        for name in labelled:
            values[name].update(batch[name].unique().drop_null().to_pylist())
    levels = {each.name: each.levels for each in kinds if isinstance(each, Ordered)}
    return {
        each.name: levels.get(each.name) or tuple(sorted(values[each.name]))
        for each in kinds
        if isinstance(each, Ordered | Category | Hierarchy)
    }


def _count_units(verified: Verification, units: pa.Array, spec: ReleaseSpec) -> None:
    """Count the units behind each combination of the files that were read back from disk."""
    known = verified.claims.known
    names = [str(i) for i in range(len(known))]

    def batches() -> Iterator[pa.Table]:
        start = 0
        for batch in verified.batches(known):
            own = units.slice(start, batch.num_rows)
            # under names of our own: a column may be called as the units are
            yield batch.rename_columns(names).append_column("unit", own)
            start += batch.num_rows

    counts = tally(batches, names, verified.rows, verified.k_claimed, distinct="unit")
    fewest = min(pc.min(part[COUNT]).as_py() for part in counts)
    if fewest < spec.microaggregation.k:
        raise ContractError(
            f"the files read back from disk must hold k={spec.microaggregation.k} units in every "
            f"combination; the rarest has {fewest}"
        )


def _compare(verified: Verification, rows: Publishable, digest: str, spec: ReleaseSpec) -> None:
    """Check that the files read back from disk hold the intended table."""
    agrees = (
        streamed_fingerprint(rows.schema, verified.batches()) == digest
        and verified.rows == rows.rows
        and verified.columns == spec.columns.public
        and set(verified.claims.quasi_identifiers) == set(spec.columns.quasi_identifiers)
        and set(verified.claims.known) == set(spec.columns.known)
        and verified.k_claimed == spec.microaggregation.k
    )
    if not agrees:
        raise ContractError(
            "the files read back from disk must hold the approved table; they do not"
        )
