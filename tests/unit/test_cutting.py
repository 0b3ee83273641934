"""The cuts are the best there are, and the arithmetic keeps its digits."""

import itertools
from collections import defaultdict
from fractions import Fraction

import numba
import numpy as np
import pytest

from algorithms import cutting
from algorithms.cutting import cut_path, cut_whole
from algorithms.microaggregation.imhmi import imhmi
from algorithms.rounding.grid import Grid
from algorithms.types import Integers, Labels
from tests.oracles.cutting import cut_column_compensated, exact_loss, least_loss, loss_of

COMPILED = not numba.config.DISABLE_JIT
CASES = 3000 if COMPILED else 100
ONE = Fraction(1)


def cases(seed: int) -> list[tuple[np.random.Generator, int, int, int]]:
    """Draw sizes of small problems: records, attributes, k."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(CASES):
        n, d = int(rng.integers(1, 12)), int(rng.integers(1, 4))
        drawn.append((rng, n, d, int(rng.integers(1, min(n, 5) + 1))))
    return drawn


def test_no_cut_of_whole_numbers_loses_less() -> None:
    for rng, n, d, k in cases(1):
        values = rng.integers(-9, 10, (n, d))
        labels, loss = cut_whole(values, k)
        assert loss == loss_of(values, labels, [ONE] * d) == least_loss(values, k, [ONE] * d)
        assert np.bincount(labels).min() >= k


def test_no_cut_of_real_numbers_loses_less() -> None:
    for rng, n, d, k in cases(2):
        x = rng.normal(size=(n, d))
        labels, loss = cut_path(x, k)
        assert loss == pytest.approx(float(least_loss(x, k, [Fraction(0)] * d)), rel=1e-14, abs=0)
        assert float(loss_of(x, labels, [Fraction(0)] * d)) == pytest.approx(loss, rel=1e-14)


def test_no_cut_loses_less_of_what_is_published() -> None:
    """Whole columns, columns with a coarse step and real ones, weighed each in its own way."""
    for rng, n, d, k in cases(3):
        steps = rng.choice([0.0, 0.5, 0.25, 2.0], d)
        x = rng.integers(-40, 41, (n, d)) / 8.0
        labels, loss = cut_path(x, k, Grid(np.zeros(d), steps, np.zeros(d, dtype=bool)))
        exact = [Fraction(step) for step in steps]
        assert loss == pytest.approx(float(least_loss(x, k, exact)), rel=1e-14, abs=1e-14)
        assert float(loss_of(x, labels, exact)) == pytest.approx(loss, rel=1e-14, abs=1e-14)


def partitions(rows: list[int]) -> list[list[list[int]]]:
    """List all ways to put rows into groups."""
    if not rows:
        return [[]]
    first, *others = rows
    return [
        [[first, *chosen], *rest]
        for size in range(len(others) + 1)
        for chosen in itertools.combinations(others, size)
        for rest in partitions([row for row in others if row not in chosen])
    ]


@pytest.mark.parametrize("step", [Fraction(0), ONE])
def test_on_one_sorted_column_no_partition_at_all_loses_less(step: Fraction) -> None:
    rng = np.random.default_rng(4)
    for _ in range(60 if COMPILED else 5):
        n = int(rng.integers(4, 8))
        column = np.sort(rng.integers(-12, 13, n))
        exact = [[Fraction(int(value))] for value in column]
        losses = defaultdict(lambda: Fraction(10**9))
        for groups in partitions(list(range(n))):
            loss = sum(
                (exact_loss([exact[i] for i in group], [step]) for group in groups), Fraction(0)
            )
            smallest = min(len(group) for group in groups)
            losses[smallest] = min(losses[smallest], loss)
        for k in (2, 3):
            best = min(loss for smallest, loss in losses.items() if smallest >= k)
            if step:
                assert cut_whole(column[:, None], k)[1] == best
            else:
                found = cut_path(column[:, None].astype(float), k)[1]
                assert found == pytest.approx(float(best), rel=1e-14, abs=1e-14)


def test_the_papers_counter_example_with_the_six_that_it_lost() -> None:
    column = np.array([[1], [2], [2], [3], [4], [4], [6], [6], [8], [10]])
    real, loss = cut_path(column.astype(float), 3)
    assert np.bincount(real).tolist() == [3, 3, 4]
    assert loss == pytest.approx(12 + 1 / 3)
    assert loss_of(column, real, [ONE]) == 14
    whole, loss = cut_whole(column, 3)
    assert np.bincount(whole).tolist() == [4, 3, 3]
    assert loss == 13


def test_the_papers_counter_example_as_printed_shows_no_gain() -> None:
    column = np.array([[1], [2], [2], [3], [4], [4], [6], [8], [10]])
    real, loss = cut_path(column.astype(float), 3)
    assert loss == pytest.approx(9 + 1 / 3)
    assert loss_of(column, real, [ONE]) == cut_whole(column, 3)[1] == 10


def test_of_cuts_that_lose_the_same_the_last_groups_are_larger() -> None:
    zeros = np.zeros((7, 2), dtype=np.int64)
    for labels in (cut_whole(zeros, 2)[0], cut_path(zeros.astype(float), 2)[0]):
        assert np.bincount(labels).tolist() == [2, 2, 3]


def by_kernel(values: Integers, k: int) -> dict[str, Labels]:
    """Cut with each of the kernels for whole numbers."""
    sizes = np.zeros(len(values) + 1, dtype=np.int64)
    found = {}
    cutting.cut_lanes(cutting._columns_after_padding(values, k), k, sizes)
    found["lanes"] = cutting.follow(sizes)
    cutting.cut_integers(values, k, sizes)
    found["integers"] = cutting.follow(sizes)
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 7, 40, 130])
@pytest.mark.parametrize("d", [1, 3])
def test_both_kernels_for_whole_numbers_give_the_same_cut(k: int, d: int) -> None:
    rng = np.random.default_rng(k)
    for spread in (1, 5, 1000):
        values = np.cumsum(rng.integers(-spread, spread + 1, (600 if COMPILED else 150, d)), axis=0)
        found = by_kernel(values, k)
        assert np.array_equal(found["lanes"], found["integers"])


@pytest.mark.parametrize(("exponent", "path"), [(20, "lanes"), (26, "integers"), (61, "wide")])
@pytest.mark.parametrize("k", [2, 5])
def test_large_whole_numbers_take_a_path_that_holds_their_sums(
    exponent: int, path: str, k: int
) -> None:
    rng = np.random.default_rng(exponent)
    values = rng.integers(-(2**exponent), 2**exponent, (11, 1))
    bound = cutting._largest_sum(values, k)
    chosen = (
        "lanes"
        if bound < cutting.EXACT_FLOAT
        else "integers"
        if bound < cutting.EXACT_INT
        else "wide"
    )
    assert chosen == path
    labels, loss = cut_whole(values, k)
    assert loss == loss_of(values, labels, [ONE]) == least_loss(values, k, [ONE])


def test_the_extremes_of_64_bits_do_not_wrap() -> None:
    ends = np.iinfo(np.int64)
    values = np.array([[ends.min], [ends.min + 1], [0], [1], [ends.max - 1], [ends.max]])
    labels, loss = cut_whole(values, 2)
    assert labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert loss == 3


def test_costs_of_near_places_differ_by_less_than_four_groups() -> None:
    """Which is what the bound on every sum counts on."""
    rng = np.random.default_rng(9)
    for k in (2, 3, 5):
        values = rng.choice([-1000, 1000], (200 if COMPILED else 60, 1))
        values[::7] = 0
        costs = [cut_whole(values[:n], k)[1] for n in range(k, len(values))]
        spread = max(
            max(costs[i : i + 2 * k]) - min(costs[i : i + 2 * k]) for i in range(len(costs))
        )
        assert spread <= 4 * 2 * k * 2000**2
        assert 2 * 4 * 2 * k * 2000**2 <= cutting._largest_sum(values, k)


@pytest.mark.skipif(not COMPILED, reason="five million records need compiled kernels")
@pytest.mark.parametrize("k", [2, 3, 10])
def test_five_million_records_are_cut_as_with_twice_the_digits(k: int) -> None:
    rng = np.random.default_rng(k)
    column = 100.0 + np.sort(rng.lognormal(0.0, 2.0, 5_000_000))
    labels, loss = cut_path(column[:, None], k)
    twin, exact = cut_column_compensated(column - column[0], k)
    assert np.array_equal(labels, twin)
    assert loss == pytest.approx(exact, rel=1e-13)


@pytest.mark.skipif(not COMPILED, reason="a million records need compiled kernels")
def test_a_million_sorted_integers_are_cut_exactly_wherever_they_lie() -> None:
    rng = np.random.default_rng(7)
    column = np.sort(rng.integers(-500_000, 500_000, 1_000_000))[:, None]
    labels, loss = cut_whole(column, 3)
    again, shifted = cut_whole(column + 2**40, 3)
    assert np.array_equal(labels, again)
    assert loss == shifted
    sizes = np.zeros(len(column) + 1, dtype=np.uint8)
    assert int(cutting.cut_integers(column, 3, sizes).sum()) == loss


def test_imhmi_without_a_grid_is_mhm() -> None:
    x = np.random.default_rng(5).normal(size=(40, 3))
    assert np.array_equal(imhmi(x, 4, np.arange(len(x))), cut_path(x, 4)[0])


def test_imhmi_rounds_in_the_units_of_a_column_of_whole_numbers() -> None:
    values = np.array([[1.0], [2], [2], [3], [4], [4], [6], [6], [8], [10]])
    for deviation in (1.0, 3.7, 1e-3):
        grid = Grid(np.array([-5.0]) / deviation, np.array([1 / deviation]), np.array([True]))
        assert np.bincount(imhmi((values - 5.0) / deviation, 3, np.arange(10), grid)).tolist() == [
            4,
            3,
            3,
        ]


def test_papers_mode_rounds_to_hundredths() -> None:
    x = np.array([[1], [2], [2], [3], [4], [4], [6], [6], [8], [10]]) / 100
    assert np.bincount(imhmi(x, 3, np.arange(len(x)), mode="paper")).tolist() == [4, 3, 3]
