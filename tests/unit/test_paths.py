"""Paths that a tree finds, beside those found by looking at all records; and tours."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.cutting import cut_path
from algorithms.orderings.npn import npn
from algorithms.orderings.tsp import _shorten_at, cut_on, lay, nearest_others, tsp
from algorithms.search import tree
from algorithms.search.paths import nearest_next
from algorithms.types import Matrix
from tests.oracles import paths as oracle
from tests.problems import matrices

COMPILED = not numba.config.DISABLE_JIT
MANY = 3000 if COMPILED else 120


def tables(n: int) -> list[Matrix]:
    """Make tables that trees find easy, hard, and full of ties."""
    rng = np.random.default_rng(n)
    return [
        rng.lognormal(0.0, 1.5, (n, 3)),
        rng.integers(0, 4, (n, 5)) / 2.0,
        np.repeat(rng.normal(size=(n // 10, 2)), 10, axis=0),
    ]


@given(x=matrices())
def test_the_nearest_is_next(x: Matrix) -> None:
    assert nearest_next(x, 0).tolist() == oracle.nearest_next(x, 0)


def test_the_nearest_is_next_among_many() -> None:
    for x in tables(MANY):
        assert nearest_next(x, 7).tolist() == oracle.nearest_next(x, 7)


def test_the_path_starts_farthest_from_the_centroid() -> None:
    x = np.array([[0.0, 0.0], [5.0, 5.0], [1.0, 0.0], [-9.0, 0.0], [0.0, 1.0]])
    assert npn(x)[0] == 3
    assert npn(x).tolist() == oracle.nearest_next(x, 3)


@given(x=matrices(), seed=st.integers(0, 5))
def test_what_was_removed_is_not_found(x: Matrix, seed: int) -> None:
    rng = np.random.default_rng(seed)
    index = tree.build(x, np.arange(len(x)))
    left = np.ones(len(x), dtype=bool)
    rows, squares = np.empty(3, dtype=np.int64), np.empty(3)
    for row in rng.permutation(len(x)):
        point = x[row] + 0.25
        found = tree.nearest(index, point, rows, squares)
        expected = oracle.nearest(x, left, point, 3)
        assert rows[:found].tolist() == expected
        assert squares[:found].tolist() == oracle.squares(x[expected], point).tolist()
        tree.remove(index, row)
        left[row] = False
    assert tree.nearest(index, x[0], rows, squares) == 0


def test_a_tree_holds_only_the_rows_it_is_given() -> None:
    x = np.arange(100.0).reshape(-1, 1)
    index = tree.build(x, np.arange(0, 100, 7))
    rows, squares = np.empty(2, dtype=np.int64), np.empty(2)
    assert tree.nearest(index, np.array([13.2]), rows, squares) == 2
    assert rows.tolist() == [14, 7]


@pytest.mark.parametrize("k", [2, 3])
def test_a_tour_is_shorter_than_its_start_and_is_cut_better(k: int) -> None:
    x = np.random.default_rng(k).normal(size=(400 if COMPILED else 40, 3))
    short = tsp(x, k, recuts=0)
    assert oracle.tour_length(x[short]) < 0.95 * oracle.tour_length(x[npn(x)])
    assert cut_path(x[tsp(x, k)], k)[1] < cut_path(x[short], k)[1] < cut_path(x[npn(x)], k)[1]


def test_no_two_edges_of_a_tour_are_better_exchanged() -> None:
    x = np.random.default_rng(1).normal(size=(30, 2))
    order = tsp(x, 2, recuts=0)
    rows = [*order.tolist(), int(order[0])]

    def length(a: int, b: int) -> float:
        return float(np.sqrt(((x[a] - x[b]) ** 2).sum()))

    for i in range(len(rows) - 1):
        for j in range(i + 1, len(rows) - 1):
            a, b, c, d = rows[i], rows[i + 1], rows[j], rows[j + 1]
            now, exchanged = length(a, b) + length(c, d), length(a, c) + length(b, d)
            assert exchanged > now - 1e-9 or b == c or a == d


@given(x=matrices(least=4))
def test_a_move_gains_what_the_tour_gets_shorter_and_none_is_made_out_of_reach(x: Matrix) -> None:
    near, away = nearest_others(x, min(5, len(x) - 1))
    tour = lay(x, near, away, np.arange(len(x)))
    for row in range(len(x)):
        before = tour.order.copy()
        assert _shorten_at(tour, row, 0) == 0.0
        assert tour.order.tolist() == before.tolist()
        gain = _shorten_at(tour, row, len(x))
        assert tour.order[tour.place].tolist() == list(range(len(x)))
        shorter = oracle.tour_length(x[before]) - oracle.tour_length(x[tour.order])
        assert gain == pytest.approx(shorter, abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_losses_along_a_path_are_those_of_its_cuts(k: int) -> None:
    x = np.random.default_rng(k).normal(size=(40, 3))
    order = np.random.default_rng(k).permutation(40)
    cost = np.zeros(41)
    cut_on(x, order, k, cost, 0, 17)
    cut_on(x, order, k, cost, 17, 40)
    for places in range(k, 41):
        assert cost[places] == pytest.approx(cut_path(x[order[:places]], k)[1], abs=1e-9)


def test_a_tour_depends_on_its_seed_alone() -> None:
    x = np.random.default_rng(2).normal(size=(150 if COMPILED else 40, 3))
    first, again, other = (tsp(x, 3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert sorted(other.tolist()) == list(range(len(x)))


@given(x=matrices(least=6))
def test_opening_a_tour_at_its_best_place_never_loses_more(x: Matrix) -> None:
    for k in (1, 2, 3):
        best, longest = (
            cut_path(x[tsp(x, k, sweeps=1, recuts=1, opened=how)], k)[1]  # type: ignore[arg-type]
            for how in ("cyclic", "longest")
        )
        assert best <= longest + 1e-9
