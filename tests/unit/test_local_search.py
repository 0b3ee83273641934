"""The search for better groups, against groups measured from scratch."""

import itertools
import os
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.local_search import search as search_module
from algorithms.local_search.anneal import anneal, dissolve_everywhere
from algorithms.local_search.groups import JOURNAL, TOUCHED, Groups, groups_of
from algorithms.local_search.moves import best_move, descend_everywhere
from algorithms.local_search.rebuild import recreate, ruin
from algorithms.local_search.search import default_iterations, loss_of, search
from algorithms.microaggregation.best import best
from algorithms.microaggregation.mdav import mdav
from algorithms.problem import Budget
from algorithms.rounding.grid import Grid
from algorithms.search.neighbours import neighbours
from algorithms.types import Found, Labels, Matrix
from tests.oracles import search as oracle
from tests.problems import problems

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"

grids = pytest.mark.parametrize("rounded", [False, True])


def grid_for(x: Matrix, rounded: bool) -> Grid | None:
    """Round all columns but the last, coarsely enough to matter."""
    d = x.shape[1]
    step = np.where(np.arange(d) < d - 1, 0.7, 0.0)
    return Grid(np.full(d, 0.1), step, np.zeros(d, dtype=bool)) if rounded else None


def table(seed: int, n: int = 40, d: int = 3) -> Matrix:
    return np.random.default_rng(seed).standard_t(3.0, size=(n, d)).round(1)


def taken_up(x: Matrix, k: int, grid: Grid | None, seed: int = 0) -> Groups:
    return groups_of(x, neighbours(x, min(6, len(x) - 1)), mdav(x, k), k, grid, seed)


@grids
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_best_move_is_the_best_of_all_moves(k: int, rounded: bool) -> None:
    x = table(k)
    grid = grid_for(x, rounded)
    groups = taken_up(x, k, grid)
    before = oracle.total_loss(x, groups.labels, grid)
    for row in range(len(x)):
        saved, group, _ = best_move(groups, row)
        losses = [
            oracle.total_loss(x, labels, grid) - before
            for labels in oracle.moves(x, groups.labels, k, row, groups.near[row])
        ]
        assert saved == pytest.approx(min([0.0, *losses]), abs=1e-8)
        assert (group == groups.labels[row]) == (saved == 0.0)


@grids
@pytest.mark.parametrize("k", [2, 3, 4])
def test_what_is_known_of_groups_stays_true_move_by_move(k: int, rounded: bool) -> None:
    x = table(10 + k)
    grid = grid_for(x, rounded)
    groups = taken_up(x, k, grid)
    oracle.check(groups, grid)
    losses = [groups.costs.sum()]
    for step in (descend_everywhere, dissolve_everywhere):
        step(groups)
        oracle.check(groups, grid)
        losses.append(groups.costs.sum())
    assert losses == sorted(losses, reverse=True)
    for _ in range(200 if COMPILED else 12):
        anneal(groups, 1, 0.3)
        oracle.check(groups, grid)
        losses.append(groups.costs.sum())
    assert losses != sorted(losses, reverse=True)  # at this temperature, losses are kept, too


def test_at_no_temperature_only_savings_are_kept() -> None:
    groups = taken_up(table(1), 3, None)
    losses = []
    for _ in range(60 if COMPILED else 8):
        losses.append(groups.costs.sum())
        anneal(groups, 1, 0.0)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_a_round_that_would_change_too_many_groups_is_given_up() -> None:
    x = table(2)
    groups = taken_up(x, 2, None)
    ruin(groups, 0)
    groups.counts[TOUCHED] = JOURNAL
    assert not recreate(groups, np.int64(0), 0.0)


def test_a_full_journal_ends_the_moves_of_a_round() -> None:
    # the whole table is one neighbourhood, and far from settled
    x = np.random.default_rng(0).normal(size=(400, 2))
    groups = groups_of(x, neighbours(x, 20), np.arange(400) // 2, 2, None, 0)
    for _ in range(3):
        anneal(groups, 1, 1e9)
        assert groups.counts[TOUCHED] <= JOURNAL
        oracle.check(groups, None)


@grids
@pytest.mark.parametrize("k", [2, 3])
def test_small_tables_are_grouped_as_well_as_can_be(k: int, rounded: bool) -> None:
    for seed in range(12 if COMPILED else 2):
        x = table(seed, n=9, d=2)
        grid = grid_for(x, rounded)
        found = loss_of(x, search(x, mdav(x, k), k, grid, iterations=300), grid)
        assert found == pytest.approx(oracle.least_loss(x, k, grid), abs=1e-9)


@given(problem=problems(), rounded=st.booleans(), seed=st.integers(0, 9))
def test_a_search_never_loses_more_than_its_start(
    problem: tuple[Matrix, int], rounded: bool, seed: int
) -> None:
    x, k = problem
    grid = grid_for(x, rounded)
    start = np.zeros(len(x), dtype=np.int64) if seed % 2 else mdav(x, k)
    found = best(x, k, grid, start.copy(), Budget(iterations=20), seed=seed)
    before, after = loss_of(x, start, grid), loss_of(x, found, grid)
    assert after <= before * (1.0 + 1e-12)
    assert after == before or np.bincount(found).max() < 2 * k


def test_groups_large_enough_for_two_are_split_before_the_search() -> None:
    found = search(table(8), np.zeros(40, dtype=np.int64), 3, iterations=0)
    assert np.bincount(found).max() < 6


def test_iterations_give_the_same_groups_and_seeds_others() -> None:
    x = table(5, n=200)
    found = [best(x, 4, budget=Budget(iterations=40), seed=seed).tolist() for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_the_budget_that_is_spent_first_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    x = table(6)
    # a clock on which a second passes between any two looks at it
    clock = SimpleNamespace(monotonic=itertools.count().__next__)
    monkeypatch.setattr(search_module, "time", clock)
    monkeypatch.setattr(search_module, "SLICE", 5)
    told: list[tuple[int, float]] = []

    def watch(made: int, share: float, found: Found | None = None, /) -> None:
        told.append((made, share))

    best(x, 3, budget=Budget(iterations=0), watch=watch)
    assert told == [(0, 1.0)]
    best(x, 3, budget=Budget(iterations=7, seconds=1e9), watch=watch)
    assert told[-1] == (7, 1.0)
    for chains in (1, 2):
        for iterations in (10**9, None):
            told.clear()
            best(x, 3, budget=Budget(iterations, seconds=3.0), watch=watch, chains=chains)
            assert [made for made, _ in told] == [0, 5 * chains, 10 * chains]
            assert [share for _, share in told] == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_the_default_budget_grows_with_groups_up_to_a_limit() -> None:
    assert default_iterations(30, 3) == 400
    assert default_iterations(4000, 10) == 31_200
    assert default_iterations(100_000, 3) == 666_666


def test_cutting_anew_finds_what_moves_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    x = table(32, n=60, d=2)
    start = np.arange(60) // 5
    cut = loss_of(x, search(x, start, 5, iterations=0))
    monkeypatch.setattr(search_module, "RECUT_ROWS", 0)
    assert cut < 0.98 * loss_of(x, search(x, start, 5, iterations=0))


@grids
def test_one_column_is_cut_at_the_least_loss(rounded: bool) -> None:
    x = np.random.default_rng(3).integers(0, 30, (9, 1)).astype(float)
    grid = Grid(np.zeros(1), np.ones(1), np.array([True])) if rounded else None
    found = loss_of(x, best(x, 3, grid), grid)
    assert found == pytest.approx(oracle.least_loss(x, 3, grid))


@pytest.mark.parametrize("copies", [1, 9])
def test_neighbours_are_the_nearest_others(copies: int) -> None:
    x = np.repeat(np.random.default_rng(1).normal(size=(30, 2)), copies, axis=0)
    near: Labels = neighbours(x, 5)
    squares = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    assert (near != np.arange(len(x))[:, np.newaxis]).all()
    found = np.take_along_axis(squares, near, axis=1)
    np.testing.assert_array_equal(found, np.sort(squares, axis=1)[:, :5])
