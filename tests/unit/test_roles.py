"""Roles of columns: warnings, reasons of the gate, and claims about them."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from algorithms.attributes import MISSING, Category, Number, Values, WithMissing
from algorithms.errors import DataError, IntegrityError, RefusedError
from algorithms.evaluation import Evaluation
from algorithms.masked import Masked
from algorithms.table import Codes, Stratum, Table
from expectations.data_warnings import masking_warnings, table_warnings
from expectations.gate import Approval, Verdicts
from expectations.published.verifier import verify
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.gate import Ceilings, GateSection
from expectations.suites.kinds import kind_of
from expectations.tables import arrow_of, read_persons
from tests.conftest import Request
from tests.publishing import folder_of
from tests.tables import table_of

GATE = GateSection(ceilings=Ceilings(il=100.0, dld=100.0))


def columns(**roles: object) -> ColumnsSection:
    return ColumnsSection.model_validate({"quasi_identifiers": ["a"], **roles})


def reason(smallest: float, roles: ColumnsSection | None, units: float | None = None) -> str:
    measures = {"il": 1.0, "dld": 1.0, "k": smallest}
    measures |= {} if units is None else {"k_units": units}
    with pytest.raises(RefusedError) as raised:
        Approval(Verdicts(Evaluation(measures, 9, 3, {3: 3}), GATE, 3, roles), "d")
    return str(raised.value)


def test_the_gate_says_what_broke_k() -> None:
    assert "rarest occurs in 1: use a method that groups all" in reason(1.0, None)
    assert "rarest occurs in 1: use a method that groups all" in reason(1.0, columns())
    assert "columns.other ('zone') is published unchanged" in reason(1.0, columns(other=["zone"]))
    as_it_is = columns(weight="w", weight_published="as_it_is")
    assert "set columns.weight_published to averaged or never" in reason(1.0, as_it_is)
    units = columns(unit="person")
    assert "must belong to k=3 units; the rarest belongs to 2" in reason(3.0, units, 2.0)
    assert "must belong to k=3 units" in reason(3.0, units)


def test_no_table_of_plain_numbers_is_warned_of() -> None:
    table = table_of([np.arange(9.0)])
    assert table_warnings(table, 3) == ()
    assert masking_warnings(Masked(table, (), 3, np.zeros((9, 1)), table)) == ()


def test_columns_that_break_k_are_warned_of() -> None:
    table = replace(
        table_of([np.arange(4.0)]),
        other={"o": Codes(np.array([0, 0, 0, 1])), "p": Codes(np.array([0, 0, 0, 0]))},
        strata=(Stratum("s", np.array([0, 0, 0, 0])),),
    )
    (warning,) = table_warnings(table, 3)
    assert warning.startswith("columns.other ('o', 'p') counts into k")
    assert "1 records stand out by these columns alone" in warning


@pytest.mark.parametrize(("rule", "count"), [("mode", 1), ("majority", 1), ("calibrated", 0)])
def test_labels_that_are_likely_to_vanish_are_counted(rule: str, count: int) -> None:
    labels = np.array([0, 0, 0, 1, 2, 2, 2, MISSING])
    kind = Category("c", ("a", "b", "c"), rule)  # type: ignore[arg-type]
    found = table_warnings(Table((WithMissing(kind, "state"),), (labels,)), 3)
    assert len(found) == count
    assert all("1 of 3 labels of 'c' stand for fewer than k=3 records" in one for one in found)


@pytest.mark.parametrize(
    ("policy", "published", "count"),
    [("state", [1.0, 1.0, 1.0], 1), ("state", [1.0, np.nan, 1.0], 0), ("fill", [1.0] * 3, 0)],
)
def test_missing_values_that_are_mostly_filled_are_counted(
    policy: str, published: list[float], count: int
) -> None:
    kind = WithMissing(Number("bmi"), policy)  # type: ignore[arg-type]
    before = Table((kind,), (np.array([1.0, np.nan, np.nan]),))
    after = Table((kind,), (np.array(published),))
    found = masking_warnings(Masked(after, (), 3, np.zeros((3, 2)), before))
    assert [one.startswith("2 of 2 missing values of 'bmi'") for one in found] == [True] * count


def whole(*numbers: int | None) -> tuple[WithMissing, pa.ChunkedArray]:
    kind = WithMissing(Number("n", 0, whole=True), "state")
    return kind, pa.chunked_array([pa.array(numbers, pa.int64())])


def test_the_number_that_stands_for_missing_is_refused_where_values_may_be_missing() -> None:
    kind, column = whole(1, None, -(2**63))
    with pytest.raises(DataError, match=r"'n' must be above -2\*\*63, .*; 1 are not"):
        kind_of(kind).read(kind, column)


def test_the_number_that_stands_for_missing_is_a_number_where_none_may_be_missing() -> None:
    least = np.full(2, MISSING)
    table = Table((Number("a", 0, whole=True),), (least,))
    assert arrow_of(table, columns())["a"].to_pylist() == [-(2**63)] * 2


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(Number("n"), "f"), (Number("n", 0, whole=True), "i"), (Category("n", ()), "i")],
)
def test_a_column_without_any_value_is_read(kind: Number | Category, dtype: str) -> None:
    attribute = WithMissing(kind, "state")
    nothing = pa.chunked_array([pa.nulls(3, pa.string())])
    read, values = kind_of(attribute).read(attribute, nothing)
    assert read is attribute
    assert values.dtype.kind == dtype
    assert written(attribute, values) == [None] * 3
    assert attribute.scale(values).centre.tolist() == [0.0]


def written(attribute: WithMissing, values: Values) -> list[object]:
    cells: list[object] = arrow_of(
        Table((attribute,), (values,)), columns(quasi_identifiers=[attribute.name])
    )[attribute.name].to_pylist()
    return cells


def test_records_without_identifiers_are_of_different_persons() -> None:
    table = pa.table({"a": [1, 2, 3]}).select([])
    assert len(read_persons(table)) == table.num_rows


def rewrite(published: Request, key: str, value: object) -> None:
    path = folder_of(published) / "datapackage.json"
    package = json.loads(path.read_bytes())
    package["microrelease"][key] = value
    path.write_text(json.dumps(package), encoding="utf-8")


def test_a_claim_of_something_that_k_cannot_count_is_no_description(published: Request) -> None:
    rewrite(published, "k_counts", "wishes")
    with pytest.raises(IntegrityError, match="is not a description of a release"):
        verify(folder_of(published))


def test_values_beside_those_that_are_listed_are_found(published: Request) -> None:
    path = folder_of(published) / "datapackage.json"
    package = json.loads(path.read_bytes())
    for resource in package["resources"]:
        (zone,) = [field for field in resource["schema"]["fields"] if field["name"] == "zone"]
        zone["constraints"] = {"enum": ["007"]}
    path.write_text(json.dumps(package), encoding="utf-8")
    with pytest.raises(IntegrityError, match="column 'zone' must hold the values that"):
        verify(folder_of(published))
