"""Tables that are worked on in parts: the same release as in memory, whatever the parts."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.comparison import Comparison
from algorithms.errors import ContractError, DataError, RefusedError, SpecError
from algorithms.evaluation import Evaluation
from algorithms.profile import profile
from expectations.gate import Verdicts
from expectations.manifest import Record
from expectations.published.recomputed import recompute
from expectations.published.verifier import verify
from expectations.request.spec import ReleaseSpec
from tasks.compute.engine import Engine
from tasks.compute.local import LocalEngine
from tasks.compute.store import MemoryStore
from tasks.evaluate import evaluate
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.pipeline import mask_and_measure, plainly
from tasks.publish import publish
from tasks.publishable import MaskedRows
from tasks.streamed import source as sources
from tasks.streamed import stages
from tasks.streamed.files import StreamedFiles
from tasks.streamed.masking import StreamedMasked
from tasks.streamed.sorting import StreamedRows
from tasks.streamed.source import StreamedSource
from tasks.validate import validate
from tests.compute.test_engines import ShuffledEngine
from tests.conftest import Request

ROWS = 3000
SAMPLED = "reidentified_best"
"""The measure that is estimated from samples, which depend on the order of classes."""


def table_of(rows: int = ROWS) -> pa.Table:
    random = np.random.default_rng(3)
    latent = random.normal(size=(rows, 1))
    values = np.exp(latent + 0.7 * random.normal(size=(rows, 3)))
    return pa.table(
        {
            "id": [f"p{i}" for i in range(rows)],
            "staff": np.rint(20 * values[:, 0]).astype(np.int64),
            "sales": values[:, 1].round(2),
            "energy": values[:, 2],
            "region": random.choice(["north", "south", "east"], rows, p=[0.7, 0.25, 0.05]),
            "illness": pa.array(random.choice(["a", "b", None], rows)),
            "income": random.integers(0, 40, rows),
        }
    )


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make chunks and ranges small."""
    monkeypatch.setattr("tasks.streamed.source.CHUNK", 700)
    monkeypatch.setattr("tasks.streamed.sorting.RANGE", 400)


def spec_of(request_of: Request, table: pa.Table | None = None, **sections: Any) -> ReleaseSpec:
    path = request_of.folder / "table.parquet"
    pyarrow.parquet.write_table(table_of() if table is None else table, path, row_group_size=900)
    columns = {
        "identifiers": ["id"],
        "quasi_identifiers": ["staff", "sales", "energy"],
        "integers": ["staff"],
        "confidential": ["illness", "income"],
        "strata": ["region"],
    }
    request_of.content["columns"] = columns
    how = {"method": "mdav", "k": 4, "blocks": {"rows": 400, "seams": 1}}
    sections = {
        "source": {"path": "table.parquet"},
        "microaggregation": how | sections.pop("microaggregation", {}),
        "compute": {"scratch_folder": "scratch", "memory_rows": 100} | sections.pop("compute", {}),
        **sections,
    }
    spec: ReleaseSpec = request_of.load(**sections)
    return spec


def streamed(
    spec: ReleaseSpec, engine: Engine | None = None
) -> tuple[StreamedMasked, StreamedFiles, Evaluation]:
    source, _ = ingest.fn(spec, engine or LocalEngine(MemoryStore()))
    assert isinstance(source, StreamedSource)
    table, _ = stages.validate.fn(source, spec)
    masked = stages.microaggregate.fn(stages.standardise.fn(table, spec))
    files = StreamedFiles(masked, spec.columns.confidential)
    return masked, files, evaluate.fn(files, spec)


def in_memory(spec: ReleaseSpec) -> tuple[Comparison, Evaluation]:
    source, _ = ingest.fn(spec)
    table, _ = validate.fn(source, spec)
    return mask_and_measure(table, spec, plainly)


def rows_of(masked: StreamedMasked, spec: ReleaseSpec) -> pa.Table:
    return pa.concat_tables(StreamedRows(masked, spec.columns).batches())


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"blocks": {"rows": 400, "seams": 0}},
        {"blocks": {"rows": 250, "seams": 2}},
        {"refine": {"iterations": 0}},
        {"method": "best", "options": {"iterations": 200}},
        {"blocks": {"rows": 5000, "seams": 1}},
    ],
)
def test_a_streamed_table_is_released_as_one_in_memory(
    request_of: Request, how: dict[str, Any]
) -> None:
    spec = spec_of(request_of, microaggregation=how)
    masked, files, measured = streamed(spec)
    whole, expected = in_memory(spec)
    rows = pa.concat_tables(MaskedRows(whole.masked, spec.columns).batches())
    assert rows_of(masked, spec).equals(rows)
    assert set(measured.exact) == set(expected.exact)
    for name in measured.exact.keys() - {SAMPLED}:
        assert measured.exact[name] == pytest.approx(expected.exact[name], rel=1e-12), name
    assert (measured.records, measured.groups) == (expected.records, expected.groups)
    assert measured.sizes == expected.sizes
    assert measured.columns == expected.columns
    searches = [each.iterations for each in whole.masked.groupings if each.iterations is not None]
    assert masked.iterations == (sum(searches) if searches else None)
    drawn, expected_drawn = profile(files), profile(whole)
    assert drawn.exposures == expected_drawn.exposures
    assert drawn.strata is not None
    assert expected_drawn.strata is not None
    assert drawn.strata.il == pytest.approx(expected_drawn.strata.il, rel=1e-12)
    assert replace(drawn.strata, il=()) == replace(expected_drawn.strata, il=())
    for one, other in zip(drawn.columns, expected_drawn.columns, strict=True):
        assert one.before.tolist() == other.before.tolist()


@pytest.mark.parametrize(("chunk", "rows"), [(700, 400), (1000, 5000), (4000, 150)])
def test_neither_chunks_nor_the_order_of_jobs_matter(
    request_of: Request, monkeypatch: pytest.MonkeyPatch, chunk: int, rows: int
) -> None:
    spec = spec_of(request_of)
    expected, _, _ = streamed(spec)
    monkeypatch.setattr("tasks.streamed.source.CHUNK", chunk)
    monkeypatch.setattr("tasks.streamed.sorting.RANGE", rows)
    masked, _, _ = streamed(spec, ShuffledEngine(MemoryStore()))
    assert rows_of(masked, spec).equals(rows_of(expected, spec))


@pytest.mark.usefixtures("parts")
def test_importance_and_decimals_are_those_of_the_whole_table(request_of: Request) -> None:
    table = table_of()
    # one value with more decimals than the others, in the last chunk only
    sales = table["sales"].to_pylist()
    sales[-1] = 1.2345
    table = table.set_column(2, "sales", pa.array(sales))
    request_of.content["columns"] = {}
    spec = spec_of(request_of, table)
    columns = spec.columns.model_copy(update={"importance": {"sales": 4.0}})
    spec = spec.model_copy(update={"columns": columns})
    masked, _, _ = streamed(spec)
    whole, _ = in_memory(spec)
    assert masked.scales.attributes == whole.original.attributes
    rows = pa.concat_tables(MaskedRows(whole.masked, spec.columns).batches())
    assert rows_of(masked, spec).equals(rows)


@pytest.mark.usefixtures("parts")
def test_a_streamed_table_is_judged_published_and_verified(request_of: Request) -> None:
    spec = spec_of(request_of)
    masked, files, measured = streamed(spec)
    verdicts = Verdicts(measured, spec.gate, 4, spec.columns, series=spec.series)
    judgement = stages.judge.fn(masked, verdicts, spec)
    assert all(finding.met for finding in judgement.findings)
    record = Record.of(spec, started_by="Ana")
    rows = StreamedRows(masked, spec.columns)
    folder = publish.fn(rows, judgement.approval, spec, record, profile(files)).folder
    verified = verify(folder)
    assert (verified.rows, verified.k_found) == (ROWS, measured.measures["k"])
    assert recompute(verified).keys() <= measured.measures.keys()
    data = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    whole, evaluation = in_memory(spec)
    verdicts = Verdicts(evaluation, spec.gate, 4, spec.columns, series=spec.series)
    other = spec.model_copy(
        update={
            "publication": spec.publication.model_copy(
                update={"public_folder": request_of.folder / "other"}
            )
        }
    )
    approval = judge.fn(whole.masked, verdicts, spec).approval
    folder = publish.fn(whole.masked, approval, other, record).folder
    for name in ("data.csv", "data.parquet", "datapackage.json"):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == data[name], name


@pytest.mark.usefixtures("parts")
def test_only_the_rows_that_were_judged_are_published(request_of: Request) -> None:
    spec = spec_of(request_of)
    masked, _, measured = streamed(spec)
    verdicts = Verdicts(measured, spec.gate, 4, spec.columns, series=spec.series)
    approval = stages.judge.fn(masked, verdicts, spec).approval
    rows = StreamedRows(masked, spec.columns)
    assert rows.digest == approval.digest
    store = masked.engine.store
    dealt = next(name for name in store.names() if name.startswith("sorting-dealt-"))
    part = next(str(i) for i in range(100) if store.read(dealt, str(i)))
    store.write(dealt, {str(i): store.read(dealt, str(i)) for i in range(100) if str(i) != part})
    with pytest.raises(ContractError, match="must be the rows that were judged"):
        list(rows.batches())


@pytest.mark.usefixtures("parts")
def test_carried_values_that_moved_to_another_record_are_noticed(request_of: Request) -> None:
    spec = spec_of(request_of)
    masked, _, measured = streamed(spec)
    verdicts = Verdicts(measured, spec.gate, 4, spec.columns, series=spec.series)
    store, file = masked.engine.store, masked.files[0]
    names = ["records", "carried", *(f"column-{j}" for j in range(3))]
    parts = {name: store.read(file, name) for name in names}
    parts["records"] = {**parts["records"], "rows": parts["records"]["rows"][::-1]}
    store.write(file, parts)
    with pytest.raises(ContractError, match="'income' must be unchanged"):
        stages.judge.fn(masked, verdicts, spec)


@pytest.mark.usefixtures("parts")
def test_a_gate_that_refuses_is_asked_before_the_rules(request_of: Request) -> None:
    spec = spec_of(request_of, gate={"ceilings": {"il": 0.1, "dld": 100.0}})
    masked, _, measured = streamed(spec)
    verdicts = Verdicts(measured, spec.gate, 4, spec.columns, series=spec.series)
    with pytest.raises(RefusedError, match="IL"):
        stages.judge.fn(masked, verdicts, spec)


@pytest.mark.usefixtures("parts")
def test_identifiers_are_compared_across_chunks(request_of: Request) -> None:
    table = table_of()
    names = table["id"].to_pylist()
    names[-1] = names[0]
    spec = spec_of(request_of, table.set_column(0, "id", pa.array(names)))
    source, _ = ingest.fn(spec, LocalEngine(MemoryStore()))
    with pytest.raises(DataError, match=r"'id' is an identifier .*2 rows break"):
        stages.validate.fn(source, spec)


@pytest.mark.usefixtures("parts")
def test_faults_of_all_chunks_are_added_up(request_of: Request) -> None:
    table = table_of()
    sales = table["sales"].to_pylist()
    sales[0], sales[-1] = None, float("inf")
    spec = spec_of(request_of, table.set_column(2, "sales", pa.array(sales)))
    source, _ = ingest.fn(spec, LocalEngine(MemoryStore()))
    with pytest.raises(DataError, match=r"'sales' must have no missing.*1 row .*finite"):
        stages.validate.fn(source, spec)


@pytest.mark.usefixtures("parts")
def test_small_strata_are_refused_by_counts(request_of: Request) -> None:
    table = table_of()
    regions = table["region"].to_pylist()
    regions[0] = "island"
    spec = spec_of(request_of, table.set_column(4, "region", pa.array(regions)))
    source, _ = ingest.fn(spec, LocalEngine(MemoryStore()))
    with pytest.raises(RefusedError, match="1 with 1 records hold fewer") as refused:
        stages.validate.fn(source, spec)
    assert "island" not in str(refused.value)


def test_what_needs_the_whole_table_is_refused_in_one_sentence(request_of: Request) -> None:
    spec = spec_of(request_of, evaluation={"bound_rounds": 5})
    with pytest.raises(SpecError, match=r"bound_rounds; it has 3,000: raise compute.memory_rows"):
        ingest.fn(spec, LocalEngine(MemoryStore()))


def test_a_gap_is_refused_for_a_table_in_parts(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("algorithms.blocks.cuts.LARGE", 1_000)
    how = {"method": "best", "blocks": None, "options": {"gap": 1.0}}
    spec = spec_of(request_of, microaggregation=how)
    with pytest.raises(SpecError, match=r"the option gap; it has 3,000"):
        ingest.fn(spec, LocalEngine(MemoryStore()))


@pytest.mark.parametrize(
    "sections",
    [
        {"compute": {"memory_rows": ROWS}},
        {"compute": {"scratch_folder": None}},
        {"microaggregation": {"blocks": None}},
    ],
)
def test_a_table_that_fits_is_held_in_memory(request_of: Request, sections: dict[str, Any]) -> None:
    source, _ = ingest.fn(spec_of(request_of, **sections), LocalEngine(MemoryStore()))
    assert isinstance(source, pa.Table)


def test_a_damaged_file_is_one_sentence(request_of: Request, tmp_path: Path) -> None:
    spec = spec_of(request_of)
    path = request_of.folder / "table.parquet"
    content = bytearray(path.read_bytes())
    content[200:400] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(DataError, match="must be a Parquet file"):
        ingest.fn(spec, LocalEngine(MemoryStore()))
    assert not list(tmp_path.glob("scratch/*"))


@pytest.mark.usefixtures("parts")
def test_facts_of_the_source_do_not_depend_on_how_it_is_read(request_of: Request) -> None:
    spec = spec_of(request_of, source={"path": "table.parquet", "missing_codes": {"income": [3]}})
    _, facts = ingest.fn(spec, LocalEngine(MemoryStore()))
    assert facts == ingest.fn(spec)[1]
    assert sources.is_streamed(spec)


@pytest.mark.usefixtures("parts")
def test_what_long_tables_would_take_too_long_for_is_estimated_or_left_out(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of(request_of)
    expected = streamed(spec)[2]
    monkeypatch.setattr("tasks.streamed.linking.EXACT", 1000)
    monkeypatch.setattr("tasks.streamed.linking.SAMPLED", 1500)
    measured = streamed(spec)[2]
    assert "il_bound" not in measured.measures
    assert "for at most 1,000 records" in measured.notes["il_bound"]
    assert "at most 1,000 records" in measured.certificate
    assert "within" in measured.notes["linked_known"]
    assert measured.exact["linked_known"] == pytest.approx(expected.exact["linked_known"], abs=4.0)
    same = expected.exact.keys() - {"il_bound", "il_over_bound", "linked_known", SAMPLED}
    assert {name: measured.exact[name] for name in same} == {
        name: expected.exact[name] for name in same
    }
