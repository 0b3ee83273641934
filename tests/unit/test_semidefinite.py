"""The semidefinite bound, against all partitions of tiny tables and in exact arithmetic."""

import math
import os
from collections import OrderedDict
from fractions import Fraction

import numba
import numpy as np
import pytest

from algorithms.bounds import pairs as pairs_module
from algorithms.bounds import semidefinite, strongest
from algorithms.bounds.clusters import Clusters
from algorithms.bounds.eigen import negative_part
from algorithms.bounds.pairs import Pairs, near_pairs
from algorithms.bounds.semidefinite import Ascent, patch_rows, semidefinite_bound
from algorithms.bounds.stars import Stars
from algorithms.bounds.strongest import strongest_bound
from algorithms.types import Matrix
from tests.oracles import bounds as oracle
from tests.oracles import mixed, shares
from tests.unit.test_mixed_bounds import table as mixed_table

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Price inequalities early, so that few rounds are enough."""
    monkeypatch.setattr(semidefinite, "CUTS_FROM", 6)
    monkeypatch.setattr(semidefinite, "CUTS_EVERY", 4)


def tables(rng: np.random.Generator, count: int, n: int) -> list[Matrix]:
    """Draw tables without structure, with outliers, ties, copies and scales that differ."""
    d = int(rng.integers(1, 4))
    shape = (count, n, d)
    return [
        rng.normal(size=shape),
        rng.standard_cauchy(shape),
        rng.integers(0, 3, shape).astype(np.float64),
        np.repeat(rng.normal(size=(count, (n + 1) // 2, d)), 2, axis=1)[:, :n],
        rng.normal(size=shape) * 10.0 ** rng.integers(-4, 5, (count, n, 1)),
        np.zeros(shape),
    ]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 25])
def test_the_negative_part_is_that_of_all_eigenvalues(n: int) -> None:
    rng = np.random.default_rng(n)
    whole = rng.normal(size=(n, n))
    low = rng.normal(size=(n, 2))
    for matrix in (
        whole + whole.T,
        low @ low.T,
        -low @ low.T,
        np.ones((n, n)) - 2.0 * np.eye(n),
        np.diag(rng.normal(size=n)),
        np.zeros((n, n)),
    ):
        values, vectors = np.linalg.eigh(matrix)
        expected = (vectors * np.minimum(values, 0.0)) @ vectors.T
        found = matrix.copy()
        total = negative_part(found)
        size = abs(matrix).max() + 1e-300
        np.testing.assert_allclose(found, expected, atol=1e-13 * n * size)
        assert total == pytest.approx(np.minimum(values, 0.0).sum(), abs=1e-12 * n * size)
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize(("n", "k"), [(4, 2), (4, 3), (6, 3), (7, 2), (8, 3), (8, 4)])
def test_the_bound_is_never_above_the_optimum(soon: None, n: int, k: int) -> None:
    rng = np.random.default_rng([n, k])
    ratios = []
    for kind in tables(rng, 60 if COMPILED else 1, n):
        for x, least in zip(kind, oracle.least_sse(kind, k), strict=True):
            rounds, patch = int(rng.integers(1, 50)), int(rng.integers(k, n + 1))
            bound, done = semidefinite_bound(x, k, rounds=rounds, patch=patch)
            assert done <= rounds
            assert bound <= least
            if least > 0.0:
                ratios.append(bound / least)
    if COMPILED and n % k == 0:
        assert max(ratios) > 0.999


def test_the_bound_is_that_of_exact_arithmetic(soon: None) -> None:
    rng = np.random.default_rng(8)
    n, k = 7, 3
    for kind in tables(rng, 2 if COMPILED else 1, n):
        for x in kind:
            for patch in (4, n):
                ascent = Ascent(x, k, patch=patch)
                for _ in range(20):
                    ascent.advance()
                pairs = ascent.pairs
                rows = np.repeat(np.arange(n), np.diff(pairs.starts))
                altered = half = shares.half_squares(x)
                charges = np.zeros((n, n))
                charges[rows, pairs.others] = ascent.charges
                changed = np.zeros((n, n))
                changed[rows, pairs.others] = ascent.altered()[0] - pairs.costs - ascent.charges
                parts = shares.exact(changed)
                # the antisymmetric part, and S, which is semidefinite
                antisymmetric = [
                    [(parts[i][j] - parts[j][i]) / 2 for j in range(n)] for i in range(n)
                ]
                s = [[-(parts[i][j] + parts[j][i]) / 2 for j in range(n)] for i in range(n)]
                slack = Fraction(1e-12) * (1 + max(abs(v) for row in half for v in row))
                for i in range(n):
                    s[i][i] += slack
                assert shares.is_semidefinite(s)
                for i in range(n):
                    s[i][i] -= slack
                priced = shares.exact(charges)
                assert all(priced[i][j] == priced[j][i] for i in range(n) for j in range(n))
                altered = [
                    [half[i][j] + antisymmetric[i][j] - s[i][j] + priced[i][j] for j in range(n)]
                    for i in range(n)
                ]
                limits = sum(map(Fraction, ascent.clusters.limits().tolist()), Fraction(0))
                exact = shares.least_of_rows(altered, k) - limits
                assert ascent.bound() <= max(exact, 0)
                if patch == n:  # otherwise pairs that are not listed count less than they cost
                    expected = max(float(exact), 0.0)
                    assert ascent.bound() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def random_shares(rng: np.random.Generator, pairs: Pairs) -> Matrix:
    """Draw shares that no partition has: symmetric, for the pairs that are listed."""
    some = 0.8 * rng.uniform(0.0, 1.0, pairs.costs.size) ** 3
    drawn: Matrix = (some + some[pairs.mirror]) / 2.0
    drawn[pairs.itself] = rng.uniform(0.3, 0.5, pairs.itself.size)
    return drawn


@pytest.mark.parametrize(("n", "k"), [(5, 2), (7, 2), (7, 3), (8, 3)])
def test_every_partition_satisfies_all_inequalities(n: int, k: int) -> None:
    rng = np.random.default_rng([n, k])
    partitions = [shares.shares_of(labels) for labels in mixed.every_partition(n, k)]
    found = {}
    for _ in range(20 if COMPILED else 10):
        pairs = near_pairs(rng.normal(size=(n, 2)), k, n)
        drawn = random_shares(rng, pairs)
        for name, some in {"clusters": Clusters(k), **{a: Stars(a) for a in (2, 3, 4)}}.items():
            some.renew(pairs, drawn)
            found[name] = found.get(name, 0) + some.prices.size
            some.prices = rng.uniform(0.0, 1.0, some.prices.size)
            charges = np.zeros(pairs.costs.size)
            some.charge(pairs, charges)
            limit = some.limits().sum() if isinstance(some, Clusters) else 0.0
            # every pair is listed, row by row
            assert all((charges.reshape(n, n) * z).sum() <= limit + 1e-12 for z in partitions)
            # and they are those that the shares violate
            assert (drawn @ charges) > limit or not some.prices.size
    assert all(found.values())


def test_the_limit_of_a_cluster_is_reached_by_a_partition() -> None:
    for k in (2, 3, 4):
        clusters = Clusters(k)
        for size in range(k + 1, 4 * k):
            if size % k == 0:
                continue
            clusters.rows = np.full((1, 5 * k), -1, dtype=np.int64)
            clusters.rows[0, :size] = np.arange(size)
            clusters.sizes, clusters.prices = np.array([size]), np.ones(1)
            # groups within the cluster alone: k records each, the last group has the others too
            z = shares.shares_of([min(row // k, size // k - 1) for row in range(size)])
            left = np.trace(z) + z.sum() / (k - size % k)
            assert left == pytest.approx(clusters.limits()[0])


@pytest.mark.parametrize("arms", [2, 3, 4])
def test_stars_are_those_that_are_violated_most(arms: int) -> None:
    rng = np.random.default_rng(3)
    n = 9
    pairs = near_pairs(rng.normal(size=(n, 2)), 3, n)
    drawn = random_shares(rng, pairs)
    z = drawn.reshape(n, n)
    stars = Stars(arms)
    stars.renew(pairs, drawn)
    expected = set()
    for i in range(n):
        grown = sorted(shares.grown_stars(z, i, arms).items(), key=lambda star: -star[1])[:30]
        expected |= {(i, *star) for star, violation in grown if violation > 0.05 * z[i, i]}
    assert expected
    # the centre's share of itself, and then those of the arms
    found = {tuple(places) for places in (stars.places[:, : arms + 1] % n).tolist()}
    assert found == expected
    stars.prices[0] = 1.0
    kept = stars.places[0].copy()
    stars.renew(pairs, np.zeros(n * n))
    np.testing.assert_array_equal(stars.places, [kept])


def test_shares_of_rows_are_those_that_cost_least() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30 if COMPILED else 3):
        k = int(rng.integers(2, 5))
        n = int(rng.integers(2 * k, 12))
        cost, target = rng.exponential(size=(n, n)), rng.normal(0.0, 0.3, (n, n))
        stiff = rng.uniform(0.5, 20.0, (n, n))
        found, prices = np.full((n, n), 1.0 / n), rng.normal(size=n)
        semidefinite._share(
            np.arange(n + 1) * n, np.arange(n) * (n + 1), cost.ravel(), stiff.ravel(),
            target.ravel(), k, found.ravel(), prices, 0, n,
        )  # fmt: skip
        for row in range(n):
            expected = shares.closest_shares(cost[row], target[row], stiff[row], row, k)
            np.testing.assert_allclose(found[row], expected, atol=2e-5)


@pytest.mark.parametrize("size", [4, 12, 40])
@pytest.mark.parametrize("neighbours", [0, 2**22])
def test_pairs_hold_all_patches_and_know_what_is_outside(
    size: int, neighbours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_module, "PAIRS_IN_ALL", neighbours)
    rng = np.random.default_rng(size)
    for x in (rng.normal(size=(40, 2)), np.repeat(rng.normal(size=(10, 2)), 4, axis=0)):
        pairs = near_pairs(x, 3, size)
        costs = oracle.squares(x) / 2.0
        rows = np.repeat(np.arange(40), np.diff(pairs.starts))
        np.testing.assert_allclose(pairs.costs, costs[rows, pairs.others], atol=1e-12)
        np.testing.assert_array_equal(rows[pairs.mirror], pairs.others)
        np.testing.assert_array_equal(pairs.others[pairs.mirror], rows)
        np.testing.assert_array_equal(pairs.others[pairs.itself], np.arange(40))
        assert set(pairs.patches.ravel()) == set(range(40))
        for patch, places in zip(pairs.patches, pairs.places, strict=True):
            np.testing.assert_array_equal(rows[places], np.tile(patch, (size, 1)).T)
            np.testing.assert_array_equal(pairs.others[places], np.tile(patch, (size, 1)))
        costs[rows, pairs.others] = np.inf
        assert (pairs.outside <= costs.min(axis=1)).all()


def test_rows_far_away_are_listed_by_those_that_have_them_within_reach() -> None:
    x = np.vstack([np.random.default_rng(1).normal(size=(30, 2)), [[90.0, 0.0]]])
    pairs = near_pairs(x, 3, 5)
    outlier = pairs.others[pairs.starts[30] :]
    assert all(30 in pairs.others[pairs.starts[row] : pairs.starts[row + 1]] for row in outlier)


@pytest.mark.parametrize("k", [2, 3])
def test_a_bound_with_labels_is_never_above_the_best_as_published(soon: None, k: int) -> None:
    rng = np.random.default_rng(k)
    ratios = []
    for number in range(120 if COMPILED else 4):
        columns = mixed_table(rng, 6 + number % 3)
        least = mixed.least_gower_like_loss(columns, k)
        x = mixed.embedded(columns)
        one_label = (mixed.embedded(columns, 2.0) != x).any(axis=0)
        bound = semidefinite_bound(x, k, rounds=30, patch=len(x), one_label=one_label)[0]
        assert bound <= least * (1.0 + 1e-12)
        strongest = strongest_bound(x, k, rounds=5, one_label=one_label)
        assert strongest.value <= least * (1.0 + 1e-9)
        if least > 0.0:
            ratios.append(bound / least)
    if COMPILED:
        assert max(ratios) > 0.99


@pytest.mark.skipif(not COMPILED, reason="long in plain Python")
def test_the_number_of_threads_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).standard_t(3, size=(700, 3))
    bounds = set()
    for threads in (1, 2, 5):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
        bounds.add(semidefinite_bound(x, 3, rounds=60, patch=20)[0])
    assert len(bounds) == 1


def test_the_bound_rises_with_rounds_and_ends_when_it_hardly_does(
    soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(2).normal(size=(60 if COMPILED else 9, 2))
    found = [semidefinite_bound(x, 3, rounds=rounds)[0] for rounds in (1, 5, 20, 40)]
    assert found[0] < found[1] < found[2] < found[3]
    monkeypatch.setattr(semidefinite, "CHECK_EVERY", 5)
    monkeypatch.setattr(semidefinite, "LEAST_RISE", 1.0)
    value, rounds = semidefinite_bound(x, 3, rounds=1000)
    assert value > 0.0
    assert rounds == 20


def test_what_has_no_loss_has_no_bound() -> None:
    assert semidefinite_bound(np.ones((9, 2)), 3, rounds=5) == (0.0, 5)
    assert semidefinite_bound(np.arange(9.0).reshape(9, 1), 1, rounds=5) == (0.0, 0)
    assert semidefinite_bound(np.ones((2, 2)), 3, rounds=5) == (0.0, 0)


def test_patches_are_larger_in_small_tables_and_for_large_groups() -> None:
    assert [patch_rows(n, 10) for n in (100, 4_000, 1_000_000)] == [300, 150, 80]
    assert [patch_rows(100, k) for k in (2, 5, 50)] == [60, 150, 400]


def test_the_strongest_bound_names_its_proof() -> None:
    x = np.random.default_rng(4).normal(size=(30 if COMPILED else 8, 2))
    plain, raised = strongest_bound(x, 3), strongest_bound(x, 3, rounds=25)
    assert plain.proof == "by nearest neighbours"
    assert plain.value == pytest.approx(oracle.neighbour_bound(x, 3))
    assert raised.value > plain.value
    assert raised.proof == "by a semidefinite programme, in 25 rounds"
    assert math.isfinite(raised.value)


def test_a_bound_is_proven_once_for_the_same_records_and_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = []

    def counted(x: Matrix, k: int, *, rounds: int, one_label: object) -> tuple[float, int]:
        runs.append((len(x), k, rounds))
        return 1e9, rounds

    monkeypatch.setattr(strongest, "semidefinite_bound", counted)
    monkeypatch.setattr(strongest, "_remembered", OrderedDict())
    monkeypatch.setattr(strongest, "REMEMBERED", 3)
    x = np.random.default_rng(4).normal(size=(8, 2))
    for some, k, rounds in ((x, 2, 5), (x, 2, 5), (x + 1.0, 2, 5), (x, 3, 5), (x, 2, 6)):
        assert strongest_bound(some, k, rounds=rounds).value == 1e9
    assert runs == [(8, 2, 5), (8, 2, 5), (8, 3, 5), (8, 2, 6)]
    strongest_bound(x, 2, rounds=5)
    assert len(runs) == 5


def test_larger_tables_have_the_bound_by_weighted_distances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strongest, "LARGEST_SEMIDEFINITE", 7)
    x = np.random.default_rng(4).normal(size=(8, 2))
    assert strongest_bound(x, 2, rounds=5).proof == "by weighted distances"
