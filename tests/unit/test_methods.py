"""Methods and their kernels against slow twins, and by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.local_search.dissolve import dissolve_and_split
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.dbm import dbm, elbow
from algorithms.microaggregation.fcm import far_apart, fcm, move_centres, nearest_centres
from algorithms.microaggregation.kward import merge
from algorithms.microaggregation.mdav import mdav
from algorithms.microaggregation.mdav1 import mdav1
from algorithms.microaggregation.mu_approx import mu_approx, point_to_neighbours
from algorithms.search.pool import Pool, centroids_of
from algorithms.types import Matrix
from tests.oracles import methods as oracles
from tests.problems import problems

TWINS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("cbfs", {}, {}),
    ("cbfs", {"grow": "centroid"}, {"grow": "centroid"}),
    ("cvmdav", {}, {}),
    ("cvmdav", {"literal": True, "gamma": 2.0}, {"literal": True, "gamma": 2.0}),
    ("dba1", {}, {}),
    ("md", {}, {}),
    ("md", {"first": "higher"}, {"first": "higher"}),
    ("mdav1", {}, {}),
    ("mdav_generic", {}, {}),
    ("mst_md", {}, {}),
    ("multi_dsort", {}, {}),
    ("multi_dsort", {"sort": "once"}, {"sort": "once"}),
    ("ps", {}, {}),
    ("ps", {"grow": "seed"}, {"grow": "seed"}),
    ("tfrp1", {}, {}),
    ("vmdav", {"gamma": 0.9}, {"gamma": 0.9}),
    (
        "vmdav",
        {"gamma": 1.1, "squared": True, "tail": "neighbour"},
        {"gamma": 1.1, "squared_test": True, "tail": "neighbour"},
    ),
]
every_twin = pytest.mark.parametrize(
    ("name", "options", "twin_options"), TWINS, ids=lambda value: str(value)
)


@every_twin
@given(problem=problems())
def test_a_method_equals_its_slow_twin_on_ties(
    name: str,
    options: dict[str, Any],
    twin_options: dict[str, Any],
    problem: tuple[Matrix, int],
) -> None:
    x, k = problem
    found = METHODS[name].run(x, k, **options)
    assert found.tolist() == getattr(oracles, name)(x, k, **twin_options).tolist()


@every_twin
@pytest.mark.parametrize(("rows", "k"), [(90, 3), (71, 5), (60, 10)])
def test_a_method_equals_its_slow_twin_on_heavy_tails(
    name: str, options: dict[str, Any], twin_options: dict[str, Any], rows: int, k: int
) -> None:
    x = np.random.default_rng(rows).lognormal(size=(rows, 3))
    found = METHODS[name].run(x, k, **options)
    assert found.tolist() == getattr(oracles, name)(x, k, **twin_options).tolist()


def loss(x: Matrix, labels: Any) -> float:
    return float(((x - centroids_of(x, labels)[labels]) ** 2).sum())


@pytest.mark.parametrize("seed", range(20))
def test_refinement_equals_its_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    x = rng.lognormal(size=(int(rng.integers(2 * k, 60)), 2))
    start = mdav1(x, k) if seed % 2 else oracles.dba1(x, k)
    found = dissolve_and_split(x, start, k, split=mdav1)
    assert loss(x, found) == pytest.approx(oracles.refine(x, start, k, mdav1))
    assert np.bincount(found).min() >= k
    assert loss(x, found) <= loss(x, start) + 1e-9


def test_a_group_that_is_full_takes_no_more_rows() -> None:
    x = np.array([[0.0], [0.1], [0.2], [0.3]])
    labels = np.array([0, 0, 1, 1])
    assert dissolve_and_split(x, labels, 2, split=mdav1, largest=2).tolist() == [0, 0, 1, 1]


@given(problem=problems(), seed=st.integers(0, 99))
def test_ward_merges_as_its_slow_twin_does(problem: tuple[Matrix, int], seed: int) -> None:
    x, k = problem
    x = x + np.random.default_rng(seed).normal(size=x.shape) / 1000.0  # without ties
    groups = merge(x, np.arange(len(x)), k)
    found = sorted(np.flatnonzero(groups == g).tolist() for g in range(groups.max() + 1))
    assert found == oracles.ward(x, np.arange(len(x)), k)


@pytest.mark.parametrize("seed", range(6))
def test_ward_merges_many_rows_as_its_slow_twin_does(seed: int) -> None:
    x = np.random.default_rng(seed).lognormal(size=(30, 2))
    groups = merge(x, np.arange(30), 4)
    found = sorted(np.flatnonzero(groups == g).tolist() for g in range(groups.max() + 1))
    assert found == oracles.ward(x, np.arange(30), 4)


@given(problem=problems())
def test_a_forest_equals_its_slow_twin(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    if len(x) > k:
        assert point_to_neighbours(x.T.copy(order="C"), k).tolist() == oracles.forest(x, k).tolist()


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_mu_approx_groups_stay_below_2k(k: int) -> None:
    x = np.random.default_rng(k).lognormal(size=(200, 2))
    # a star, which no single edge divides: all rows are nearest to the one in the middle
    angles = np.linspace(0.0, 2.0 * np.pi, 5 * k, endpoint=False)
    star = np.vstack([[[0.0, 0.0]], np.column_stack([np.cos(angles), np.sin(angles)])])
    for table in (x, star, np.vstack([star, star + 10.0])):
        sizes = np.bincount(mu_approx(table, k))
        assert sizes.min() >= k
        assert sizes.max() <= 2 * k - 1


def test_fuzzy_c_means_follows_its_formulas() -> None:
    x = np.random.default_rng(3).normal(size=(40, 2))
    start = far_apart(x, 4) + 0.1  # no row lies on a centre
    centres = start.copy()
    move_centres(x, centres, 1.7, 6)
    assert centres == pytest.approx(oracles.fuzzy(x, start, 1.7, 6))
    squares = ((x[:, None, :] - centres[None]) ** 2).sum(axis=2)
    assert nearest_centres(x, centres).tolist() == squares.argmin(axis=1).tolist()


def test_first_centres_are_far_apart() -> None:
    x = np.array([[0.0], [1.0], [10.0], [4.0]])
    assert far_apart(x, 3)[:, 0].tolist() == [10.0, 0.0, 4.0]


def test_fuzzy_c_means_falls_back_where_no_clusters_are_large_enough() -> None:
    x = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [100.0]])
    assert fcm(x, 3, restarts=1).tolist() == mdav(x, 3).tolist()


def test_fuzzy_c_means_finds_clusters() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(centre, 0.1, size=(5, 2)) for centre in (0.0, 10.0, 20.0, 30.0)])
    labels = fcm(x, 5)
    assert [len(set(labels[start : start + 5])) for start in (0, 5, 10, 15)] == [1, 1, 1, 1]
    assert len(set(labels)) == 4


def test_rows_of_clusters_too_small_join_the_nearest_one() -> None:
    x = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3], [99.0]])
    assert fcm(x, 3, restarts=1).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("k", [2, 3, 7])
def test_bounded_restarts_give_groups_of_k_on_heavy_tails(k: int) -> None:
    x = np.random.default_rng(k).lognormal(0.0, 1.5, size=(70, 2))
    sizes = np.bincount(fcm(x, k, fuzziness=2.0, restarts=8, iterations=5))
    assert sizes.min() >= k


def test_dbscan_tells_cores_borders_and_noise() -> None:
    #        a cluster of four, a border row, noise, and a cluster of three
    x = np.array([[0.0], [1.0], [2.0], [3.0], [4.4], [9.0], [20.0], [20.5], [21.0]])
    # the first six are one cluster, which MDAV then splits
    assert dbm(x, 3, eps=1.5).tolist() == [1, 1, 1, 0, 0, 0, 2, 2, 2]


def test_a_border_row_joins_the_first_cluster_and_a_cluster_too_small_is_dissolved() -> None:
    # the middle row is near cores of both sides; without it the right side has too few rows
    x = np.array([[0.0], [0.5], [1.0], [2.0], [3.0], [3.2]])
    assert dbm(x, 4, eps=1.0).tolist() == [0] * 6


def test_rows_without_any_cluster_are_one() -> None:
    x = np.array([[0.0], [10.0], [25.0], [45.0]])
    assert dbm(x, 2, eps=1.0).tolist() == mdav(x, 2).tolist()


def test_the_radius_is_read_off_the_elbow() -> None:
    x = np.concatenate([np.linspace(0.0, 1.0, 50), [20.0, 40.0]]).reshape(-1, 1)
    assert 1.0 / 49.0 <= elbow(x, 2) < 1.0
    assert elbow(np.zeros((4, 1)), 2) > 0.0


def test_a_pool_spares_a_row_and_lists_rows_from_afar() -> None:
    x = np.array([[0.0], [1.0], [2.0], [9.0]])
    pool = Pool(x)
    assert pool.by_distance_from(np.zeros(1)) == [3, 2, 1, 0]
    pool.cut(0, 2, spare=1)
    assert pool.last == [0, 2] or pool.last == [2, 0]
    assert pool.distance_to_nearest(1) == 64.0
    pool.cut(3, 1)
    pool.cut(1, 1)
    assert len(pool) == 0


def test_the_last_free_row_has_no_neighbour() -> None:
    pool = Pool(np.array([[0.0], [1.0]]))
    pool.cut(0, 1)
    assert pool.distance_to_nearest(1) == float("inf")
