"""Searches for groups that cost less than they are worth, against all groups of tiny tables."""

import os

import numpy as np
import pytest

from algorithms.bounds.cuts import Cut
from algorithms.bounds.guessing import guess
from algorithms.bounds.pricing import answer
from algorithms.bounds.programme import Prices, Rules
from algorithms.bounds.shortfalls import Shortfalls, cut_arrays, ring_of
from algorithms.types import Matrix
from tests.oracles import bounds as oracle

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
PLENTY = 10**9
LONG = 1e12
N = 9


def tables(n: int, seed: int) -> list[Matrix]:
    rng = np.random.default_rng([n, seed])
    shape = (n, 2)
    return [rng.normal(size=shape), rng.standard_cauchy(shape), rng.integers(0, 4, shape) / 2.0]


def some_cut(rng: np.random.Generator) -> Cut:
    denominator = int(rng.integers(2, 6))
    rows = np.sort(rng.choice(N, int(rng.integers(2, N + 1)), replace=False))
    return denominator, tuple((int(row), int(rng.integers(1, denominator))) for row in rows)


def some_prices(x: Matrix, k: int, rng: np.random.Generator, cuts: int) -> Prices:
    spread = oracle.neighbour_bound(x, k) / len(x)
    paid = {some_cut(rng): float(rng.uniform(0.0, 2.0 * spread)) for _ in range(cuts)}
    return Prices(rng.normal(2.0 * spread, spread, len(x)), paid)


def some_rules(rng: np.random.Generator) -> Rules:
    pairs = [tuple(sorted(rng.choice(N, 2, replace=False).tolist())) for _ in range(4)]
    return Rules(
        frozenset(pairs[: rng.integers(0, 3)]), frozenset(pairs[3 - rng.integers(0, 2) : 3])
    )


def cost(x: Matrix, group: list[int], prices: Prices) -> float:
    rows = x[group]
    paid = sum(price * oracle.counted(cut, tuple(group)) for cut, price in prices.cuts.items())
    return float(((rows - rows.mean(axis=0)) ** 2).sum() + paid - prices.rows[group].sum())


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("work", [0, 30, PLENTY])
def test_groups_that_fall_short_are_those_of_all_groups(k: int, work: int) -> None:
    for seed in range(12 if COMPILED else 1):
        rng = np.random.default_rng(seed)
        for x in tables(N, seed):
            prices = some_prices(x, k, rng, cuts=seed % 4 * 3)
            rules = some_rules(rng) if seed % 2 else Rules()
            near = Shortfalls(x, k, 30)
            squares = near.squares.copy()
            for i, j in rules.apart:
                squares[i, j] = squares[j, i] = np.inf
            expected = oracle.shortfalls(x, k, prices, rules)
            cuts, ring = cut_arrays(N, prices.cuts), ring_of(N, rules)
            group = np.zeros(2 * k - 1, dtype=np.int64)
            for row in range(N):
                size, found, proven = answer(
                    squares, near.sums, prices.rows, cuts, ring, k, work, row, group
                )
                members = sorted(group[:size].tolist())
                assert proven <= expected[row] + 1e-7
                assert found >= expected[row] - 1e-7
                assert bool(members) == (found < 0.0)
                if work == PLENTY:
                    assert proven == pytest.approx(expected[row], abs=1e-7)
                    assert found == pytest.approx(expected[row], abs=1e-7)
                if members:
                    assert len(set(members)) == len(members) >= k
                    assert oracle.obeys(tuple(members), rules)
                    assert cost(x, members, prices) == pytest.approx(found)


def test_shortfalls_that_are_kept_are_those_that_are_found_again() -> None:
    """Prices and rules change a little, or a lot; some rows need no search."""
    k, saved = 2, 0
    for seed in range(40 if COMPILED else 3):
        rng = np.random.default_rng(seed)
        x = tables(N, seed)[seed % 3]
        x[: N // 2] += 1e3 * (seed % 2)  # two parts of which one may change alone
        kept = Shortfalls(x, k, 30)
        prices = some_prices(x, k, rng, cuts=4)
        rules = Rules()
        for _ in range(12 if COMPILED else 4):
            proof = kept.prove(prices, rules, PLENTY, LONG)
            fresh = Shortfalls(x, k, 30).prove(proof.prices, rules, PLENTY, LONG)
            short = oracle.shortfalls(x, k, proof.prices, rules)
            least = proof.prices.value() + np.sort(short)[: N // k].sum()
            assert proof.bound <= least + 1e-7
            assert proof.bound == pytest.approx(fresh.bound, abs=1e-7)
            saved += len(proof.groups) < len(fresh.groups)
            rows = proof.prices.rows.copy()
            rows[rng.integers(0, N)] *= rng.choice([1.0, 1.0 + 1e-12, 0.7, 1.2])
            cuts = {
                cut: price * rng.choice([0.0, 1.0, 2.0]) for cut, price in proof.prices.cuts.items()
            }
            if rng.random() < 0.3:
                cuts[some_cut(rng)] = float(rows.mean())
            prices = Prices(rows, cuts)
            rules = some_rules(rng) if rng.random() < 0.5 else rules
            if rng.random() < 0.3:
                rules = Rules(rules.apart, rules.together)
    assert saved or not COMPILED


def test_a_row_whose_search_was_cut_short_is_searched_again_with_more_work() -> None:
    x = tables(N, 1)[0]
    prices = some_prices(x, 3, np.random.default_rng(1), cuts=2)
    shortfalls = Shortfalls(x, 3, 30)
    bounds = [shortfalls.prove(prices, Rules(), work, LONG).bound for work in (0, 0, PLENTY)]
    assert bounds[0] == bounds[1] < bounds[2]
    assert bounds[2] == Shortfalls(x, 3, 30).prove(prices, Rules(), PLENTY, LONG).bound


def test_nothing_is_proven_in_no_time() -> None:
    x = tables(N, 1)[0]
    prices = some_prices(x, 3, np.random.default_rng(1), cuts=2)
    assert Shortfalls(x, 3, 30).prove(prices, Rules(), PLENTY, 0.0).bound == -np.inf


def test_rows_that_are_together_form_one_ring() -> None:
    ring = ring_of(6, Rules(frozenset({(0, 1), (1, 2), (0, 2), (4, 5)})))
    assert ring[3] == 3
    assert (ring[4], ring[5]) == (5, 4)
    assert {ring[0], ring[ring[0]], ring[ring[ring[0]]]} == {0, 1, 2}
    assert ring[ring[ring[0]]] == 0


@pytest.mark.parametrize("k", [2, 3, 4])
def test_guesses_are_groups_that_fall_short(k: int) -> None:
    some = 0
    for seed in range(8 if COMPILED else 1):
        rng = np.random.default_rng(seed)
        for x in tables(N, seed):
            prices = some_prices(x, k, rng, cuts=0)
            least = min(oracle.shortfalls(x, k, prices))
            tables_ = Shortfalls(x, k, 30)
            members, sizes = np.zeros((N, 2 * k - 1), dtype=np.int64), np.zeros(N, dtype=np.int64)
            guess(tables_.squares, tables_.near, prices.rows, k, members, sizes)
            for row in np.flatnonzero(sizes):
                group = members[row, : sizes[row]].tolist()
                assert group[0] == row
                assert len(set(group)) == len(group)
                assert k <= len(group) < 2 * k
                assert least - 1e-7 <= cost(x, group, prices) < 0.0
                some += 1
    assert some
