"""Of the input, the output and the measures: what breaks a rule is counted, and never quoted."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from algorithms.errors import ContractError, DataError, RefusedError
from algorithms.evaluation import Evaluation
from expectations import numbers
from expectations.digest import digest_of
from expectations.gate import Approval, Verdicts
from expectations.request.sections.gate import Ceilings, Floors, GateSection
from expectations.request.spec import ReleaseSpec
from expectations.suites.counts import CELLS, MET, ROWS, VALUES
from expectations.suites.require import (
    Run,
    joined,
    plainly,
    require,
    require_met,
    with_great_expectations,
)
from expectations.suites.rules import Suite, rule
from expectations.tables import table_from_arrow
from tests.conftest import Request

TEXT = pd.ArrowDtype(pa.string())


def text(*values: str | None) -> pd.Series:
    return pd.Series(pd.array(values, dtype=TEXT))


def test_numbers_are_told_from_other_text() -> None:
    cells = ["1", " 2.5 ", "+3", "-.5", "1e3", "inf", "1e999", "x", "", None, "nan", "1,5"]
    column = pa.array(cells)
    assert numbers.is_number(column).tolist() == [True] * 7 + [False] * 5
    assert numbers.is_finite(column).tolist() == [True] * 5 + [False] * 7
    assert numbers.is_whole(column)[:5].tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1.0, np.nan, np.inf, None]), [True, False, True, False]),
        (pa.array([1, 2], pa.int16()), [True, True]),
        (pa.array([True, False]), [False, False]),
        (pa.array([1, None], pa.decimal128(5, 2)), [True, False]),
        (pa.array(["1", "x"], pa.large_string()), [True, False]),
        (pa.chunked_array([["1"], ["x", None], []]), [True, False, False]),
    ],
)
def test_numbers_are_known_by_their_type(column: Any, expected: list[bool]) -> None:
    assert numbers.is_number(column).tolist() == expected


def test_a_column_of_other_things_has_no_finite_values() -> None:
    assert not numbers.is_finite(pa.array([True, False])).any()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["9007199254740993", "-1"]), [9007199254740993, -1]),
        (pa.array(["1.0", "2e2"]), [1, 200]),
        (pa.array([3.0, -4.0]), [3, -4]),
        (pa.array([2**60 + 1]), [2**60 + 1]),
    ],
)
def test_whole_numbers_are_read_exactly(column: pa.Array, expected: list[int]) -> None:
    assert numbers.to_integers(column).tolist() == expected


def test_real_numbers_are_read() -> None:
    assert numbers.to_floats(pa.array(["+1.5", "2"])).tolist() == [1.5, 2.0]


def test_a_digest_changes_with_every_cell_name_and_order() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})
    others = [
        frame.assign(a=[1, 3]),
        frame[["b", "a"]],
        frame.iloc[::-1],
        frame.rename(columns={"a": "c"}),
    ]
    assert digest_of(frame) == digest_of(frame.copy())
    assert digest_of(frame) not in {digest_of(other) for other in others}


def good_input() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": text("a", "b", "c"),
            "zone": text("1", "2", "3"),
            "staff": text("1", "2", "3"),
            "sales": text("1.5", "2.5", "3.5"),
            "score": text("7", None, "9"),
        }
    )


def check_input(frame: pd.DataFrame, spec: ReleaseSpec, run: Run = with_great_expectations) -> int:
    from expectations.suites.input_suite import input_suite, shape_suite

    found = require(shape_suite(spec), frame, DataError, run=run)
    return len(found + require(input_suite(spec), frame, DataError, "mend it", run))


BOTH = pytest.mark.parametrize("run", [with_great_expectations, plainly])


def test_a_good_table_meets_every_expectation(request_of: Request) -> None:
    assert check_input(good_input(), request_of.load()) == 2 + 3 + 1 + 2 + 2 + 1 + 1


SECRET = "98765.4321"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"staff": text("1", None, "3")},
            "'staff' must have no missing values, or columns.missing must say how they are "
            "treated; 1 row breaks this",
        ),
        ({"sales": text("1", SECRET, "x")}, "'sales' must be numeric; 1 row breaks this"),
        ({"sales": text(SECRET, "inf", "-inf")}, "'sales' must be finite; 2 rows break this"),
        ({"staff": text("1", "2.5", SECRET)}, "real numbers); 2 rows break this"),
        ({"id": text(SECRET, SECRET, "c")}, "name it in columns.unit); 2 rows break this"),
        ({"id": text(None, SECRET, "c")}, "'id' must have no missing values; 1 row breaks this"),
        ({"extra": text("1", "2", SECRET)}, "the columns to which the spec gives a role"),
    ],
)
@BOTH
def test_what_breaks_a_rule_is_counted_and_not_quoted(
    request_of: Request, change: dict[str, Any], words: str, run: Run
) -> None:
    with pytest.raises(DataError) as raised:
        check_input(good_input().assign(**change), request_of.load(), run)
    assert words in str(raised.value)
    assert SECRET not in str(raised.value)


def test_too_few_rows_are_refused(request_of: Request) -> None:
    with pytest.raises(DataError, match="at least k=3 rows"):
        check_input(good_input().head(2), request_of.load())


def test_all_broken_rules_are_reported_at_once(request_of: Request) -> None:
    frame = good_input().assign(staff=text("x", None, "1.5"), sales=text("inf", "1", "2"))
    with pytest.raises(DataError) as raised:
        check_input(frame, request_of.load())
    assert len(re.findall("rows? breaks? this", str(raised.value))) == 4
    assert str(raised.value).endswith(": mend it")


@BOTH
def test_a_check_that_cannot_run_is_our_fault(request_of: Request, run: Run) -> None:
    from expectations.suites.input_suite import input_suite

    frame = good_input().drop(columns="sales")
    with pytest.raises(ContractError, match="the check could not be run"):
        require(input_suite(request_of.load()), frame, DataError, run=run)


EVERY_RULE = Suite(
    "every rule",
    tuple(
        rule(expectation, expectation, "is not", "are not", **given)
        for expectation, given in (
            ("ExpectColumnValuesToBeNumbers", {"column": "mixed"}),
            ("ExpectColumnValuesToBeFinite", {"column": "mixed"}),
            ("ExpectColumnValuesToBeWhole", {"column": "mixed"}),
            ("ExpectColumnValuesToBeExact", {"column": "mixed"}),
            ("ExpectColumnValuesToHavePlaces", {"column": "real", "places": 1}),
            ("ExpectColumnValuesToBeInLevels", {"column": "mixed", "levels": ["x", "1"]}),
            ("ExpectColumnValuesToStandInHierarchy", {"column": "mixed", "codes": ["x"]}),
            ("ExpectColumnValuesNotToNameGroups", {"column": "code", "prefixes": [1], "paths": {}}),
            ("ExpectColumnValuesToBeDates", {"column": "mixed", "unit": "year"}),
            ("ExpectColumnValuesToBePositive", {"column": "mixed"}),
            ("ExpectColumnValuesNotToBe", {"column": "mixed", "label": "x"}),
            ("ExpectColumnToHaveFewLabels", {"column": "mixed", "most": 2}),
            ("ExpectEveryCombinationAtLeastKTimes", {"column_list": ["code"], "k": 2}),
            (
                "ExpectEveryCombinationOfAtLeastKUnits",
                {"column_list": ["code"], "unit": "real", "k": 2},
            ),
            ("ExpectColumnValuesToNotBeNull", {"column": "mixed"}),
            ("ExpectColumnValuesToBeNull", {"column": "mixed"}),
            ("ExpectColumnValuesToBeUnique", {"column": "mixed"}),
            ("ExpectColumnToHaveDigest", {"column": "code", "digest": "d"}),
            ("ExpectTableColumnsToMatchSet", {"column_set": ["code", "real"]}),
            ("ExpectTableColumnsToMatchOrderedList", {"column_list": ["code", "mixed", "real"]}),
            ("ExpectTableRowCountToBeBetween", {"min_value": 8}),
            ("ExpectTableRowCountToEqual", {"value": 8}),
        )
    ),
)


def test_rules_find_the_same_with_and_without_great_expectations() -> None:
    assert {each.expectation for each in EVERY_RULE.rules} == {*CELLS, *VALUES, *ROWS, *MET}
    frame = pd.DataFrame(
        {
            "mixed": text("1", "x", "x", "inf", "2.5", "9007199254740993.0", None),
            "real": [0.5, 0.25, -3.0, 1e300, 0.1 + 0.2, 7.0, float("nan")],
            "code": text("A", "A1", "A2", "B1", "B1", "B1", "B1"),
        }
    )
    found = with_great_expectations(EVERY_RULE, frame)
    assert found == plainly(EVERY_RULE, frame)
    assert [finding.rule for finding in found if finding.met] == []


def masked() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "staff": [2, 2, 2],
            "sales": [2.5, 2.5, 2.5],
            "zone": text("1", "2", "3"),
            "score": text("7", None, "9"),
        }
    )


def suite_for_output(spec: ReleaseSpec) -> Any:
    from expectations.suites.output_suite import output_suite

    source = good_input()
    table = table_from_arrow(pa.Table.from_pandas(source), spec.columns)
    digests = {name: digest_of(source[[name]]) for name in ("zone", "score")}
    return output_suite(spec, table, 0, digests)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.assign(id=["a", "b", "c"]), "without identifiers"),
        (lambda frame: frame[["zone", "staff", "sales", "score"]], "published columns must be"),
        (lambda frame: frame.head(2), "as many rows as the input"),
        (
            lambda frame: frame.assign(sales=[2.5, 2.5, 2.6]),
            "occur in at least 3 rows; 3 rows break",
        ),
        (
            lambda frame: frame.assign(staff=2.5),
            "'staff' must still hold whole numbers; 3",
        ),
        (
            lambda frame: frame.assign(sales=2.51),
            "'sales' must be published with at most 1 decimal; 3 rows",
        ),
        (lambda frame: frame.assign(score=text("9", None, "7")), "'score' must be unchanged"),
        (lambda frame: frame.assign(zone=text("1", "2", "4")), "'zone' must be unchanged"),
    ],
)
def test_an_output_that_breaks_a_promise_is_caught(
    request_of: Request, change: Any, words: str
) -> None:
    suite = suite_for_output(request_of.load(columns={"decimals": {"sales": 1}}))
    with pytest.raises(ContractError) as raised:
        require(suite, change(masked()), ContractError)
    assert words in str(raised.value)


def test_decimals_are_counted_as_far_as_a_number_has_any() -> None:
    column = pa.array([0.5, 0.25, -3.0, 1e300, 0.1 + 0.2])
    assert numbers.has_places(column, 1).tolist() == [True, False, True, True, False]


def test_a_good_output_meets_every_expectation(request_of: Request) -> None:
    suite = suite_for_output(request_of.load(columns={"decimals": {"sales": 1}}))
    assert all(finding.met for finding in require(suite, masked(), ContractError))


def evaluation(il: float = 10.0, dld: float = 20.0, smallest: int = 3, **more: float) -> Evaluation:
    return Evaluation({"il": il, "dld": dld, "k": float(smallest), **more}, 9, 3, {3: 3})


GATE = GateSection(ceilings=Ceilings(il=10.0, dld=20.0))


def test_measures_at_their_ceilings_pass() -> None:
    assert Approval(Verdicts(evaluation(), GATE, 3), "d").digest == "d"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            evaluation(il=27.312),
            "IL is 27.31 %, above its ceiling of 10.00 %: try the method best, then coarser",
        ),
        (evaluation(dld=41.0), "DLD is 41.00 %, above its ceiling of 20.00 %: try a larger k"),
        (evaluation(il=10.00001), "IL is 10.000010 %, above its ceiling of 10.000000 %"),
        (evaluation(il=10.0 + 1e-14), "IL is 10.000000000000 %, above its ceiling of"),
        (evaluation(il=float("nan")), "IL is nan %"),
        (evaluation(smallest=2), "must occur in k=3 records; the rarest occurs in 2: use a method"),
    ],
)
def test_measures_above_their_ceilings_are_refused_in_one_sentence(
    found: Evaluation, words: str
) -> None:
    with pytest.raises(RefusedError) as raised:
        Approval(Verdicts(found, GATE, 3), "d")
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("ceilings", "words"),
    [
        ({"il": 10.0}, "DLD has no ceiling: give one in gate.ceilings.dld"),
        ({"dld": 20.0, "pmse": 0.1}, "IL has no ceiling: give one in gate.ceilings.il"),
        ({}, "IL has no ceiling: give one in gate.ceilings.il; DLD has no ceiling"),
    ],
)
def test_nothing_is_approved_without_ceilings_of_il_and_dld(
    ceilings: dict[str, float], words: str
) -> None:
    gate = GateSection(ceilings=Ceilings.model_validate(ceilings))
    verdicts = Verdicts(evaluation(pmse=0.0), gate, 3)
    assert [verdict.measure for verdict in verdicts] == [*ceilings, "k"]
    assert all(verdict.passed for verdict in verdicts)
    with pytest.raises(RefusedError) as raised:
        Approval(verdicts, "d")
    assert str(raised.value).startswith(words)


def test_every_reason_is_given_at_once() -> None:
    with pytest.raises(RefusedError) as raised:
        Approval(Verdicts(evaluation(il=11.0, dld=21.0, smallest=1), GATE, 3), "d")
    assert str(raised.value).count(";") == 3


def test_any_measure_can_have_a_limit() -> None:
    gate = GateSection(
        ceilings=Ceilings.model_validate({"il": 10.0, "dld": 20.0, "within_records": 1.0}),
        floors=Floors.model_validate({"l_distinct": 2.0}),
    )
    found = evaluation(within_records=4.6, l_distinct=1.0)
    with pytest.raises(RefusedError) as raised:
        Approval(Verdicts(found, gate, 3), "d")
    assert str(raised.value) == (
        "records within 0.05 sd is 4.60 %, above its ceiling of 1.00 %: try a larger k, then "
        "coarser columns (fewer decimals, dates by month or year, columns dropped), or have the "
        "ceiling reviewed; distinct l-diversity is 1.00, below its floor of 2.00: try a larger k, "
        "then fewer strata, then drop the confidential column, or have the floor reviewed"
    )
    shown = [(v.title, v.shown_value, v.shown_limit) for v in Verdicts(found, gate, 3)]
    assert shown[0] == ("IL", "10.0000 %", "at most 10.0000 %")
    assert shown[3] == ("distinct l-diversity", "1", "at least 2")
    assert shown[4] == ("k", "3", "at least 3")


def test_a_limit_on_a_measure_that_does_not_apply_is_not_kept() -> None:
    gate = GateSection(
        ceilings=Ceilings(il=10.0, dld=20.0), floors=Floors.model_validate({"l_entropy": 2.0})
    )
    with pytest.raises(RefusedError, match="entropy l-diversity does not apply to this table"):
        Approval(Verdicts(evaluation(), gate, 3), "d")


def test_findings_on_parts_of_a_table_are_joined() -> None:
    suite = Suite(
        "some",
        (
            rule("ExpectColumnValuesToNotBeNull", "'a' must be there", column="a"),
            rule("ExpectTableColumnsToMatchSet", "only 'a'", column_set=["a"]),
        ),
    )
    parts = [plainly(suite, pd.DataFrame({"a": cells})) for cells in ([1, None], [None, None], [2])]
    rows, columns = joined(parts)
    assert (rows.met, rows.rows, rows.detail) == (False, 3, "")
    assert (columns.met, columns.rows) == (True, None)
    (alone, _) = joined(parts[2:])
    assert alone.met
    with pytest.raises(DataError, match="'a' must be there; 3 rows break this"):
        require_met((rows, columns), DataError)
