"""Paths, beside slow and obvious twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from algorithms.microaggregation import cbfs, md
from algorithms.microaggregation.mdav import mdav
from algorithms.orderings import ORDERINGS
from algorithms.orderings.groups import path_through
from algorithms.search.opposites import cut_all_opposites
from algorithms.search.paths import chained
from algorithms.standardisation import standardise
from algorithms.types import Matrix
from tests.oracles import groups as oracle
from tests.problems import problems


@pytest.mark.parametrize(("side", "d"), [(8, 1), (8, 2), (4, 3), (2, 5)])
def test_a_hilbert_curve_goes_from_neighbour_to_neighbour(side: int, d: int) -> None:
    cells = np.array(list(itertools.product(range(side), repeat=d)), dtype=np.float64)
    shuffled = np.random.default_rng(1).permutation(cells)
    path = shuffled[ORDERINGS["hilbert"].run(shuffled)]
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()


def test_a_hilbert_curve_needs_more_than_one_word_in_many_dimensions() -> None:
    x = np.random.default_rng(2).normal(size=(300, 13))
    path = x[ORDERINGS["hilbert"].run(x)]
    steps, chance = (np.sqrt((np.diff(rows, axis=0) ** 2).sum(axis=1)).sum() for rows in (path, x))
    assert steps < 0.9 * chance


def test_a_principal_component_has_a_sign() -> None:
    x = standardise(np.random.default_rng(3).normal(size=(50, 4)) @ np.diag([3.0, 1.0, 1.0, 0.5]))
    assert np.array_equal(ORDERINGS["pca"].run(x), ORDERINGS["pca"].run(x[:, ::-1]))
    assert np.array_equal(ORDERINGS["pca"].run(-x), ORDERINGS["pca"].run(x)[::-1])


def test_a_principal_component_is_where_records_spread_most() -> None:
    t = np.random.default_rng(4).normal(size=40)
    x = np.column_stack([t, 2.0 * t, -t])
    assert np.array_equal(ORDERINGS["pca"].run(x), np.argsort(t, kind="stable"))


def test_sums_of_deviations_give_the_path_of_z_scores() -> None:
    x = standardise(np.random.default_rng(5).normal(size=(80, 3)))
    assert np.array_equal(ORDERINGS["sum_of_deviations"].run(x), ORDERINGS["zscore"].run(x))


def test_ranks_are_summed() -> None:
    x = np.array([[10.0, 1.0], [20.0, 1.0], [5.0, 100.0], [7.0, 0.0]])
    # ranks 2+1, 3+2, 0+3, 1+0
    assert ORDERINGS["rank_sum"].run(x).tolist() == [3, 0, 2, 1]


@given(problem=problems())
def test_groups_are_visited_as_they_were_formed(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    for form in (cbfs.form_groups, md.form_groups, cut_all_opposites):
        pool = form(x, k)
        path = path_through(x, pool, chain=False)
        assert path.tolist() == oracle.as_formed(x, pool.labels, pool.seeds)


@given(problem=problems())
def test_groups_are_chained_by_nearest_centroid_and_nearest_point(
    problem: tuple[Matrix, int],
) -> None:
    x, k = problem
    labels = mdav(x, k)
    assert chained(x, labels).tolist() == oracle.chained(x, labels)
