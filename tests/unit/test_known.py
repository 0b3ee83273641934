"""Attackers who know columns beside the averaged ones, and changes of labels, gaps and weights."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.attributes import Category, Hierarchy, Number, WithMissing
from algorithms.attributes.tree import PrefixPaths, Tree
from algorithms.comparison import Comparison, Released
from algorithms.evaluation import evaluate
from algorithms.masked import Grouping, Masked
from algorithms.masking import Plan, mask
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.risk import known
from algorithms.risk.known import Exposure, exposures, unchanged_exposures
from algorithms.table import Codes, Stratum, Table
from algorithms.types import Partition
from algorithms.utility.il import information_loss, loss, withheld_loss
from algorithms.utility.labels import association, association_change
from tests.tables import compare, table_of


def published(**parts: object) -> Table:
    return replace(table_of([np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])]), **parts)  # type: ignore[arg-type]


def codes(*values: int) -> Codes:
    return Codes(np.array(values))


def test_records_stand_out_by_confidential_columns_alone_and_together() -> None:
    table = published(confidential={"a": codes(0, 0, 1, 0, 0, 0), "b": codes(0, 1, 1, 0, 0, 1)})
    assert exposures(Released(table, 3)) == (
        Exposure((), 0, 0),
        Exposure(("a",), 1, 3),
        Exposure(("b",), 2, 6),
        Exposure(("a", "b"), 4, 6),
    )
    assert [each.columns for each in exposures(Released(published(), 3))] == [()]
    released = Comparison(Masked(table, (), 3, np.zeros((6, 1)), table)).released
    found = {name: MEASURES[name].run(released) for name in (
        "unique_with_one", "below_k_with_one", "unique_with_all", "below_k_with_all", "one_value"
    )}  # fmt: skip
    assert found == pytest.approx({
        "unique_with_one": 100.0 * 2 / 6, "below_k_with_one": 100.0, "unique_with_all": 400.0 / 6,
        "below_k_with_all": 100.0, "one_value": 50.0,
    })  # fmt: skip


def test_without_confidential_columns_nothing_stands_out() -> None:
    released = Comparison(Masked(published(), (), 3, np.zeros((6, 1)), published())).released
    for name in ("unique_with_one", "below_k_with_one", "unique_with_all", "one_value"):
        assert MEASURES[name].run(released) is None
    assert MEASURES["below_k_with_all"].run(released) is None


def test_columns_that_are_published_unchanged_stand_out_before_anything_is_masked() -> None:
    assert unchanged_exposures(published(), 3) == ()
    confidential = {"a": codes(0, 0, 1, 0, 0, 0), "b": codes(0, 0, 0, 0, 0, 1)}
    assert unchanged_exposures(published(confidential=confidential), 2) == (
        Exposure(("a",), 1, 1),
        Exposure(("b",), 1, 1),
        Exposure(("a", "b"), 2, 2),
    )
    table = published(
        strata=(Stratum("s", np.array([0, 0, 0, 1, 1, 1])),),
        other={"o": codes(0, 0, 0, 0, 0, 1)},
        confidential={"a": confidential["a"]},
    )
    assert unchanged_exposures(table, 2) == (
        Exposure(("s", "o"), 1, 1),
        Exposure(("s", "o", "a"), 2, 2),
    )


def test_an_attacker_who_knows_strata_looks_in_one_of_them() -> None:
    original, after = np.array([0.0, 2.0, 10.0, 12.0]), np.array([1.0, 1.0, 11.0, 11.0])
    assert known.linked_by_known(compare([original], [after], k=2)) == pytest.approx(50.0)
    files = compare([original], [after], k=2)
    other = {"o": codes(0, 1, 0, 1)}
    files = Comparison(
        replace(
            files.masked,
            published=replace(files.masked.published, other=other),
            original=replace(files.original, other=other),
        )
    )
    assert known.linked_by_known(files) == pytest.approx(100.0)


def test_a_record_that_is_nearer_to_others_is_not_linked() -> None:
    swapped = compare([np.array([0.0, 1.0, 9.0, 10.0])], [np.array([9.5, 9.5, 0.5, 0.5])], k=2)
    assert known.linked_by_known(swapped) == 0.0


def test_many_ties_never_make_a_link_more_likely_than_its_group() -> None:
    around = np.array([np.cos(t) for t in range(40)]), np.array([np.sin(t) for t in range(40)])
    files = compare([np.zeros(40), np.zeros(40)], list(around), k=1)
    assert 0.0 <= known.linked_by_known(files) <= 100.0


def test_units_of_the_rarest_combination_are_counted() -> None:
    table = published(units=np.array([1, 1, 2, 3, 4, 5]))
    files = Comparison(Masked(published(), (), 2, np.zeros((6, 1)), table))
    assert known.smallest_number_of_units(files) == 2.0
    without = Comparison(Masked(published(), (), 2, np.zeros((6, 1)), published()))
    assert known.smallest_number_of_units(without) is None


def mixed(weights: np.ndarray | None = None) -> Comparison:
    tree = Tree.of([path for c in ("a1", "a2", "b1") if (path := PrefixPaths((1,)).to(c))])
    leaves = tree.leaves
    table = Table(
        (
            Category("sex", ("f", "m")),
            Hierarchy("icd", tree),
            WithMissing(Number("bmi"), "fill"),
            Number("age", 0, whole=True),
        ),
        (
            np.array([0, 0, 1, 1, 1, 1]),
            np.array([leaves[c] for c in ("a1", "a1", "a2", "b1", "b1", "b1")]),
            np.array([20.0, np.nan, 22.0, 30.0, 31.0, 32.0]),
            np.array([1, 2, 3, 7, 8, 9]),
        ),
        weights=weights,
    )
    everyone = Partition(np.array([0, 0, 0, 1, 1, 1]), 3)
    from algorithms.masking import represent
    from algorithms.strata import Settled

    plan = Plan(k=3, method=METHODS["mdav"])
    return Comparison(represent(Settled(table), plan, (Grouping((0, 1, 2, 3), everyone),)))


def test_wrong_labels_totals_and_associations_are_measured() -> None:
    found = evaluate(mixed()).exact
    # one m becomes f, one a2 becomes a1
    assert found["category_error"] == pytest.approx(100.0 / 6)
    assert found["margin_change"] == pytest.approx(100.0 / 6)
    assert found["filled"] == pytest.approx(100.0 / 6)
    assert found["blanked"] == 0.0
    assert found["association_change"] > 0.0
    assert "weighted_total_change" not in found
    columns = evaluate(mixed()).columns
    assert columns[0]["label_error"] == columns[1]["label_error"] == pytest.approx(16.6667)
    assert columns[2]["filled"] == pytest.approx(16.6667)


def test_associations_are_of_two_columns_at_least_one_with_labels() -> None:
    x = np.arange(6.0)
    assert association_change(compare([x], [x], k=2)) is None
    assert association_change(compare([x, x], [x, x], k=2)) is None
    one, two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert association(one, two) == 0.0
    assert association(np.zeros(4, dtype=np.int64), two) == 0.0
    assert association(x[:4], x[:4]) == pytest.approx(1.0)
    assert association(x[:4], np.ones(4)) == 0.0
    assert association(one, np.ones(4)) == 0.0
    assert association(one.astype(np.float64), one) == pytest.approx(1.0)


def test_weighted_totals_of_real_numbers_stay_and_confidential_ones_change() -> None:
    weights = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 4.0])
    files = mixed(weights)
    assert files.masked.published.weights is not None
    assert files.masked.published.weights.tolist() == [2.0] * 6
    score = Codes(np.arange(6), ordered=True, numbers=np.array([1.0, 0.0, 0.0, np.nan, 0.0, 0.0]))
    label = Codes(np.arange(6))
    confidential = {"score": score, "label": label}
    changed = Comparison(
        replace(files.masked, original=replace(files.original, confidential=confidential))
    )
    found = evaluate(changed)
    assert found.exact["weighted_total_change"] == pytest.approx(100.0)
    assert 0.0 < found.exact["il_bound"] <= found.exact["il"]
    assert found.certificate.startswith("no method could lose less than")
    nothing = table_of([np.zeros(3)])
    weightless = replace(nothing, weights=np.ones(3))
    empty = Comparison(Masked(weightless, (), 3, np.zeros((3, 1)), weightless))
    assert MEASURES["weighted_total_change"].run(empty) is None


def test_withheld_records_lose_all_that_is_known_of_them() -> None:
    strata = (Stratum("s", np.array([0, 0, 0, 1])),)
    table = replace(table_of([np.array([1.0, 2.0, 3.0, 10.0])]), strata=strata)
    plan = Plan(k=3, method=METHODS["mdav"], small_strata="withhold")
    for weights in (None, np.array([1.0, 1.0, 1.0, 3.0])):
        files = Comparison(mask(replace(table, weights=weights), plan))
        il, sse, sst = loss(files)
        assert withheld_loss(files) > 0.0
        assert sse > withheld_loss(files)
        assert il == pytest.approx(100.0 * sse / sst)
        assert MEASURES["withheld"].run(files) == 25.0
        assert MEASURES["merged"].run(files) == 0.0
    assert information_loss(np.zeros((2, 1)), np.ones((2, 1)))[0] == float("inf")


def test_a_lower_bound_of_strata_is_the_sum_of_theirs() -> None:
    rng = np.random.default_rng(3)
    table = replace(
        table_of([rng.normal(size=24), rng.normal(size=24)]),
        strata=(Stratum("s", np.arange(24) % 2),),
    )
    files = Comparison(mask(table, Plan(k=3, method=METHODS["mdav"])))
    for options in ({}, {"bound_rounds": 20}, {"certify_seconds": 5.0}):
        found = evaluate(files, options=options)
        assert 0.0 < found.exact["il_bound"] <= found.exact["il"] + 1e-9
    assert "in each of 2 strata" in found.notes["il_bound"]
