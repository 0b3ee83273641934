"""Labels of groups that keep their totals, against every choice and linear programmes."""

import os

import numpy as np
import pytest

from algorithms.rounding import calibration
from algorithms.rounding.calibration import calibrated
from algorithms.types import Labels, Matrix
from tests.oracles import calibration as oracle

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"

Case = tuple[Matrix, Matrix, Matrix]


def case(
    rng: np.random.Generator, groups: int, labels: int, k: int, *, weighted: bool = False
) -> Case:
    """Draw groups of ``k`` to ``2k - 1`` records that mostly share a few labels."""
    shares = rng.dirichlet(1.0 / np.arange(1, labels + 1) ** rng.uniform(0.0, 1.5), groups)
    sizes = rng.integers(k, 2 * k, groups)
    counts = rng.multinomial(sizes, shares).astype(np.float64)
    if weighted:
        counts *= rng.lognormal(3.0, 0.8, counts.shape)
    return counts, counts.sum(axis=1), counts.sum(axis=0)


def modes(counts: Matrix, totals: Matrix) -> Labels:
    return np.array(
        [min(range(totals.size), key=lambda j: (-row[j], totals[j], j)) for row in counts]
    )


def choice_of(counts: Matrix, sizes: Matrix, totals: Matrix) -> tuple[calibration.Choice, float]:
    classes, amounts, width = calibration._classes_of(sizes)
    choice = calibration._first_choice(counts, sizes, totals, classes, amounts)
    calibration._list_flips(choice)
    return choice, width


def difference(sizes: Matrix, totals: Matrix, labels: Labels) -> float:
    return float(np.abs(oracle.published(sizes, labels, totals.size) - totals).sum())


def test_groups_that_agree_keep_their_label() -> None:
    counts = np.array([[3.0, 0.0], [0.0, 4.0], [5.0, 0.0]])
    assert calibrated(counts, counts.sum(axis=1), counts.sum(axis=0)).tolist() == [0, 1, 0]


def test_a_single_label_is_published_everywhere() -> None:
    counts = np.array([[3.0], [4.0]])
    assert calibrated(counts, counts.sum(axis=1), counts.sum(axis=0)).tolist() == [0, 0]


def test_ties_go_to_the_label_with_the_smallest_total() -> None:
    counts = np.array([[2.0, 2.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 4.0], [0.0, 2.0, 2.0]])
    choice, _ = choice_of(counts, counts.sum(axis=1), counts.sum(axis=0))
    assert choice.chosen.tolist() == [1, 0, 2, 1]


def test_paths_lead_through_other_labels() -> None:
    # no group holds both 0 and 2, so that 2 gets its records from 1, and 1 from 0
    counts = np.array([[6.0, 4.0, 0.0]] * 5 + [[0.0, 6.0, 4.0]] * 5)
    labels = calibrated(counts, counts.sum(axis=1), counts.sum(axis=0))
    assert np.bincount(labels).tolist() == [3, 5, 2]
    assert oracle.loss(counts, counts.sum(axis=1), labels) == 48.0


def test_wanted_totals_may_differ_from_those_of_the_records() -> None:
    counts = np.array([[2.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    sizes = counts.sum(axis=1)
    assert calibrated(counts, sizes, np.array([0.0, 9.0])).tolist() == [1, 1, 1]
    assert calibrated(counts, sizes, np.array([1.0, 1.0])).tolist() == [1, 0, 0]
    assert calibrated(counts, sizes, np.array([4.0, 0.0])).tolist() == [0, 0, 0]


def test_a_difference_is_removed_by_an_exchange_of_sizes() -> None:
    # label 1 lacks one record: a group of five is flipped to it, and one of four away from it
    counts = np.array([[3.0, 2.0], [2.0, 2.0], [4.0, 0.0]])
    sizes = counts.sum(axis=1)
    choice, width = choice_of(counts, sizes, np.array([8.0, 5.0]))
    assert choice.chosen.tolist() == [0, 1, 0]
    calibration._even_out(choice, width, calibration.PATIENCE)
    assert choice.chosen.tolist() == [1, 0, 0]
    assert choice.surplus.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_paths_lose_no_more_than_a_linear_programme_with_the_same_totals(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60 if COMPILED else 4):
        groups, labels, k = rng.integers([3, 2, 2], [150 if COMPILED else 40, 9, 9])
        counts, sizes, totals = case(rng, groups, labels, k, weighted=weighted)
        choice, _ = choice_of(counts, sizes, totals)
        calibration._flip_along_paths(choice)
        oracle.check(choice, totals)
        reached = oracle.published(sizes, choice.chosen, labels)
        least = oracle.fractional_loss(counts, sizes, reached)
        assert oracle.loss(counts, sizes, choice.chosen) == pytest.approx(least, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_close_to_that_of_a_linear_programme(weighted: bool) -> None:
    rng = np.random.default_rng(2)
    losses, least, differences, differences_of_modes = 0.0, 0.0, 0.0, 0.0
    for _ in range(80 if COMPILED else 3):
        groups, labels, k = rng.integers([100, 2, 2], [400 if COMPILED else 120, 11, 9])
        counts, sizes, totals = case(rng, groups, labels, k, weighted=weighted)
        chosen = calibrated(counts, sizes, totals)
        reached = oracle.published(sizes, chosen, labels)
        loss = oracle.loss(counts, sizes, chosen)
        own_least = oracle.fractional_loss(counts, sizes, reached)
        assert own_least * (1.0 - 1e-9) <= loss <= own_least * 1.05 + sizes.max()
        unit = sizes.mean()
        losses += loss / unit
        least += oracle.fractional_loss(counts, sizes, totals) / unit
        differences += difference(sizes, totals, chosen) / unit
        differences_of_modes += difference(sizes, totals, modes(counts, totals)) / unit
    assert losses <= 1.02 * least
    assert differences <= 0.05 * differences_of_modes


def test_small_tables_come_close_to_the_best_of_all_choices() -> None:
    rng = np.random.default_rng(3)
    excess = []
    for _ in range(100 if COMPILED else 5):
        groups, labels, k = rng.integers([2, 2, 2], [7, 4, 5])
        counts, sizes, totals = case(rng, groups, labels, k)
        chosen = calibrated(counts, sizes, totals)
        least = oracle.least_objective(counts, sizes, totals)
        excess.append(oracle.objective(counts, sizes, totals, chosen) - least)
    assert min(excess) >= 0.0
    assert max(excess) <= 6.0
    assert np.mean(excess) <= 0.5


def test_calibration_never_does_worse_than_modes() -> None:
    rng = np.random.default_rng(4)
    for weighted in (False, True):
        for _ in range(50 if COMPILED else 5):
            groups, labels, k = rng.integers([1, 1, 2], [60, 6, 6])
            arguments = case(rng, groups, labels, k, weighted=weighted)
            counts, sizes, totals = arguments
            before = modes(counts, totals)
            after = calibrated(counts, sizes, totals)
            slack = 1e-9 * sizes.sum()
            assert difference(sizes, totals, after) <= difference(sizes, totals, before) + slack
            assert oracle.loss(counts, sizes, after) >= oracle.loss(counts, sizes, before) - slack


@pytest.mark.parametrize("known", [1, 2, 16])
def test_lists_of_flips_stay_true_while_groups_are_flipped(
    known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "KNOWN", known)
    rng = np.random.default_rng(5)
    counts, sizes, totals = case(rng, 90, 3, 2)
    choice, width = choice_of(counts, sizes, totals)
    oracle.check(choice, totals)
    for _ in range(150):
        group, to = rng.integers([90, 3])
        if to != choice.chosen[group]:
            calibration._flip(choice, group, to)
            oracle.check(choice, totals)
    calibration._flip_along_paths(choice)
    calibration._even_out(choice, width, calibration.PATIENCE)
    oracle.check(choice, totals)


@pytest.mark.parametrize("kind", [0, 2])
def test_a_transfer_without_groups_changes_nothing(kind: int) -> None:
    counts = np.array([[2.0, 0.0], [3.0, 0.0]])
    choice, width = choice_of(counts, counts.sum(axis=1), np.array([0.0, 5.0]))
    journal = np.zeros(2, dtype=np.int64)
    assert calibration._transfer(choice, 1, 0, kind, journal) == np.inf
    calibration._undo(choice, 1, 0, journal)
    calibration._even_out(choice, width, 0)
    assert choice.chosen.tolist() == [0, 0]


def test_a_transfer_can_be_undone() -> None:
    counts, sizes, totals = case(np.random.default_rng(7), 30, 3, 3)
    choice, _ = choice_of(counts, sizes, totals)
    before = choice.chosen.tolist()
    journal = np.zeros(2, dtype=np.int64)
    for kind in range(2 * choice.amounts.size - 1):
        calibration._transfer(choice, 0, 1, kind, journal)
        calibration._undo(choice, 0, 1, journal)
        assert choice.chosen.tolist() == before
    oracle.check(choice, totals)


def test_sizes_over_a_wide_range_are_put_into_classes() -> None:
    sizes = np.array([10.0, 11.0, 40.0, 80.0, 81.0, 500.0])
    classes, amounts, width = calibration._classes_of(sizes)
    assert width == 10.0
    assert classes.tolist() == [0, 0, 3, 7, 7, 49]
    assert amounts[[0, 3, 49]].tolist() == [15.0, 45.0, 505.0]
    classes, amounts, width = calibration._classes_of(np.array([3.0, 5.0, 4.0]))
    assert (classes.tolist(), amounts.tolist(), width) == ([0, 2, 1], [3.0, 4.0, 5.0], 1.0)


def test_the_order_of_memory_is_without_effect() -> None:
    counts, sizes, totals = case(np.random.default_rng(6), 60, 4, 3)
    strided = np.repeat(sizes, 2)[::2]
    expected = calibrated(counts, sizes, totals)
    assert calibrated(np.asfortranarray(counts), strided, totals).tolist() == expected.tolist()
