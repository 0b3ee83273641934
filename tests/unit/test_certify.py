"""The bound by column generation, against all groups of tiny tables."""

import itertools
import os

import numpy as np
import pytest

from algorithms.bounds import column_generation
from algorithms.bounds.column_generation import group_bound
from algorithms.bounds.pricing import all_squares, answer, guess
from algorithms.evaluation import Evaluation, evaluate
from algorithms.microaggregation.mdav import mdav
from algorithms.types import Matrix
from algorithms.utility import certificate
from tests.oracles import bounds as oracle
from tests.tables import compare_rows

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
LONG = 1e6
"""Seconds that are never spent."""


def certified(x: Matrix, masked: Matrix, k: int) -> Evaluation:
    return evaluate(compare_rows(x, masked, k), options={"certify_seconds": LONG})


def tables(n: int, seed: int) -> list[Matrix]:
    rng = np.random.default_rng([n, seed])
    shape = (n, 2)
    return [rng.normal(size=shape), rng.standard_cauchy(shape), rng.integers(0, 4, shape) / 2.0]


def answered(
    x: Matrix, k: int, prices: Matrix, work: int
) -> tuple[Matrix, Matrix, list[list[int]]]:
    squares = all_squares(x)
    _, sums = column_generation._nearest(squares, k)
    group = np.zeros(2 * k - 1, dtype=np.int64)
    found, proven, groups = [], [], []
    for row in range(len(x)):
        size, short, at_most = answer(squares, sums, prices, k, work, row, group)
        found.append(short)
        proven.append(at_most)
        groups.append(sorted(group[:size].tolist()))
    return np.array(found), np.array(proven), groups


def some_prices(x: Matrix, k: int, seed: int) -> Matrix:
    spread = oracle.neighbour_bound(x, k) / len(x)
    return np.random.default_rng(seed).normal(2.0 * spread, spread, len(x))


def shortfall(x: Matrix, group: list[int], prices: Matrix) -> float:
    rows = x[group]
    return float(((rows - rows.mean(axis=0)) ** 2).sum() - prices[group].sum())


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("work", [0, 30, 10**9])
def test_groups_that_fall_short_are_those_of_all_groups(k: int, work: int) -> None:
    for seed in range(8 if COMPILED else 1):
        for x in tables(9, seed):
            prices = some_prices(x, k, seed)
            expected = oracle.shortfalls(x, k, prices)
            found, proven, groups = answered(x, k, prices, work)
            assert (proven <= expected + 1e-7).all()
            assert (found >= expected - 1e-7).all()
            if work == 10**9:
                np.testing.assert_allclose(proven, expected, atol=1e-7)
                np.testing.assert_allclose(found, expected, atol=1e-7)
            for group, short in zip(groups, found, strict=True):
                assert bool(group) == (short < 0.0)
                if group:
                    assert len(set(group)) == len(group) >= k
                    assert shortfall(x, group, prices) == pytest.approx(short)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_guesses_are_groups_that_fall_short(k: int) -> None:
    some = 0
    for seed in range(8 if COMPILED else 1):
        for x in tables(9, seed):
            prices = some_prices(x, k, seed)
            least = min(oracle.shortfalls(x, k, prices))
            squares = all_squares(x)
            near, _ = column_generation._nearest(squares, k)
            members, sizes = np.zeros((9, 2 * k - 1), dtype=np.int64), np.zeros(9, dtype=np.int64)
            guess(squares, near, prices, k, members, sizes)
            for row in np.flatnonzero(sizes):
                group = members[row, : sizes[row]].tolist()
                assert group[0] == row
                assert len(set(group)) == len(group)
                assert k <= len(group) < 2 * k
                assert least - 1e-7 <= shortfall(x, group, prices) < 0.0
                some += 1
    assert some


@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 7), (3, 5), (3, 8), (4, 9)])
def test_the_bound_is_that_of_fractions_of_all_groups(k: int, n: int) -> None:
    for seed in range(4 if COMPILED else 1):
        for x in tables(n, seed):
            found, rounds = group_bound(x, k, mdav(x, k), LONG)
            fractional = oracle.fractional_sse(x, k)
            assert found <= oracle.least_sse(x[np.newaxis], k)[0] * (1.0 + 1e-9)
            assert found <= fractional * (1.0 + 1e-9)
            assert found == pytest.approx(fractional, rel=2e-4, abs=1e-6)
            assert rounds >= 0


@pytest.mark.parametrize("k", [2, 3])
def test_the_bound_is_as_good_from_any_start(k: int) -> None:
    for x in tables(8, k):
        starts = [np.zeros(8, dtype=np.int64), np.arange(8) // k, np.arange(8)]
        expected = pytest.approx(oracle.fractional_sse(x, k), rel=2e-4, abs=1e-6)
        assert [group_bound(x, k, start, LONG)[0] for start in starts] == [expected] * 3


def test_what_is_found_in_no_time_is_a_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tables(9, 0)[0]
    least = oracle.least_sse(x[np.newaxis], 2)[0]
    assert group_bound(x, 2, mdav(x, 2), 0.0) == (
        pytest.approx(oracle.neighbour_bound(x, 2), rel=1e-6),
        0,
    )
    # time runs out when prices have been found, when they are tested, and after that
    for ticks in range(1, 8):
        clock = itertools.chain([0.0] * ticks, itertools.repeat(2.0))
        monkeypatch.setattr(column_generation.time, "monotonic", lambda clock=clock: next(clock))
        monkeypatch.setattr(column_generation, "search", lambda *given, **_: given[1])
        found, _ = group_bound(x, 2, mdav(x, 2), 1.0)
        assert 0.0 < found <= least


def test_a_search_that_was_cut_short_is_repeated_with_more_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(1).normal(size=(12 if COMPILED else 8, 2))
    full, _ = group_bound(x, 3, mdav(x, 3), LONG)
    monkeypatch.setattr(column_generation, "FIRST_WORK", 1)
    assert group_bound(x, 3, mdav(x, 3), LONG)[0] == pytest.approx(full, rel=2e-4)
    monkeypatch.setattr(column_generation, "MOST_WORK", 1)
    assert 0.0 < group_bound(x, 3, mdav(x, 3), LONG)[0] <= full * (1.0 + 2e-4)


def test_groups_that_are_not_guessed_are_found_by_search(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).normal(size=(12 if COMPILED else 8, 2))
    full, few = group_bound(x, 3, mdav(x, 3), LONG)
    monkeypatch.setattr(column_generation, "FAILED_GUESSES", 0)
    found, more = group_bound(x, 3, mdav(x, 3), LONG)
    assert found == pytest.approx(full, rel=2e-4)
    assert more > few


def test_a_certified_release_tells_how_near_the_optimum_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0], [30.0, 0.0], [30.0, 1.0]])
    masked = np.repeat((x[::2] + x[1::2]) / 2.0, 2, axis=0)
    plain = evaluate(compare_rows(x, masked, 2))
    found = certified(x, masked, 2)
    assert "column generation" in found.notes["il_bound"]
    assert "il_bound" not in plain.notes
    assert found.measures["il_over_bound"] == pytest.approx(1.0, rel=1e-3)
    assert "within 0.00 % of the optimum" in found.certificate
    monkeypatch.setattr(certificate, "LARGEST_TABLE", 5)
    large = certified(x, masked, 2)
    assert large.notes["il_bound"] == (
        "Proven: by weighted distances; column generation takes at most 5 records"
    )
    assert large.measures["il_bound"] >= plain.measures["il_bound"]


def test_a_release_is_certified_where_that_comes_to_a_better_bound() -> None:
    x = tables(9, 0)[0]
    masked = np.tile(x.mean(axis=0), (9, 1))
    found = certified(x, masked, 3)
    rounds = {"bound_rounds": certificate.CERTIFY_ROUNDS}
    weighted = evaluate(compare_rows(x, masked, 3), options=rounds)
    assert found.measures["il_bound"] > weighted.measures["il_bound"]
    assert found.notes["il_bound"].startswith("Proven: by column generation, in ")


def test_a_release_with_groups_that_are_too_small_is_certified_too() -> None:
    x = tables(9, 0)[0]
    k_anonymous = np.tile(x.mean(axis=0), (9, 1))
    alone, together = (certified(x, masked, 3).measures["il_bound"] for masked in (x, k_anonymous))
    assert alone == pytest.approx(together, rel=2e-4)


def test_a_release_without_time_to_certify_has_the_weighted_bound() -> None:
    x = tables(20, 1)[1]
    masked = np.tile(x.mean(axis=0), (20, 1))
    found = evaluate(compare_rows(x, masked, 3), options={"certify_seconds": 1e-9})
    rounds = {"bound_rounds": certificate.CERTIFY_ROUNDS}
    weighted = evaluate(compare_rows(x, masked, 3), options=rounds)
    assert found.measures["il_bound"] == weighted.measures["il_bound"]
    assert found.notes["il_bound"] == (
        "Proven: by weighted distances; column generation reached no better bound in 0 rounds"
    )
