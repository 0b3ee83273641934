"""Lower bounds on the loss, against all partitions and from all pairs."""

import os
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.bounds.distances import neighbour_bound, weighted_bound
from algorithms.search import neighbours
from algorithms.types import Matrix
from tests.oracles import bounds as oracle
from tests.problems import problems

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
ROUNDS = 400 if COMPILED else 20

Bound = Callable[[Matrix, int], float]


def tables(rng: np.random.Generator, count: int, n: int, d: int) -> Matrix:
    """Draw tables with ties, without, and with outliers."""
    shape = (count, n, d)
    drawn = [
        rng.integers(0, 4, shape).astype(np.float64),
        rng.normal(size=shape),
        rng.standard_cauchy(shape),
    ]
    return np.concatenate(drawn)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_bound_exceeds_the_best_of_all_partitions(k: int, d: int) -> None:
    rng = np.random.default_rng([k, d])
    for n in range(k, 10):
        drawn = tables(rng, 20 if COMPILED else 1, n, d)
        for x, least in zip(drawn, oracle.least_sse(drawn, k), strict=True):
            few = int(rng.integers(0, n))
            found = [
                neighbour_bound(x, k),
                weighted_bound(x, k, rounds=ROUNDS),
                weighted_bound(x, k, rounds=ROUNDS, neighbours=few),
            ]
            assert max(found) <= least * (1.0 + 1e-9) + 1e-12
            assert found[0] <= min(found[1:])


@given(problem=problems())
def test_the_neighbour_bound_equals_its_slow_twin(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    assert neighbour_bound(x, k) == pytest.approx(oracle.neighbour_bound(x, k), rel=1e-12)


@pytest.mark.parametrize("k", [2, 5, 30])
@pytest.mark.parametrize("digits", [1, 15])
def test_neighbours_are_found_across_leaves_and_blocks(
    k: int, digits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "LEAF", 16)
    monkeypatch.setattr(neighbours, "MOST_NEIGHBOURS_HELD", 2000)
    x = np.random.default_rng(k).lognormal(size=(150, 3)).round(digits)
    expected = oracle.neighbour_bound(x, k)
    assert neighbour_bound(x, k) == pytest.approx(expected, rel=1e-12)
    assert weighted_bound(x, k, rounds=0) == neighbour_bound(x, k)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(9))
def test_the_weighted_bound_comes_close_to_the_best_shares(k: int, seed: int) -> None:
    x = np.random.default_rng(seed).standard_t(3.0, size=(14 if COMPILED else 8, 2))
    best = oracle.best_weighted_bound(x, k)
    assert 0.999 * best <= weighted_bound(x, k) <= best * (1.0 + 1e-9)


def test_more_neighbours_and_rounds_come_closer() -> None:
    x = np.random.default_rng(0).standard_t(3.0, size=(60, 4))
    for_neighbours = [weighted_bound(x, 3, neighbours=count) for count in (2, 4, 8, 60)]
    for_rounds = [weighted_bound(x, 3, rounds=rounds) for rounds in (1, 8, 64)]
    assert for_neighbours == sorted(for_neighbours)
    assert for_rounds == sorted(for_rounds)


@given(problem=problems(), seed=st.integers(0, 9))
def test_the_order_of_the_rows_is_without_effect(problem: tuple[Matrix, int], seed: int) -> None:
    x, k = problem
    shuffled = np.random.default_rng(seed).permutation(x)
    assert neighbour_bound(shuffled, k) == neighbour_bound(x, k)
    assert weighted_bound(shuffled, k, rounds=9) == weighted_bound(x, k, rounds=9)


@given(problem=problems())
def test_bounds_grow_with_the_square_of_the_scale(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    assert neighbour_bound(4.0 * x, k) == 16.0 * neighbour_bound(x, k)
    assert weighted_bound(4.0 * x, k, rounds=9) == 16.0 * weighted_bound(x, k, rounds=9)


@given(problem=problems())
def test_more_than_k_equal_rows_cost_nothing(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    copies = np.concatenate([x, np.repeat(x[:1], k, axis=0)])
    more = np.concatenate([copies, np.repeat(x[:1], 3, axis=0)])
    assert neighbour_bound(more, k) == neighbour_bound(copies, k)
    assert weighted_bound(more, k, rounds=9) == weighted_bound(copies, k, rounds=9)


@pytest.mark.parametrize("bound", [neighbour_bound, weighted_bound])
def test_one_group_leaves_no_choice(bound: Bound) -> None:
    x = np.random.default_rng(1).normal(size=(6, 2))
    assert bound(x, 6) == pytest.approx(((x - x.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("bound", [neighbour_bound, weighted_bound])
def test_nothing_is_lost_without_groups_or_without_differences(bound: Bound) -> None:
    x = np.arange(6.0).reshape(3, 2)
    assert bound(x, 1) == 0.0
    assert bound(x, 4) == 0.0
    assert bound(np.ones((40, 2)), 3) == 0.0


def test_an_outlier_bears_the_cost_of_its_pairs() -> None:
    # equal shares leave the outlier half of its distance, while its neighbour has a closer one
    x = np.array([[0.0], [1.0], [101.0]])
    assert neighbour_bound(x, 2) == 0.25 + 0.25 + 2500.0
    assert weighted_bound(x, 2) == pytest.approx(5000.5, rel=1e-3)
