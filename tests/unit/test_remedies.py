"""Of a refusal: what to try next stands in the order in which it should be tried."""

from typing import Any

import pytest

from algorithms.errors import RefusedError
from algorithms.evaluation import Evaluation
from algorithms.measures import MEASURES
from expectations.gate import Approval, Verdicts
from expectations.remedies import DIRECT, remedy
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.gate import Ceilings, Floors, GateSection
from expectations.request.sections.microaggregation import MicroaggregationSection

COLUMNS = ColumnsSection(quasi_identifiers=("age", "income"))


def grouping(**keys: Any) -> MicroaggregationSection:
    return MicroaggregationSection.model_validate({"k": 5, **keys})


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        ({"method": "mdav"}, "try the method best with iterations, then"),
        ({"method": "mdav", "refine": {}}, "try more iterations, then"),
        ({"method": "mdav", "refine": {"iterations": 50}}, "try more than 50 iterations, then"),
        ({"method": "best"}, "try more iterations, then"),
        ({"method": "best", "options": {"iterations": 900}}, "try more than 900 iterations, then"),
    ],
)
def test_a_better_search_comes_first_and_a_smaller_k_last(keys: Any, first: str) -> None:
    words = remedy("il", COLUMNS, grouping(**keys))
    assert words.startswith(first)
    assert words.endswith("coarser columns (columns dropped), then a smaller k")


@pytest.mark.parametrize(
    ("columns", "measure", "ways"),
    [
        ({}, "il", "(columns dropped)"),
        ({"strata": ["sex"]}, "il", "(fewer strata, columns dropped)"),
        ({"categories": ["age"]}, "il", "(a hierarchy in place of a category, columns dropped)"),
        ({}, "dld", "(fewer decimals, columns dropped)"),
        ({"integers": ["age", "income"]}, "dld", "(columns dropped)"),
        (
            {"integers": ["income"], "dates": {"age": "day"}},
            "dld",
            "(dates by month or year, columns dropped)",
        ),
    ],
)
def test_only_columns_of_the_spec_can_become_coarser(
    columns: dict[str, Any], measure: str, ways: str
) -> None:
    section = ColumnsSection.model_validate({"quasi_identifiers": ["age", "income"], **columns})
    assert f"coarser columns {ways}" in remedy(measure, section, grouping(method="mdav"))


@pytest.mark.parametrize("measure", [name for name in MEASURES if not name.startswith("k")])
def test_no_remedy_starts_with_a_smaller_k(measure: str) -> None:
    words = remedy(measure, COLUMNS, grouping(method="best"))
    assert not words.startswith("try a smaller k")
    assert ("a larger k" in words) <= (MEASURES[measure].kind == "risk")


def test_remedies_of_single_measures_are_those_of_known_measures() -> None:
    assert set(DIRECT) <= set(MEASURES)
    assert remedy("margin_change", COLUMNS, grouping(method="mdav")).startswith(
        "try calibrated labels (columns.published), then the method best with iterations, then"
    )


def refusal(gate: GateSection, **measures: float) -> str:
    found = Evaluation({"il": 1.0, "dld": 1.0, "k": 5.0, **measures}, 9, 3, {3: 3})
    with pytest.raises(RefusedError) as raised:
        Approval(Verdicts(found, gate, 5, COLUMNS, grouping(method="mdav")), "d")
    return str(raised.value)


def test_limits_with_the_same_remedy_share_one_clause() -> None:
    ceilings = Ceilings.model_validate({"il": 10.0, "dld": 20.0, "category_error": 5.0})
    assert refusal(GateSection(ceilings=ceilings), il=11.0, category_error=6.0) == (
        "IL is 11.00 %, above its ceiling of 10.00 %, and wrong labels is 6.00 %, above its "
        "ceiling of 5.00 %: try the method best with iterations, then coarser columns (columns "
        "dropped), then a smaller k, or have the ceilings reviewed"
    )


def test_a_ceiling_and_a_floor_with_the_same_remedy_are_limits() -> None:
    gate = GateSection(
        ceilings=Ceilings.model_validate({"il": 10.0, "dld": 20.0, "t_equal": 0.1}),
        floors=Floors.model_validate({"l_distinct": 2.0}),
    )
    words = refusal(gate, t_equal=0.5, l_distinct=1.0)
    assert words.endswith("then drop the confidential column, or have the limits reviewed")
