"""Bounds of mixed tables against all partitions as published, and medians of trees."""

import math
import os

import numpy as np
import pytest

from algorithms.bounds.distances import neighbour_bound, weighted_bound
from tests.oracles import mixed

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
ROUNDS = 400 if COMPILED else 20


def table(rng: np.random.Generator, n: int) -> list[mixed.Column]:
    """Draw a table of at least one category and some numbers, with ties and outliers."""
    columns: list[mixed.Column] = []
    for _ in range(rng.integers(1, 4)):
        shares = rng.dirichlet(np.full(rng.integers(2, 6), rng.choice([0.3, 1.0, 10.0])))
        columns.append(("category", [str(code) for code in rng.choice(shares.size, n, p=shares)]))
    for _ in range(rng.integers(0, 3)):
        draws = [rng.integers(0, 3, n), rng.normal(size=n), rng.standard_cauchy(n)]
        columns.append(("number", draws[rng.integers(3)].astype(np.float64).tolist()))
    return columns


@pytest.mark.parametrize("k", [2, 3])
def test_bounds_with_stretched_categories_never_exceed_the_best_as_published(k: int) -> None:
    rng = np.random.default_rng(k)
    stretch = math.sqrt(k / (k - 1))
    ratios = []
    for number in range(240 if COMPILED else 12):
        columns = table(rng, 6 + number % 4)
        least = mixed.least_gower_like_loss(columns, k)
        x = mixed.embedded(columns, stretch)
        bounds = neighbour_bound(x, k), weighted_bound(x, k, rounds=ROUNDS)
        assert max(bounds) <= least * (1.0 + 1e-9) + 1e-12
        assert bounds[1] >= weighted_bound(mixed.embedded(columns), k, rounds=ROUNDS) - 1e-12
        if least > 0.0:
            ratios.append(bounds[1] / least)
    assert max(ratios) > 0.99


@pytest.mark.parametrize(("n", "k", "count"), [(4, 1, 15), (6, 2, 41), (9, 2, 3425), (9, 3, 491)])
def test_every_partition_is_listed_once(n: int, k: int, count: int) -> None:
    partitions = list(mixed.every_partition(n, k))
    assert len(partitions) == len({tuple(labels) for labels in partitions}) == count
    assert all(np.bincount(labels).min() >= k for labels in partitions)


def test_the_least_loss_is_that_of_the_best_partition() -> None:
    rng = np.random.default_rng(9)
    for _ in range(5):
        columns = table(rng, 6)
        losses = [mixed.gower_like_loss(columns, labels) for labels in mixed.every_partition(6, 2)]
        assert mixed.least_gower_like_loss(columns, 2) == pytest.approx(min(losses))


def test_the_loss_of_modes_is_the_squared_distance_in_the_embedding() -> None:
    columns: list[mixed.Column] = [
        ("category", list("aabac")),
        ("number", [1.0, 2.0, 3.0, 5.0, 9.0]),
    ]
    x = mixed.embedded(columns)
    published = np.vstack([[x[0]] * 3, [x[3]] * 2])
    published[:, -1] = [x[:3, -1].mean()] * 3 + [x[3:, -1].mean()] * 2
    loss = mixed.gower_like_loss(columns, [0, 0, 0, 1, 1])
    assert loss == pytest.approx(((x - published) ** 2).sum())
    assert ((x - x.mean(axis=0)) ** 2).sum() == pytest.approx(2 * 4)


def test_the_median_of_a_tree_is_its_best_node() -> None:
    rng = np.random.default_rng(4)
    for _ in range(400):
        depth, count = int(rng.integers(1, 5)), int(rng.integers(1, 9))
        paths = [
            tuple(
                str(code)
                for code in rng.integers(0, rng.integers(1, 4), rng.integers(1, depth + 1))
            )
            for _ in range(count)
        ]
        level_weights = rng.uniform(0.1, 2.0, depth).tolist()
        weights = rng.uniform(0.1, 3.0, count).tolist() if rng.integers(2) else None
        median = mixed.tree_median(paths, weights)
        best = mixed.best_node(paths, level_weights, weights)
        losses = [mixed.node_loss(paths, node, level_weights, weights) for node in (median, best)]
        assert losses[0] == pytest.approx(losses[1])


def test_the_median_of_a_tree_ends_where_no_child_holds_more_than_half() -> None:
    paths = [("I", "I21", f"I21.{digit}") for digit in "014"] + [("I", "I25", "I25.1")]
    assert mixed.tree_median(paths) == ("I", "I21")
    assert mixed.tree_median(paths[2:]) == ("I",)
    assert mixed.tree_median(paths, [1.0, 1.0, 1.0, 4.0]) == ("I", "I25", "I25.1")
    assert mixed.tree_median([("A",), ("B",)]) == ()
