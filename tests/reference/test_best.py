"""What the search finds on the benchmark sets."""

import pytest

from algorithms.bounds.column_generation import group_bound
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.best import best
from algorithms.microaggregation.mdav import mdav
from algorithms.problem import Budget, Problem
from algorithms.utility.il import sum_of_squares
from benchmarks.frontier import best_prints
from tests.oracles.search import total_loss
from tests.reference.printed import dataset, printed, proven_bounds

pytestmark = [pytest.mark.reference, pytest.mark.needs("benchmark sets")]


@pytest.mark.parametrize(("name", "k"), list(proven_bounds()))
def test_few_iterations_beat_the_best_print_and_no_bound(name: str, k: int) -> None:
    x = dataset(name)
    groups = METHODS["best"].solve(Problem(x, k, budget=Budget(9 * len(x) // k**2)))
    il = 100.0 * total_loss(x, groups.labels, None) / sum_of_squares(x)
    assert proven_bounds()[name, k] < il < best_prints()[name, k]


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
def test_two_chains_get_about_as_far_as_one_in_the_same_iterations(name: str) -> None:
    x = dataset(name)
    losses = {
        chains: sum(
            total_loss(x, best(x, 5, budget=Budget(10_000), seed=seed, chains=chains), None)
            for seed in range(3)
        )
        for chains in (1, 2)
    }
    assert losses[2] == pytest.approx(losses[1], rel=0.004)


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in printed("lower_bounds.csv") if row["group_bound"]])
def test_certified_bounds_are_as_measured(row: dict[str, str]) -> None:
    x, k = dataset(row["dataset"]), int(row["k"])
    bound = group_bound(x, k, mdav(x, k), seconds=300.0).value
    measured = float(row["group_bound"])
    # how far cuts get depends on the machine
    assert 0.98 * measured < 100.0 * bound / sum_of_squares(x) < measured * 1.03
