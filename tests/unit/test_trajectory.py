"""The bound on series of releases, against all pairs of partitions."""

import itertools
import os
from collections.abc import Sequence

import numpy as np
import pytest

from algorithms.attributes import Category, Number
from algorithms.bounds.distances import weighted_bound
from algorithms.bounds.trajectory import ROUNDS, Stretch, trajectory_bounds
from algorithms.enterprise_survey import survey
from algorithms.table import Stratum, Table
from algorithms.types import Integers, Matrix
from tests.oracles.mixed import every_partition

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
FOLLOWED = 5
"""Persons of the small series who are in both of its releases."""


def numbers(x: Matrix, persons: Integers, strata: Integers | None = None) -> Table:
    return Table(
        tuple(Number(str(j), places=1) for j in range(x.shape[1])),
        tuple(x.T),
        persons=persons,
        strata=() if strata is None else (Stratum("s", strata),),
    )


def each_record(tables: Sequence[Table], losses: Sequence[float]) -> list[Matrix]:
    """Share the loss of each release among its records."""
    return [np.full(len(t), loss / len(t)) for t, loss in zip(tables, losses, strict=True)]


def small_series(rng: np.random.Generator) -> tuple[Table, Table]:
    """Draw two releases with persons in both of them, and one person more in each."""
    draw = [rng.integers(0, 4, (FOLLOWED + 1, 2)), rng.standard_cauchy((FOLLOWED + 1, 2))]
    x = [draw[rng.integers(2)].astype(float) + np.eye(FOLLOWED + 1, 2) for _ in range(2)]
    both = np.arange(FOLLOWED)
    return numbers(x[0], np.append(both, 98)), numbers(x[1], np.append(99, both[::-1]))


def outcomes(tables: tuple[Table, Table], k: int, losses: Matrix) -> Matrix:
    """Try all pairs of partitions: the mean loss over the given ones, and how many are muted."""
    found = []
    partitions = [np.array(labels) for labels in every_partition(len(tables[0]), k)]
    sse = [[_sse(table.embedding.x, labels) for labels in partitions] for table in tables]
    for (i, one), (j, other) in itertools.product(enumerate(partitions), repeat=2):
        cells = one[:FOLLOWED] * 10 + other[:0:-1]
        _, cell, sizes = np.unique(cells, return_inverse=True, return_counts=True)
        loss = (sse[0][i] / losses[0] + sse[1][j] / losses[1]) / 2
        found.append((loss, (sizes[cell] < k).sum()))
    return np.array(found)


def _sse(x: Matrix, labels: Integers) -> float:
    groups = [x[labels == label] for label in np.unique(labels)]
    return float(sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups))


@pytest.mark.parametrize("k", [2, 3])
def test_no_pair_of_partitions_loses_or_mutes_less_than_is_proven(k: int) -> None:
    rng = np.random.default_rng(k)
    proven = []
    for _ in range(20 if COMPILED else 2):
        tables = small_series(rng)
        losses = rng.uniform(1.0, 3.0, 2)
        tried = outcomes(tables, k, losses)
        for stretch in trajectory_bounds(tables, each_record(tables, losses), k):
            if stretch.releases == 2:
                least = tried[tried[:, 1] == 0, 0].min()
                assert stretch.ratio <= least * (1.0 + 1e-9)
                proven.append(stretch.ratio / least)
                for ceiling in np.quantile(tried[:, 0], [0.0, 0.02, 0.1, 0.5]):
                    below = tried[tried[:, 0] <= ceiling, 1]
                    assert stretch.least_muted(ceiling) <= below.min()
    assert max(proven) > 0.5


def test_stretches_of_all_lengths_are_looked_at_and_the_largest_ratio_comes_first() -> None:
    rng = np.random.default_rng(3)
    tables = [numbers(rng.normal(size=(30, 3)), np.arange(30)) for _ in range(3)]
    found = trajectory_bounds(tables, each_record(tables, [20.0] * 3), 3)
    assert {(each.first, each.last) for each in found} == {
        (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2),
    }  # fmt: skip
    assert (found[0].first, found[0].last) == (0, 2)
    assert [each.ratio for each in found] == sorted((e.ratio for e in found), reverse=True)
    narrow = trajectory_bounds(tables, each_record(tables, [20.0] * 3), 3, window=2)
    assert max(each.releases for each in narrow) == 2


def test_the_loss_of_those_who_stay_is_compared_with_their_own() -> None:
    x = np.random.default_rng(2).normal(size=(10, 2))
    tables = [numbers(x, np.arange(10)), numbers(x, np.arange(2, 12))]
    losses = [np.repeat([4.0, 0.5], [2, 8]), np.repeat([0.5, 4.0], [8, 2])]
    both = next(each for each in trajectory_bounds(tables, losses, 2) if each.releases == 2)
    assert (both.persons, both.share) == (8, pytest.approx(4.0 / 12.0))
    assert both.own_ratio == pytest.approx(3.0 * both.ratio)


def test_labels_count_as_they_are_published() -> None:
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, 3, 20) for _ in range(2)]
    tables = [
        Table((Category("c", ("x", "y", "z")),), (each,), persons=np.arange(20)) for each in codes
    ]
    x = np.hstack([table.embedding.x for table in tables]) / np.sqrt(2.0)
    # in groups of 2, a label that is not published loses twice what an average would
    assert trajectory_bounds(tables, each_record(tables, [1.0, 1.0]), 2)[0].ratio == pytest.approx(
        2.0 * weighted_bound(x, 2, rounds=ROUNDS)
    )


def test_those_who_pass_strata_almost_alone_are_stranded() -> None:
    x = np.random.default_rng(1).normal(size=(12, 2))
    before = np.repeat([0, 1], 6)
    after = before.copy()
    after[:2] = 1
    tables = [numbers(x, np.arange(12), each) for each in (before, after)]
    found = trajectory_bounds(tables, each_record(tables, [9.0, 9.0]), 3)
    both = next(each for each in found if each.releases == 2)
    assert (both.persons, both.stranded, len(both.costs)) == (12, 2, 10)
    assert both.least_muted(10.0) == 2
    assert both.least_muted(0.2) > 2


def test_releases_without_a_person_in_common_prove_nothing() -> None:
    x = np.random.default_rng(1).normal(size=(6, 2))
    tables = [numbers(x, np.arange(6)), numbers(x, np.arange(6, 12))]
    found = trajectory_bounds(tables, each_record(tables, [1.0, 1.0]), 2)
    apart = next(each for each in found if each.releases == 2)
    assert (apart.persons, apart.ratio, apart.own_ratio, apart.least_muted(1.0)) == (0, 0.0, 0.0, 0)


def test_a_release_that_is_compared_with_no_loss_adds_nothing() -> None:
    x = np.random.default_rng(1).normal(size=(8, 2))
    tables = [numbers(x, np.arange(8))] * 2
    with_zero, without = (
        trajectory_bounds(tables, each_record(tables, [4.0, loss]), 2) for loss in (0.0, 4.0)
    )
    ratios = [next(e.ratio for e in found if e.releases == 2) for found in (with_zero, without)]
    assert ratios[0] == pytest.approx(ratios[1] / 2)


def test_a_ratio_beyond_the_ceiling_mutes_somebody() -> None:
    sharpened = Stretch(0, 1, 9, ratio=1.4, share=1.0, stranded=0, costs=np.array([0.5, 0.5]))
    assert [sharpened.least_muted(each) for each in (1.5, 1.2, 0.6)] == [0, 1, 1]


def test_a_panel_of_high_mobility_is_proven_to_cost_more() -> None:
    def ratio(moving: float) -> float:
        rows = 300 if COMPILED else 60
        drawn = survey(rows, 3, seed=1, leaving=0.0, absent=0.0, moving=moving)
        tables = [
            numbers(
                np.log(np.column_stack([each[name] for name in ("employees", "wages")])),
                each["company"],
            )
            for each in drawn
        ]
        return trajectory_bounds(tables, each_record(tables, [1.0] * 3), 5)[0].ratio

    assert ratio(0.5) > 3.0 * ratio(0.0)
