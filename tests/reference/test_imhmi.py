"""The tables of the paper on IMHMI, to the integer."""

import numpy as np
import pytest

from algorithms.cutting import cut_whole
from tests.reference.printed import along_path, printed, rounded_loss

pytestmark = pytest.mark.reference

DRAWS = 30


def cells(*orderings: str) -> list[object]:
    return [
        pytest.param(row, id="-".join((row["dataset"], row["ordering"], row["k"])))
        for row in printed("paper_imhmi_table3.csv")
        if row["ordering"] in orderings
    ]


@pytest.mark.needs("benchmark sets")
@pytest.mark.parametrize("row", cells("npn", "pca", "zscore"))
def test_both_losses_are_as_printed_in_table_3(row: dict[str, str]) -> None:
    values, k = along_path(row)
    assert rounded_loss(values, k) == int(row["sse_imhm"])
    assert cut_whole(values, k)[1] == int(row["sse_imhmi"])


@pytest.mark.needs("benchmark sets")
@pytest.mark.parametrize("row", cells("tsp"))
def test_our_tour_loses_no_more_than_the_one_of_table_3(row: dict[str, str]) -> None:
    values, k = along_path(row)
    assert cut_whole(values, k)[1] <= int(row["sse_imhmi"])
    assert rounded_loss(values, k) <= int(row["sse_imhm"])


@pytest.mark.parametrize(
    "row",
    [row for row in printed("paper_imhmi_table1.csv") if row["n_millions"] == "0.5"],
    ids=lambda row: f"k={row['k']}",
)
def test_means_over_30_draws_agree_with_table_1(row: dict[str, str]) -> None:
    """Within two standard errors of the difference of two means of 30, and IMHMI never above."""
    k, n = int(row["k"]), 500_000
    found = np.array([_losses(seed, n, k) for seed in range(DRAWS)], dtype=np.float64)
    assert (found[:, 1] <= found[:, 0]).all()
    for column, name in ((0, "imhm"), (1, "imhmi")):
        ours = found[:, column]
        error = np.hypot(ours.std(ddof=1), float(row[f"sse_{name}_sd"])) / np.sqrt(DRAWS)
        assert abs(ours.mean() - float(row[f"sse_{name}_mean"])) < 2 * error


def _losses(seed: int, n: int, k: int) -> tuple[int, int]:
    drawn = np.random.default_rng(seed).integers(-n // 2, n // 2, n, endpoint=True)
    column = np.sort(drawn).reshape(-1, 1)
    return rounded_loss(column, k), cut_whole(column, k)[1]
