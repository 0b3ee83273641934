"""The stages, one at a time."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.attributes import Number
from algorithms.comparison import Comparison
from algorithms.errors import ContractError, DataError, RefusedError, StorageError
from algorithms.evaluation import Evaluation
from algorithms.history import History, Past
from algorithms.masked import Grouping, Masked
from algorithms.strata import Settled
from algorithms.table import Table
from algorithms.types import Partition
from expectations.gate import Verdicts
from expectations.tables import arrow_of, frame_of
from tasks.evaluate import evaluate
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.listening import Listener, listening
from tasks.order import order
from tasks.pipeline import mask_and_measure, plainly
from tasks.round_integers import round_integers
from tasks.sources.fingerprint import fingerprint
from tasks.stage import announced, guarded, stage
from tasks.validate import validate
from tests.conftest import Request
from tests.oracles.cutting import cuts


def test_a_csv_file_is_read_and_only_what_loses_nothing_gets_a_type(request_of: Request) -> None:
    table, _ = ingest.fn(request_of.load())
    assert {field.name: str(field.type) for field in table.schema} == {
        "id": "string",
        "zone": "string",  # 007 is a code
        "staff": "string",  # a quasi-identifier, yet to be validated
        "sales": "string",
        "score": "int64",
    }
    assert table["score"].null_count == 1


def test_the_facts_of_a_source_are_those_of_the_bytes_that_were_read(request_of: Request) -> None:
    content = request_of.source.read_bytes()
    table, facts = ingest.fn(request_of.load())
    assert facts.model_dump() == {
        "path": str(request_of.source),
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "rows": 7,
        "columns": 5,
        "content": fingerprint(table),
        "database": None,
        "declared_missing": {},
        "missing_codes": {},
    }


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", ""], "int64"),
        (["1", "2.50", "1e-05"], "double"),
        (["0.1", "0.30000000000000004", "3"], "double"),
        (["0.1", "0.300000000000000041234", "3"], "string"),
        (["1", "x", "2"], "string"),
        (["01", "02", "03"], "string"),
        (["99999999999999999999", "1", "2"], "string"),
        (["-0", "1", "2"], "double"),
        (["2026-01-01", "2026-01-02", ""], "string"),
        (["", "", ""], "string"),
    ],
)
def test_types_of_untouched_columns(request_of: Request, values: list[str], kind: str) -> None:
    rows = [f"{i},z,{i},{i},{value}" for i, value in enumerate(values)]
    request_of.source.write_text("id,zone,staff,sales,score\n" + "\n".join(rows), encoding="utf-8")
    table, _ = ingest.fn(request_of.load())
    assert str(table["score"].type) == kind


def test_quoted_emptiness_is_not_missing(request_of: Request) -> None:
    request_of.source.write_text(
        'id,zone,staff,sales,score\na,"",1,1,x\nb,,2,2,"x\ny"\n', encoding="utf-8"
    )
    table, _ = ingest.fn(request_of.load())
    assert table["zone"].to_pylist() == ["", None]
    assert table["score"].to_pylist() == ["x", "x\ny"]


def test_other_marks_and_encodings_are_read(request_of: Request) -> None:
    request_of.source.write_bytes(
        "id;zone;staff;sales;score\na;Zürich;1;1,5;2,5\nb;1.2;2;1.000;x\n".encode("latin-1")
    )
    spec = request_of.load(source={"delimiter": ";", "decimal": ",", "encoding": "latin-1"})
    table, _ = ingest.fn(spec)
    assert table["zone"].to_pylist() == ["Zürich", "1.2"]
    assert table["sales"].to_pylist() == ["1.5", "1,000"]  # a point is no decimal mark there
    assert table["score"].to_pylist() == ["2,5", "x"]


def test_a_decimal_comma_is_read_in_untouched_columns(request_of: Request) -> None:
    request_of.source.write_text("id;zone;staff;sales;score\na;z;1;1,5;2,5\n", encoding="utf-8")
    table, _ = ingest.fn(request_of.load(source={"delimiter": ";", "decimal": ","}))
    assert table["score"].to_pylist() == [2.5]


def test_a_byte_order_mark_is_no_part_of_a_name(request_of: Request) -> None:
    request_of.source.write_bytes(b"\xef\xbb\xbf" + request_of.source.read_bytes())
    table, _ = ingest.fn(request_of.load())
    assert table.column_names[0] == "id"


def write_parquet(request_of: Request, **columns: Any) -> Any:
    table = {
        "id": ["a", "b", "c"],
        "zone": pa.array(["x", "y", "x"]).dictionary_encode(),
        "staff": [1, 2, 3],
        "sales": [1.0, 2.0, float("nan")],
        "score": pa.array([1, None, 3]),
    }
    pyarrow.parquet.write_table(pa.table(table | columns), request_of.folder / "table.parquet")
    return request_of.load(source={"path": "table.parquet"})


def test_a_parquet_file_is_read(request_of: Request) -> None:
    wide = pa.array(["a", "b", "c"], pa.large_string())
    table, _ = ingest.fn(write_parquet(request_of, id=wide))
    assert [str(kind) for kind in table.schema.types] == [
        "string",
        "string",
        "int64",
        "double",
        "int64",
    ]
    assert table["sales"].to_pylist() == [1.0, 2.0, None]


def test_a_column_that_cannot_be_published_is_refused(request_of: Request) -> None:
    with pytest.raises(DataError, match=r"these hold something else: 'score'$"):
        ingest.fn(write_parquet(request_of, score=[[1], [2], [3]]))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"id,zone\na,b\nSECRET\n", "as many fields in every line"),
        (b"id,zone\na,SECRET,c\n", "as many fields in every line"),
        (b"id,zone\nSECRET,\xff\xfe\n", "cannot be read with delimiter ',' and encoding 'utf-8'"),
        (b"id,id,zone\na,b,c\n", "these are repeated: 'id'"),
        (b"SECRET,SECRET\na,b\n", "are repeated: 1 that the spec does not name"),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    request_of: Request, content: bytes, words: str
) -> None:
    request_of.source.write_bytes(content)
    with pytest.raises(DataError) as raised:
        ingest.fn(request_of.load())
    assert words in str(raised.value)
    assert "SECRET" not in str(raised.value)


def test_a_file_that_is_not_there_is_refused(request_of: Request) -> None:
    with pytest.raises(DataError, match="must be a readable file"):
        ingest.fn(request_of.load(source={"path": "missing.csv"}))


def test_a_broken_parquet_file_is_refused(request_of: Request) -> None:
    (request_of.folder / "table.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="must be a Parquet file"):
        ingest.fn(request_of.load(source={"path": "table.parquet"}))


def test_quasi_identifiers_get_their_declared_kinds(request_of: Request) -> None:
    spec = request_of.load()
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    assert table.attributes == (Number("staff", 0, whole=True), Number("sales", places=1))
    assert [column.dtype for column in table.keys] == [np.int64, np.float64]
    assert table.persons is not None
    assert table.persons.tolist() == list(range(7))


def test_without_identifiers_each_record_is_a_person(request_of: Request) -> None:
    columns = {"identifiers": [], "confidential": ["id", "zone", "score"]}
    spec = request_of.load(columns=columns)
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    assert table.persons is not None
    assert table.persons.tolist() == list(range(7))


@pytest.mark.parametrize(
    ("header", "words", "silent"),
    [
        ("id,zone,staff,sales", "missing from the file: 'score'", "nothing"),
        ("id,zone,staff,sales,score,SECRET", "without a role in the spec: 1 (names", "SECRET"),
        ("SECRET,x1,x2,x3,x4", "no column of the spec is in the file", "SECRET"),
    ],
)
def test_columns_must_be_those_of_the_spec(
    request_of: Request, header: str, words: str, silent: str
) -> None:
    row = ",".join(str(i) for i in range(header.count(",") + 1))
    request_of.source.write_text("\n".join([header, *[row] * 3]) + "\n", encoding="utf-8")
    spec = request_of.load()
    with pytest.raises(DataError) as raised:
        validate.fn(ingest.fn(spec)[0], spec)
    assert words in str(raised.value)
    assert silent not in str(raised.value)


def masked_table(request_of: Request, **sections: Any) -> tuple[Any, Table, Masked, Evaluation]:
    spec = request_of.load(**sections)
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    files, evaluation = mask_and_measure(table, spec, plainly)
    return spec, table, files.masked, evaluation


def frame(masked: Masked, spec: Any) -> pd.DataFrame:
    return frame_of(arrow_of(masked.published, spec.columns))


def verdicts(found: Evaluation, spec: Any) -> Verdicts:
    return Verdicts(found, spec.gate, spec.microaggregation.k, spec.columns, series=spec.series)


def test_the_masked_table_has_no_identifier_and_averages_in_its_place(request_of: Request) -> None:
    spec, table, masked, _ = masked_table(request_of)
    published = frame(masked, spec)
    assert list(published.columns) == ["staff", "sales", "zone", "score"]
    assert masked.published.carried["zone"] is table.carried["zone"]
    assert str(published["staff"].dtype) == "int64[pyarrow]"
    assert masked.published.sizes.min() >= 3


def test_what_is_measured_is_what_would_be_published(request_of: Request) -> None:
    spec, table, _, _ = masked_table(request_of)
    everyone = Grouping((0, 1), Partition(np.zeros(len(table), dtype=np.int64), k=3))
    found = evaluate.fn(Comparison(round_integers.fn(Settled(table), spec.plan, (everyone,))), spec)
    # the average of staff is not whole: rounding it costs something beyond the total variance
    assert found.exact["il"] > 100.0
    assert found.exact["rounding"] == pytest.approx(found.exact["il"] - 100.0)


def test_values_left_are_counted_in_the_columns_that_the_series_calls_stable(
    request_of: Request,
) -> None:
    for series, count in (({"stable": ["zone"]}, 2.0), ({}, None)):
        spec, table, masked, _ = masked_table(request_of, series=series)
        everybody = np.arange(len(table))
        past = Past("2026-Q2", 3, everybody, masked.groups, everybody >= 0, table)
        found = evaluate.fn(Comparison(masked, History((past,))), spec, ["l_across", "row_links"])
        assert found.exact.get("l_across") == count
        assert found.exact["row_links"] == 100.0


def test_a_path_is_found_and_cut_where_the_spec_names_one(request_of: Request) -> None:
    _, table, masked, _ = masked_table(
        request_of, microaggregation={"method": "mhm", "ordering": "zscore"}
    )
    assert sorted(masked.published.sizes) == [3, 4]
    assert len(masked.published) == len(table)


def test_no_way_to_cut_a_path_loses_less_of_what_is_published(request_of: Request) -> None:
    """With IMHMI, for one column whole and one to half a unit; against every cut of the path."""
    spec, table, _, found = masked_table(
        request_of,
        columns={"decimals": {"sales": 0}},
        microaggregation={"method": "imhmi", "ordering": "zscore", "k": 2},
    )
    (path,) = order.fn(table, spec.plan)
    losses = []
    for sizes in cuts(len(table), 2):
        labels = np.empty(len(table), dtype=np.int64)
        labels[path] = np.repeat(np.arange(len(sizes)), sizes)
        grouping = Grouping((0, 1), Partition(labels, 2))
        masked = round_integers.fn(Settled(table), spec.plan, (grouping,))
        losses.append(evaluate.fn(Comparison(masked), spec).measures["il"])
    assert found.measures["il"] == pytest.approx(min(losses))
    assert len(losses) == 8


def test_recutting_never_loses_more_of_what_is_published(request_of: Request) -> None:
    rng = np.random.default_rng(3)
    rows = [f"{i},z,{rng.integers(9)},{rng.normal():.3f}," for i in range(60)]
    request_of.source.write_text("id,zone,staff,sales,score\n" + "\n".join(rows), encoding="utf-8")
    for k in (2, 3, 5):
        *_, before = masked_table(request_of, microaggregation={"k": k, "method": "mdav_generic"})
        *_, after = masked_table(
            request_of, microaggregation={"k": k, "method": "mdav_generic", "recut": True}
        )
        assert after.measures["il"] <= before.measures["il"] + 1e-9
        assert after.measures["k"] >= k


def test_refining_never_loses_more_of_what_is_published(request_of: Request) -> None:
    rng = np.random.default_rng(3)
    rows = [f"{i},z,{rng.integers(9)},{rng.normal():.3f}," for i in range(60)]
    request_of.source.write_text("id,zone,staff,sales,score\n" + "\n".join(rows), encoding="utf-8")
    shares: list[float] = []

    class Shares(Listener):
        def progressed(self, share: float) -> None:
            shares.append(share)

    with listening(Shares()):
        *_, before = masked_table(request_of, microaggregation={"method": "mdav_generic"})
        *_, after = masked_table(
            request_of,
            microaggregation={"method": "mdav_generic", "refine": {"iterations": 50}},
        )
    assert after.measures["il"] < before.measures["il"]
    assert shares[-1] == 1.0


def test_a_stronger_bound_is_found_where_the_spec_grants_rounds(request_of: Request) -> None:
    *_, plain = masked_table(request_of)
    *_, strong = masked_table(request_of, evaluation={"bound_rounds": 200})
    bounds = [found.measures["il_bound"] for found in (plain, strong)]
    assert bounds[0] < bounds[1] <= strong.measures["il"]


def test_decimals_are_those_that_the_spec_states(request_of: Request) -> None:
    _, _, masked, found = masked_table(request_of, columns={"decimals": {"sales": 1}})
    sales = masked.published.keys[1]
    assert sales.tolist() == sales.round(1).tolist()
    assert found.measures["rounding"] > 0.0


def test_each_column_on_its_own_is_grouped_best_but_not_together(request_of: Request) -> None:
    spec, _, masked, found = masked_table(
        request_of,
        microaggregation={"method": "imhmi", "ordering": "zscore", "each_column": True},
    )
    for column in masked.published.keys:
        assert np.unique(column, return_counts=True)[1].min() >= 3
    assert found.measures["k"] < 3
    with pytest.raises(RefusedError, match="must occur in k=3 records; the rarest"):
        judge.fn(masked, verdicts(found, spec), spec)
    assert "grouped on its own" in spec.warnings[0]


def test_one_column_on_its_own_is_all_there_is(request_of: Request) -> None:
    spec, _, masked, found = masked_table(
        request_of,
        columns={"quasi_identifiers": ["staff"], "confidential": ["zone", "sales", "score"]},
        microaggregation={"method": "imhmi", "ordering": "zscore", "each_column": True},
    )
    assert not any("on its own" in warning for warning in spec.warnings)
    assert judge.fn(masked, verdicts(found, spec), spec).approval.evaluation == found


def test_only_a_table_within_its_ceilings_is_approved(request_of: Request) -> None:
    spec, _, masked, measured = masked_table(request_of)
    assert judge.fn(masked, verdicts(measured, spec), spec).approval.evaluation == measured
    strict = request_of.load(gate={"ceilings": {"il": 0.0, "dld": 100.0}})
    with pytest.raises(RefusedError, match="IL is"):
        judge.fn(masked, verdicts(measured, strict), strict)


def test_a_table_that_breaks_a_promise_is_not_approved(request_of: Request) -> None:
    spec, _, masked, measured = masked_table(request_of)
    carried = {**masked.published.carried, "score": pa.chunked_array([[1, 2, 3, 4, 5, 6, 7]])}
    altered = replace(masked.published, carried=carried)
    with pytest.raises(ContractError, match="'score' must be unchanged"):
        judge.fn(replace(masked, published=altered), verdicts(measured, spec), spec)


def test_a_stage_neither_persists_nor_hashes() -> None:
    assert ingest.task.persist_result is False
    assert type(ingest.task.cache_policy).__name__ == "_None"
    assert ingest.task.log_prints is False


def test_a_stage_that_is_not_listed_cannot_be_made() -> None:
    with pytest.raises(ContractError, match="'trip' is not"):
        stage(name="trip")


def test_an_exception_is_reduced_to_stage_type_and_place() -> None:
    @stage(name="judge")
    def trip(value: str) -> None:
        raise ValueError(f"could not convert {value}")

    with pytest.raises(ContractError) as raised:
        trip.fn("SECRET")
    assert str(raised.value).startswith("judge failed: ValueError at test_tasks.py:")
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_our_own_errors_pass_without_what_they_were_raised_from() -> None:
    def trip() -> None:
        try:
            int("SECRET")
        except ValueError as error:
            raise DataError("plain words") from error

    with pytest.raises(DataError, match="plain words") as raised:
        guarded("trip", trip)()
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_a_full_disk_is_told_from_an_error_of_ours() -> None:
    def trip() -> None:
        Path("/dev/full").write_text("x", encoding="utf-8")

    with pytest.raises(StorageError, match="No space left on device"):
        guarded("trip", trip)()


class Recorder(Listener):
    """Keeps the reports of stages."""

    def __init__(self) -> None:
        self.reports: list[str] = []

    def stage_started(self, name: str) -> None:
        self.reports.append(f"{name} started")

    def stage_ended(self, name: str, seconds: float) -> None:
        assert seconds >= 0.0
        self.reports.append(f"{name} ended")


def test_listeners_hear_of_stages_beside_each_other() -> None:
    outer, inner = Recorder(), Recorder()
    think = announced("think", lambda: 42)
    with listening(outer):
        with listening(inner):
            assert think() == 42
        assert think() == 42
    assert think() == 42
    assert inner.reports == ["think started", "think ended"]
    assert outer.reports == inner.reports * 2
