"""Lower bounds on the loss of any partition of the benchmark sets."""

import pytest

from algorithms.bounds.distances import neighbour_bound, weighted_bound
from algorithms.bounds.semidefinite import semidefinite_bound
from algorithms.utility.il import sum_of_squares
from tests.reference.printed import dataset, printed

pytestmark = [pytest.mark.reference, pytest.mark.needs("benchmark sets")]


@pytest.mark.parametrize(
    "row", printed("lower_bounds.csv"), ids=lambda row: f"{row['dataset']}-{row['k']}"
)
def test_bounds_are_as_measured(row: dict[str, str]) -> None:
    x, k = dataset(row["dataset"]), int(row["k"])
    per_cent = 100.0 / sum_of_squares(x)
    assert per_cent * neighbour_bound(x, k) == pytest.approx(
        float(row["neighbour_bound"]), abs=5e-5
    )
    assert per_cent * weighted_bound(x, k) >= 0.99 * float(row["weighted_bound"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "rounds", "least"), [("tarragona", 10, 60, 29.2), ("census", 10, 40, 10.6)]
)
def test_few_rounds_of_the_semidefinite_bound_already_prove_much(
    name: str, k: int, rounds: int, least: float
) -> None:
    x = dataset(name)
    per_cent = 100.0 / sum_of_squares(x)
    bound = per_cent * semidefinite_bound(x, k, rounds=rounds)[0]
    (row,) = [
        row for row in printed("lower_bounds.csv") if (row["dataset"], row["k"]) == (name, str(k))
    ]
    assert least < bound < 1.001 * float(row["semidefinite_bound"])
