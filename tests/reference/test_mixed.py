"""Real tables of numbers, labels, levels and codes: losses, bounds, totals, and k on bytes."""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from algorithms.errors import DataError
from algorithms.masked import Masked
from expectations.request.sections.columns import ColumnsSection
from expectations.suites.require import require
from expectations.tables import frame_of
from tests.reference.mixed import (
    ADULT,
    HOUSEHOLDS,
    LABOUR,
    Rows,
    adult,
    declared,
    households,
    labour,
    masked_by,
    measured,
    rarest,
    spec_of,
    table_of,
    written,
)

pytestmark = [pytest.mark.reference, pytest.mark.needs("benchmark sets")]

slow = pytest.mark.slow


@cache
def searched(k: int, iterations: int, rule: str = "mode") -> tuple[Masked, ColumnsSection]:
    """Mask the household survey by a search."""
    columns = declared(HOUSEHOLDS, published=dict.fromkeys(HOUSEHOLDS["categories"], rule))
    table = table_of(households(), columns)
    return masked_by(table, k, "best", iterations=iterations), columns


def assert_k_on_bytes(masked: Masked, columns: ColumnsSection, k: int) -> None:
    """Count k on the text of the published file."""
    rows = written(masked, columns)
    assert len(rows) == len(masked.original)
    assert rarest(rows, columns.known) >= k


@pytest.mark.parametrize(("k", "most"), [(3, 9.9), (5, 17.1), (10, 27.6)])
def test_mdav_on_households(k: int, most: float) -> None:
    columns = declared(HOUSEHOLDS)
    masked = masked_by(table_of(households(), columns), k, "mdav")
    assert measured(masked, "il").exact["il"] <= most
    assert_k_on_bytes(masked, columns, k)


@pytest.mark.parametrize(
    ("k", "iterations", "most", "most_wrong"),
    [
        (3, 30_000, 6.8, 1.25),
        (5, 30_000, 10.3, 1.9),
        pytest.param(10, 15_000, 16.0, 3.0, marks=slow),
    ],
)
def test_a_search_on_households(k: int, iterations: int, most: float, most_wrong: float) -> None:
    masked, columns = searched(k, iterations)
    measures = measured(masked, "il", "category_error").exact
    assert measures["il"] <= most
    assert measures["category_error"] <= most_wrong
    assert_k_on_bytes(masked, columns, k)


@pytest.mark.parametrize(("k", "least"), [(3, 5.50), (5, 7.65)])
def test_the_bound_of_households_counts_labels_as_published(k: int, least: float) -> None:
    masked, _ = searched(k, 30_000)
    measures = measured(masked, "il", "il_bound", bound_rounds=400).exact
    assert least <= measures["il_bound"] <= measures["il"]


@pytest.mark.parametrize(("k", "most"), [(3, 0.08), (5, 0.12)])
def test_calibrated_labels_keep_their_totals_at_little_loss(k: int, most: float) -> None:
    masked, columns = searched(k, 30_000, "calibrated")
    by_mode, _ = searched(k, 30_000)
    measures = measured(masked, "il", "margin_change").exact
    assert measures["margin_change"] <= most
    assert measures["il"] <= 1.10 * measured(by_mode, "il").exact["il"]
    assert_k_on_bytes(masked, columns, k)


@pytest.mark.parametrize(("k", "most"), [(3, 8.75), (5, 14.6), (10, 24.9)])
def test_mdav_on_census_income(k: int, most: float) -> None:
    columns = declared(ADULT)
    masked = masked_by(table_of(adult(10_000), columns), k, "mdav")
    assert measured(masked, "il").exact["il"] <= most
    assert_k_on_bytes(masked, columns, k)


def test_mdav_on_all_complete_records_of_census_income() -> None:
    columns = declared(ADULT)
    table = table_of(adult(), columns)
    assert table.embedding.x.shape == (30_162, 77)
    masked = masked_by(table, 5, "mdav")
    assert measured(masked, "il").exact["il"] <= 8.7
    assert_k_on_bytes(masked, columns, 5)


@slow
@pytest.mark.parametrize(
    ("k", "iterations", "most"), [(3, 30_000, 6.25), (5, 30_000, 9.2), (10, 6_000, 14.1)]
)
def test_a_search_on_census_income(k: int, iterations: int, most: float) -> None:
    columns = declared(ADULT)
    masked = masked_by(table_of(adult(10_000), columns), k, "best", iterations=iterations)
    assert measured(masked, "il").exact["il"] <= most
    assert_k_on_bytes(masked, columns, k)


@pytest.mark.parametrize("policy", ["state", "blank", "fill", "apart"])
def test_census_income_with_missing_values_keeps_k_on_bytes(policy: str) -> None:
    names = ("workclass", "occupation", "native-country")
    columns = declared(ADULT, missing=dict.fromkeys(names, policy))
    rows = adult(4_000, complete=False)
    assert any(not row["occupation"] for row in rows)
    table = table_of(rows, columns)
    small = "withhold" if policy == "apart" else "block"
    masked = masked_by(table, 5, "mdav", small_strata=small)
    assert_k_on_bytes(masked, columns, 5)
    measures = measured(masked, "filled", "blanked").exact
    assert policy not in ("blank", "apart") or measures["filled"] == 0.0
    assert policy not in ("fill", "apart") or measures["blanked"] == 0.0


def wrong_major_groups(columns: dict[str, Any]) -> float:
    section = declared(columns)
    masked = masked_by(table_of(labour(), section), 5, "best", iterations=3_000)
    rows = written(masked, section)
    assert rarest(rows, section.known) >= 5
    pairs = zip(labour(), rows, strict=True)
    return 100.0 * float(np.mean([a["OCCUCODE"][0] != b["OCCUCODE"][0] for a, b in pairs]))


def test_a_hierarchy_keeps_major_groups_that_flat_labels_lose() -> None:
    flat = {
        **LABOUR,
        "categories": [*LABOUR["categories"], "OCCUCODE"],
        "hierarchies": {},
        "published": {},
    }
    assert wrong_major_groups(LABOUR) <= 6.0 < wrong_major_groups(flat)


def test_common_codes_are_never_wrong() -> None:
    columns = declared(LABOUR, published={"OCCUCODE": "common"})
    rows = written(masked_by(table_of(labour(), columns), 5, "mdav"), columns)
    for before, after in zip(labour(), rows, strict=True):
        node = after["OCCUCODE"]
        assert node == "*" or before["OCCUCODE"].startswith(node)


@pytest.mark.parametrize("method", ["mdav", "best"])
def test_zero_and_one_are_alike_as_numbers_and_as_labels(method: str) -> None:
    keys = {"quasi_identifiers": ["sex", "age", "expend"], "integers": ["age", "expend"]}
    rows: Rows = [{**row, "sex": str(int(row["sex"]) - 1)} for row in households()]
    options = {"iterations": 500} if method == "best" else {}
    masks = [
        masked_by(table_of(rows, declared(keys, **kind)), 5, method, **options)
        for kind in ({"integers": ["age", "expend", "sex"]}, {"categories": ["sex"]})
    ]
    one, other = ([*each.groupings[0].partition.labels] for each in masks)
    assert one == other
    as_number, as_label = (measured(each, "il").exact["il"] for each in masks)
    assert as_number == pytest.approx(as_label, abs=1e-9)


def test_weighted_totals_of_real_columns_are_exact() -> None:
    real = ("expend", "income", "savings")
    columns = declared(
        HOUSEHOLDS,
        integers=["age"],
        decimals=dict.fromkeys(real, "all"),
        weight="household_weights",
    )
    masked = masked_by(table_of(households(), columns), 5, "best", iterations=30_000)
    assert measured(masked, "il").exact["il"] <= 10.9
    rows = written(masked, columns)
    assert rarest(rows, columns.known) >= 5
    for name in real:
        before, after = (
            sum(float(row["household_weights"]) * float(row[name]) for row in table)
            for table in (households(), rows)
        )
        assert after == pytest.approx(before, rel=1e-9)


def test_a_thousand_labels_need_a_hierarchy() -> None:
    from expectations.suites.input_suite import input_suite

    def check(labels: int) -> None:
        cells = pa.table({"code": [f"{i % labels:04}" for i in range(2_000)]})
        spec = spec_of({"quasi_identifiers": ["code"], "categories": ["code"]})
        require(input_suite(spec), frame_of(cells), DataError)

    check(999)
    for labels in (1_000, 1_001):
        with pytest.raises(DataError, match=r"'code' .*1,000 .*hierarchy") as refusal:
            check(labels)
        assert "0001" not in str(refusal.value)
