"""Bounds for records with weights, against all partitions and all sets of other rows."""

import itertools
import os
from dataclasses import replace

import numpy as np
import pytest

from algorithms.attributes import Number
from algorithms.attributes.category import Category
from algorithms.bounds.distances import neighbour_bound, weighted_bound
from algorithms.bounds.record_weights import record_weight_bound
from algorithms.bounds.strongest import RECORD_WEIGHT_ROUNDS, strongest_bound
from algorithms.comparison import Comparison
from algorithms.evaluation import evaluate
from algorithms.masking import Plan, mask, published_loss
from algorithms.microaggregation import METHODS
from algorithms.table import Stratum, Table
from algorithms.types import Matrix, Partition
from algorithms.utility.bound_curve import bound_curve
from tests.oracles import bounds as oracle
from tests.oracles import mixed

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
ROUNDS = 100 if COMPILED else 10


def weights_of(rng: np.random.Generator, n: int) -> list[Matrix]:
    """Draw equal weights, weights of a sample, and weights of which a few dwarf all others."""
    return [np.full(n, rng.uniform(0.1, 9.0)), rng.uniform(0.5, 3.0, n), rng.lognormal(0.0, 3.0, n)]


def tables(rng: np.random.Generator, count: int, n: int) -> Matrix:
    """Draw tables with ties, without, and with outliers."""
    shape = (count, n, 2)
    ties = rng.integers(0, 3, shape).astype(np.float64)
    return np.concatenate([ties, rng.normal(size=shape), rng.standard_cauchy(shape)])


def slow_bound(x: Matrix, weights: Matrix, k: int) -> float:
    """Try all sets of other rows, for each row."""
    n, squares, bound = len(x), oracle.squares(x), 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        averages = [
            sum(weights[j] * squares[i, j] for j in chosen)
            / (weights[i] + sum(weights[j] for j in chosen))
            for size in range(k - 1, n)
            for chosen in itertools.combinations(others, size)
        ]
        bound += weights[i] * min(averages) / 2.0
    return float(bound)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_bound_exceeds_the_best_of_all_weighted_partitions(k: int) -> None:
    rng = np.random.default_rng(k)
    ratios = []
    for n in range(k, 10):
        for weights in weights_of(rng, n):
            drawn = tables(rng, 20 if COMPILED else 1, n)
            for x, least in zip(drawn, oracle.least_sse(drawn, k, weights), strict=True):
                plain = record_weight_bound(x, weights, k)
                found = [
                    record_weight_bound(x, weights, k, rounds=ROUNDS, listed=n),
                    record_weight_bound(x, weights, k, rounds=ROUNDS, listed=k - 1),
                    record_weight_bound(x, weights, k, listed=0),
                    plain,
                ]
                assert max(found) <= least * (1.0 + 1e-9) + 1e-12
                assert found[0] >= record_weight_bound(x, weights, k, listed=n)
                ratios.append(found[0] / least if least else 1.0)
    assert np.median(ratios) > 0.5


@pytest.mark.parametrize("k", [2, 3])
def test_equal_shares_equal_the_slow_twin(k: int) -> None:
    rng = np.random.default_rng(k)
    for n in range(k, 8):
        for weights in weights_of(rng, n):
            for x in tables(rng, 3 if COMPILED else 1, n):
                found = record_weight_bound(x, weights, k, listed=n)
                assert found == pytest.approx(slow_bound(x, weights, k), rel=1e-9)
                assert record_weight_bound(x, weights, k) <= found * (1.0 + 1e-12)


def test_equal_weights_give_the_bounds_without_weights() -> None:
    x = np.random.default_rng(1).standard_t(2, size=(300 if COMPILED else 40, 3))
    for k in (1, 2, 5):
        for weight in (1.0, 7.5):
            weights = np.full(len(x), weight)
            near = weight * neighbour_bound(x, k)
            assert record_weight_bound(x, weights, k) == pytest.approx(near, rel=1e-9)
            shared = weight * weighted_bound(x, k, rounds=ROUNDS)
            found = record_weight_bound(x, weights, k, rounds=ROUNDS)
            assert found == pytest.approx(shared, rel=2e-3 if COMPILED else 0.2)


def test_weights_count_by_their_ratios() -> None:
    rng = np.random.default_rng(5)
    x, weights = rng.normal(size=(30, 2)), rng.lognormal(0.0, 1.0, 30)
    bound = record_weight_bound(x, weights, 3, rounds=ROUNDS)
    for factor in (1e-290, 1e290):
        scaled = record_weight_bound(x, factor * weights, 3, rounds=ROUNDS)
        assert scaled == pytest.approx(factor * bound, rel=1e-6)
    weights[:5] = 5e-324
    assert 0.0 < record_weight_bound(x, 1e9 * weights, 3, rounds=ROUNDS) < np.inf


def test_a_table_of_fewer_than_k_rows_has_no_bound() -> None:
    assert record_weight_bound(np.arange(3.0)[:, np.newaxis], np.ones(3), 4) == 0.0


def test_more_neighbours_and_rounds_prove_more() -> None:
    rng = np.random.default_rng(2)
    x, weights = rng.normal(size=(60, 2)), rng.lognormal(0.0, 1.0, 60)
    few = record_weight_bound(x, weights, 3, rounds=ROUNDS, listed=4)
    many = record_weight_bound(x, weights, 3, rounds=ROUNDS)
    assert record_weight_bound(x, weights, 3) < many
    assert few < many
    assert strongest_bound(x, 3, weights=weights).proof == "by nearest neighbours"
    strongest = strongest_bound(x, 3, rounds=1, weights=weights)
    assert strongest.proof == "by weighted distances"
    assert strongest.value >= 0.99 * many


def mixed_table(rng: np.random.Generator, n: int) -> Table:
    """Draw a table with labels, numbers and weights."""
    label = Category("label", tuple("abc"))
    keys = rng.integers(0, 3, n), rng.standard_cauchy(n)
    return Table((label, Number("number")), keys, weights=rng.lognormal(0.0, 1.0, n))


def test_no_bound_exceeds_what_published_labels_and_averages_lose() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60 if COMPILED else 4):
        table = mixed_table(rng, 7)
        assert table.weights is not None
        least = min(
            published_loss(table, Partition(np.array(labels), 2))
            for labels in mixed.every_partition(7, 2)
        )
        x = table.embedding.x
        for rounds in (0, ROUNDS):
            bound = record_weight_bound(x, table.weights, 2, rounds=rounds)
            assert bound <= least * (1.0 + 1e-9) + 1e-12


def test_a_certificate_and_a_curve_add_up_weighted_strata_and_withheld_records() -> None:
    rng = np.random.default_rng(4)
    table = replace(mixed_table(rng, 41), strata=(Stratum("zone", np.arange(41) // 20),))
    assert table.weights is not None
    plan = Plan(k=3, method=METHODS["mdav"], small_strata="withhold")
    files = Comparison(mask(table, plan))
    centre = table.weights @ table.embedding.x / table.weights.sum()
    squares = table.weights * ((table.embedding.x - centre) ** 2).sum(axis=1)
    for rounds in (0, 5):
        found = evaluate(files, ("il", "il_bound", "rounding"), {"bound_rounds": rounds})
        steps = RECORD_WEIGHT_ROUNDS if rounds else 0
        parts = [
            record_weight_bound(table.embedding.x[rows], table.weights[rows], 3, rounds=steps)
            for rows in (slice(0, 20), slice(20, 40))
        ]
        expected = 100.0 * (sum(parts) + squares[40]) / squares.sum()
        assert found.exact["il_bound"] == pytest.approx(expected, rel=1e-9)
        assert found.exact["il_bound"] < found.exact["il"]
        curve = bound_curve(table, [2, 3], "withhold", rounds=rounds)
        assert curve.least[3] == pytest.approx(expected, rel=1e-3)
        assert curve.least[3] <= expected
        weighted = "by weighted distances, since records have weights"
        assert curve.note == (weighted if rounds else "")
    assert "by weighted distances" in found.certificate
