"""Tables that are cut into blocks: exact moments, axes, cuts, and groups block by block."""

import math
import pickle
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import moments
from algorithms.attributes import Category, Number
from algorithms.attributes.missing import WithMissing
from algorithms.attributes.number import number_coordinates
from algorithms.blocks import cuts as cutting
from algorithms.blocks.axes import principal_axes, projected, scatter_of
from algorithms.blocks.cuts import Blocks, cut, in_sample, share_sampled
from algorithms.blocks.grouping import (
    How,
    _pieces,
    _Taken,
    cuts_of,
    group_block,
    grouped_in_blocks,
    mend_block,
)
from algorithms.blocks.running import Arrays, Function
from algorithms.errors import ContractError, DataError
from algorithms.history import History
from algorithms.local_search.search import default_iterations, loss_of
from algorithms.masking import Plan, mask
from algorithms.microaggregation import METHODS
from algorithms.moments import Moments, moments_of
from algorithms.problem import Problem
from algorithms.series.cohorts import Cohorts
from algorithms.table import Stratum, Table
from algorithms.types import Matrix, units_per_group
from tests.oracles import blocks as slow

K = 3
MDAV = METHODS["mdav"]
MOVES: dict[str, Any] = {"iterations": 0}

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


def normal(n: int, d: int = 3, seed: int = 1) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, d))


def how(k: int = K, records: int = 600, **choices: Any) -> How:
    plain: dict[str, Any] = {
        "method": "mdav",
        "options": {},
        "recut": False,
        "refine": None,
        "grid": None,
    }
    return How(k=k, records=records, **(plain | choices))


def number_table(n: int, **parts: Any) -> Table:
    x = np.random.default_rng(n).lognormal(size=(n, 3))
    attributes = (Number("a", places=0, whole=True), Number("b", places=1), Number("c"))
    keys = (np.rint(20 * x[:, 0]).astype(np.int64), x[:, 1].round(1), x[:, 2])
    return Table(attributes, keys, **parts)


# exact moments


@given(st.lists(finite.filter(lambda v: abs(v) < 1e150), min_size=2, max_size=30))
def test_moments_are_rounded_once(values: list[float]) -> None:
    found = moments_of(np.array(values))
    mean, variance = slow.exact_moments(values)
    assert found.mean == float(mean)
    assert (found.least, found.most) == (min(values), max(values))
    if found.least == found.most:
        assert found.deviation == 1.0
    elif variance > 1e-290:
        assert found.deviation == slow.nearest_root(variance)


@given(st.lists(finite, min_size=1, max_size=30), st.integers(0, 30))
def test_moments_do_not_depend_on_order_or_cut(values: list[float], place: int) -> None:
    column = np.array(values)
    whole = moments_of(column)
    assert moments_of(column[:place]) + moments_of(column[place:]) == whole
    assert moments_of(column[::-1]) == whole


def test_moments_of_many_values_are_added_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    column = normal(100)[:, 0]
    whole = moments_of(column)
    monkeypatch.setattr(moments, "MOST_AT_A_TIME", 7)
    assert moments_of(column) == whole
    assert moments_of(column[:0]) == Moments()


def test_moments_of_tiny_numbers_are_exact() -> None:
    found = moments_of(np.array([5e-324, 5e-324, 2e-323]))
    assert found.total == 1 + 1 + 4
    assert found.squares == 1 + 1 + 16
    assert found.deviation == pytest.approx(1e-323)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_moments_are_those_of_finite_numbers(value: float) -> None:
    with pytest.raises(ContractError, match="finite"):
        moments_of(np.array([1.0, value]))


def test_numbers_on_an_exact_scale_agree_with_others_but_for_the_last_digits() -> None:
    table = number_table(500)
    plain, exact = table.embedding, replace(table, exact=True).embedding
    assert exact.x == pytest.approx(plain.x, rel=1e-12, abs=1e-12)
    assert exact.grid.whole.tolist() == plain.grid.whole.tolist()
    assert exact.grid.step == pytest.approx(plain.grid.step)
    # the origin of the grid is a publishable value, and the same for every order of the records
    order = np.random.default_rng(1).permutation(500)
    turned = Table(table.attributes, tuple(each[order] for each in table.keys), exact=True)
    assert np.array_equal(turned.embedding.x, exact.x[order])
    assert np.array_equal(turned.embedding.grid.origin, exact.grid.origin)


def test_numbers_must_not_spread_too_far() -> None:
    with pytest.raises(DataError, match="'a' must spread over less than 1e150"):
        number_coordinates(Number("a"), moments_of(np.array([0.0, 1e150])))


# axes and cuts


@given(st.integers(0, 1000))
def test_axes_are_those_of_the_covariance(seed: int) -> None:
    x = normal(40, 4, seed) @ normal(4, 4, seed + 1)
    spreads, axes = principal_axes(x)
    assert np.array_equal(scatter_of(x), slow.scatter(x))
    expected = np.linalg.eigvalsh(slow.scatter(x))[::-1]
    assert spreads == pytest.approx(expected, rel=1e-9, abs=1e-9 * expected[0])
    assert axes @ axes.T == pytest.approx(np.eye(4), abs=1e-12)
    assert (axes @ slow.scatter(x) @ axes.T) == pytest.approx(
        np.diag(spreads), abs=1e-9 * expected[0]
    )
    assert (axes.max(axis=1) >= -axes.min(axis=1)).all()
    assert projected(x, axes[0]).tolist() == slow.along(x, axes[0])


@pytest.mark.parametrize("x", [np.zeros((5, 3)), np.ones((4, 1)), normal(6, 1)])
def test_axes_of_columns_that_do_not_vary_together_are_the_columns(x: Matrix) -> None:
    assert np.array_equal(principal_axes(x)[1], np.eye(x.shape[1]))


@given(st.integers(0, 1000), st.sampled_from([(), (0.35, 0.6, 0.4)]))
def test_a_record_goes_where_its_projections_lead(seed: int, shares: tuple[float, ...]) -> None:
    x = normal(60, 3, seed).round(1)
    found = cut(x, 60, 13, shares)
    blocks = found.assign(x)
    children = found.children.tolist()
    for row, block in zip(x, blocks.tolist(), strict=True):
        assert slow.block_of(row, found.axes, found.thresholds.tolist(), children) == block
    counts = np.bincount(blocks, minlength=found.count)
    assert counts.min() > 0
    assert counts.max() <= 14
    assert shares or counts.min() >= 10


def test_cuts_of_a_sample_divide_the_table_almost_evenly() -> None:
    x = normal(40_000)
    sampled = in_sample(np.arange(40_000), 0.1)
    assert abs(sampled.mean() - 0.1) < 0.01
    counts = np.bincount(cut(x[sampled], 40_000, 4000).assign(x))
    assert len(counts) == 10
    assert 3000 < counts.min() <= counts.max() < 5000


def test_all_records_are_sampled_if_they_are_few() -> None:
    assert in_sample(np.arange(5), share_sampled(5, 2)).all()
    assert share_sampled(10_000_000, 40_000) == 0.05
    assert share_sampled(1_000_000_000, 40_000) == 0.0025


def test_records_that_are_all_alike_are_not_cut() -> None:
    found = cut(np.zeros((50, 2)), 50, 10)
    assert found.count == 1
    assert found.assign(np.ones((3, 2))).tolist() == [0, 0, 0]
    assert found.merged(lambda _: False).tolist() == [0]


def test_cuts_leave_ties_on_one_side() -> None:
    x = np.repeat([0.0, 0.0, 0.0, 1.0], 10).reshape(-1, 1)
    assert np.bincount(cut(x, 40, 20).assign(x)).tolist() == [30, 10]


@given(st.lists(st.integers(0, 4), min_size=8, max_size=8), st.integers(1, 6))
def test_blocks_that_are_too_small_are_merged(counts: list[int], least: int) -> None:
    found = cut(np.arange(80.0).reshape(-1, 1), 80, 10)
    assert found.count == 8
    sizes = np.array(counts)
    numbers = found.merged(lambda blocks: bool(sizes[blocks].sum() >= least))
    merged = np.bincount(numbers, weights=sizes)
    assert set(numbers.tolist()) == set(range(len(merged)))
    assert len(merged) == 1 or merged.min() >= least
    # they lie side by side
    assert (np.diff(numbers) >= 0).all()


# groups block by block


def test_a_block_is_grouped_by_the_method() -> None:
    x = normal(50)
    found = group_block(how(), {"x": np.asfortranarray(x)})
    assert found["labels"].tolist() == MDAV.run(x, K).tolist()
    assert found["iterations"].tolist() == [-1]


def test_mending_never_loses_more_and_keeps_k() -> None:
    x = normal(80).round(1)
    labels = np.arange(80) // K % 26
    mended = mend_block(how(), {"x": x, "labels": labels + 7})["labels"]
    assert np.bincount(mended).min() >= K
    assert loss_of(x, mended) < loss_of(x, labels)


def test_copies_that_no_cut_divides_are_divided_in_the_order_of_rows() -> None:
    x = np.zeros((500, 2))
    in_blocks = how(rows=100, records=500)
    labels = group_block(in_blocks, {"x": x})["labels"]
    assert np.bincount(labels).min() >= K
    firsts = [set((np.flatnonzero(labels == group) // 100).tolist()) for group in range(10)]
    assert all(len(pieces) == 1 for pieces in firsts)
    mended = mend_block(in_blocks, {"x": x, "labels": labels})["labels"]
    assert np.bincount(mended).min() >= K
    groups, _ = grouped_in_blocks(how(), Problem(x, K), np.arange(500), Blocks(100, 1))
    assert groups.sizes.min() >= K


def test_a_block_is_not_divided_if_a_piece_had_too_few_units() -> None:
    units = np.array([0] * 60 + list(range(60)))
    in_blocks = how(rows=50)
    assert len(_pieces(in_blocks, units, 120)) == 1
    assert len(_pieces(in_blocks, np.arange(120), 120)) == 2
    labels = group_block(in_blocks, {"x": normal(120), "units": units})["labels"]
    assert units_per_group(labels, units).min() >= K
    mended = mend_block(in_blocks, {"x": normal(120), "units": units, "labels": labels})["labels"]
    assert units_per_group(mended, units).min() >= K


def elsewhere(name: str, function: Function, given: Any, blocks: Sequence[Arrays]) -> list[Arrays]:
    """Run blocks in another order, on copies that went through a pipe."""
    assert name in ("group", "mend")
    places = list(range(len(blocks)))
    random.Random(1).shuffle(places)
    results = {}
    for place in places:
        work = pickle.loads(pickle.dumps((function, given, blocks[place])))
        results[place] = work[0](work[1], work[2])
    return [results[place] for place in range(len(blocks))]


@pytest.mark.parametrize("refine", [None, MOVES])
def test_blocks_that_run_elsewhere_give_the_same_groups(refine: dict[str, Any] | None) -> None:
    table = number_table(700)
    plan = Plan(k=K, method=MDAV, refine=refine, blocks=Blocks(150, 2))
    here, there = mask(table, plan), mask(table, plan, run=elsewhere)
    assert np.array_equal(here.groups, there.groups)
    assert here.groupings[0].iterations == there.groupings[0].iterations
    for one, other in zip(here.published.keys, there.published.keys, strict=True):
        assert np.array_equal(one, other)


def test_seams_reduce_the_loss_round_by_round() -> None:
    x = normal(1500)
    problem = Problem(x, K)
    losses = []
    for seams in range(3):
        groups, searched = grouped_in_blocks(how(), problem, np.arange(1500), Blocks(200, seams))
        losses.append(loss_of(x, groups.labels))
        assert groups.sizes.min() >= K
        assert searched is None
    assert losses[0] > losses[1] > losses[2]


def test_each_round_of_mending_cuts_elsewhere() -> None:
    x = normal(1000)
    found = cuts_of(x, 1000, Blocks(200, 3))
    assert len(found) == 4
    assert len({tuple(each.thresholds[:1].tolist()) for each in found}) == 3


def test_progress_is_the_share_of_blocks_that_were_taken_up() -> None:
    shares: list[float] = []
    plan = Plan(k=K, method=MDAV, blocks=Blocks(200, 1))
    mask(number_table(700), plan, lambda _, share, _found=None, /: shares.append(share))
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.5 < shares[-1] < 1.0


def test_blocks_are_taken_when_they_are_asked_for() -> None:
    taken = _Taken(normal(6), None, None, np.array([0, 1, 0, 1, 2, 2]), None, 0, 1)
    assert [list(block) for block in taken[1:]] == [["x"], ["x"]]
    assert np.array_equal(taken[-1]["x"], normal(6)[4:])


def test_a_search_shares_its_budget_among_blocks() -> None:
    table = number_table(600)
    given_budget = Plan(k=K, method=METHODS["best"], options={"iterations": 60})
    plan = replace(given_budget, blocks=Blocks(150, 0))
    spent = mask(table, plan).groupings[0].iterations
    assert spent is not None
    assert abs(spent - 60) <= 4
    default = default_iterations(600, K)
    in_blocks = how(method="best").in_blocks(150)
    assert in_blocks.options == {"iterations": default}
    assert how(refine={"seed": 1}).in_blocks(150).refine == {"seed": 1, "iterations": default}
    assert how(refine=MOVES).in_blocks(150).refine == MOVES
    assert how().in_blocks(150).options == {}


# in a table


def check_groups(table: Table, plan: Plan) -> None:
    masked = mask(table, plan)
    (grouping,) = masked.groupings
    sets = np.zeros(len(table), dtype=np.int64) if table.blocks is None else table.blocks
    labels = grouping.partition.labels
    assert masked.original.exact
    assert grouping.partition.sizes.min() >= plan.k
    assert len(set(zip(labels.tolist(), sets.tolist(), strict=True))) == labels.max() + 1
    if table.units is not None:
        assert units_per_group(labels, table.units).min() >= plan.k


@pytest.mark.parametrize("seams", [0, 1])
@pytest.mark.parametrize("method", ["mdav", "md", "best"])
def test_blocks_work_with_methods_and_strata(method: str, seams: int) -> None:
    options = {"iterations": 20} if method == "best" else {}
    plan = Plan(k=K, method=METHODS[method], options=options, blocks=Blocks(100, seams))
    strata = (Stratum("region", np.minimum(np.arange(500) % 4, 2)),)
    check_groups(number_table(500, strata=strata), plan)


def test_blocks_work_with_kinds_and_missing_values_apart() -> None:
    table = number_table(500)
    rng = np.random.default_rng(1)
    bmi = np.where(rng.random(500) < 0.4, np.nan, rng.normal(25.0, 4.0, 500))
    mixed = Table(
        (*table.attributes, Category("sex", ("f", "m")), WithMissing(Number("bmi"), "apart")),
        (*table.keys, rng.integers(0, 2, 500), bmi),
    )
    check_groups(mixed, Plan(k=K, method=MDAV, refine=MOVES, blocks=Blocks(100, 1)))


@pytest.mark.parametrize("refine", [None, MOVES])
def test_blocks_work_with_units_and_weights(refine: dict[str, Any] | None) -> None:
    rng = np.random.default_rng(1)
    table = number_table(500, units=rng.integers(0, 150, 500), weights=rng.uniform(1.0, 9.0, 500))
    check_groups(table, Plan(k=K, method=MDAV, refine=refine, blocks=Blocks(100, 1)))


def test_blocks_with_records_of_too_few_units_are_merged() -> None:
    x = np.arange(400.0)
    units = np.where(x < 200, 0, np.arange(400))
    table = Table((Number("a"), Number("b")), (x, x), units=units)
    check_groups(table, Plan(k=K, method=MDAV, blocks=Blocks(100, 1)))


def test_blocks_work_with_groups_that_last() -> None:
    table = number_table(300, persons=np.arange(300))
    plan = Plan(k=K, method=MDAV, cohorts=Cohorts(), blocks=Blocks(100, 1))
    (grouping,) = mask(table, plan, history=History()).groupings
    assert grouping.partition.sizes.min() >= K
    assert grouping.fresh_loss is not None


def test_small_sets_are_grouped_as_without_blocks() -> None:
    table = number_table(200)
    plan = Plan(k=K, method=MDAV, refine={"iterations": 5})
    whole = mask(replace(table, exact=True), replace(plan, blocks=Blocks(200, 1)))
    assert np.array_equal(whole.groups, mask(table, plan).groups)


def test_tables_are_cut_by_default_above_a_number_of_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan(k=K, method=MDAV)
    assert plan.blocks_for(2_000_000) is None
    assert plan.blocks_for(2_000_001) == Blocks(40_000, 1)
    assert replace(plan, recut=True).blocks_for(2_000_001) is None
    assert replace(plan, blocks=Blocks(100, 0)).blocks_for(5) == Blocks(100, 0)
    assert not mask(number_table(100), plan).original.exact
    monkeypatch.setattr(cutting, "LARGE", 99)
    assert mask(number_table(100), plan).original.exact
