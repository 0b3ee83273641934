"""Cuts: valid for all partitions, violated where they are found."""

import itertools
import os

import numpy as np
import pytest

from algorithms.bounds import separation
from algorithms.bounds.cuts import cut_arrays, limit
from algorithms.bounds.programme import Prices, Programme, Rules, Solution
from algorithms.bounds.separation import (
    LEAST_VIOLATION,
    MOST_CUTS,
    MOST_OF_ROW,
    violated_cuts,
)
from tests.oracles import bounds as oracle
from tests.unit.test_pricing import some_cut, tables

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"


def solutions(n: int, k: int, count: int) -> list[Solution]:
    found = []
    for seed in range(count if COMPILED else 2):
        for x in tables(n, seed):
            groups, fractions = oracle.fractions_of_groups(x, k)
            found.append(Solution(0.0, groups, fractions, Prices(np.zeros(n))))
    return found


@pytest.mark.parametrize("k", [2, 3, 4])
def test_all_partitions_meet_each_cut(k: int) -> None:
    partitions = list(oracle.all_partitions(tuple(range(9)), k))
    for seed in range(30):
        cut = some_cut(np.random.default_rng(seed))
        counts = {sum(oracle.counted(cut, group) for group in groups) for groups in partitions}
        assert max(counts) <= limit(cut)


@pytest.mark.parametrize(("k", "n"), [(2, 7), (2, 9), (3, 8), (3, 10), (4, 9)])
def test_cuts_that_are_found_are_violated(k: int, n: int) -> None:
    kinds = set()
    for solution in solutions(n, k, 12):
        groups, fractions = solution.parts()
        cuts = violated_cuts(solution, set())
        assert len(set(cuts)) == len(cuts)
        for cut in cuts:
            assert (
                oracle.violation(cut, solution.groups, solution.fractions) > LEAST_VIOLATION - 1e-6
            )
            assert all(0 < part < cut[0] for _, part in cut[1])
            kinds.add(cut[0])
        triples = {
            tuple((row, 1) for row in rows)
            for rows in itertools.combinations(range(n), 3)
            if oracle.violation((2, tuple((row, 1) for row in rows)), groups, fractions)
            > LEAST_VIOLATION
        }
        found = {parts for denominator, parts in cuts if denominator == 2}
        assert found <= triples
        assert bool(triples) <= bool(cuts)
        assert not set(cuts) & set(violated_cuts(solution, set(cuts)))
    assert kinds


def test_all_violated_triples_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "MOST_OF_ROW", 10**6)
    monkeypatch.setattr(separation, "MOST_CUTS", 10**6)
    many = 0
    for solution in solutions(10, 2, 12):
        groups, fractions = solution.parts()
        triples = {
            (2, tuple((row, 1) for row in rows))
            for rows in itertools.combinations(range(10), 3)
            if oracle.violation((2, tuple((row, 1) for row in rows)), groups, fractions)
            > LEAST_VIOLATION
        }
        assert {cut for cut in violated_cuts(solution, set()) if cut[0] == 2} == triples
        many += len(triples)
    assert many


def test_cuts_that_share_a_row_are_not_added_all_at_once() -> None:
    """Every two of 24 rows in one group, a little of each: all triples are violated alike."""
    groups = list(itertools.combinations(range(24), 2))
    solution = Solution(0.0, groups, np.full(len(groups), 0.5), Prices(np.zeros(24)))
    cuts = violated_cuts(solution, set())
    times = [sum(row == other for _, parts in cuts for other, _ in parts) for row in range(24)]
    assert max(times) == MOST_OF_ROW
    assert len(cuts) < MOST_CUTS


def test_the_number_of_cuts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "MOST_CUTS", 2)
    groups = list(itertools.combinations(range(24), 2))
    solution = Solution(0.0, groups, np.full(len(groups), 0.5), Prices(np.zeros(24)))
    assert len(violated_cuts(solution, set())) == 2


def test_whole_groups_violate_no_cut() -> None:
    solution = Solution(0.0, [(0, 1), (2, 3)], np.ones(2), Prices(np.zeros(4)))
    assert violated_cuts(solution, set()) == []


def test_cuts_are_kept_by_row_if_they_cost_something() -> None:
    first, second = (2, ((0, 1), (3, 1))), (3, ((1, 2), (3, 1)))
    found = cut_arrays(5, {first: 0.5, second: 0.25, (2, ((4, 1),)): 0.0})
    assert found.starts.tolist() == [0, 1, 2, 2, 4, 4]
    assert found.numbers.tolist() == [0, 1, 0, 1]
    assert found.parts.tolist() == [1, 2, 1, 1]
    assert found.denominators.tolist() == [2, 3]
    assert found.prices.tolist() == [0.5, 0.25]
    assert cut_arrays(5, {}).starts.tolist() == [0] * 6


@pytest.mark.parametrize("k", [2, 3])
def test_a_programme_meets_its_cuts_and_its_rules(k: int) -> None:
    rng = np.random.default_rng(k)
    for x in tables(9, k):
        programme = Programme(x)
        programme.add(np.array(group) for group, _ in oracle.all_groups(x, k))
        plain = programme.solve(Rules(), 60.0)
        assert plain is not None
        assert plain.value == pytest.approx(oracle.fractional_sse(x, k))
        programme.cuts = [some_cut(rng) for _ in range(5)]
        rules = Rules(frozenset({(0, 1)}), frozenset({(2, 3)}))
        solution = programme.solve(rules, 60.0)
        assert solution is not None
        assert plain.value <= solution.value + 1e-9
        for cut in programme.cuts:
            assert oracle.violation(cut, solution.groups, solution.fractions) < 1e-6
        chosen = itertools.compress(solution.groups, solution.fractions > 1e-6)
        assert all(oracle.obeys(group, rules) for group in chosen)
        # what the prices are worth is what the fractions cost, and no group costs less
        assert solution.prices.value() == pytest.approx(solution.value)
        assert oracle.shortfalls(x, k, solution.prices, rules).min() > -1e-6


def test_a_programme_forgets_what_costs_much_more_than_it_is_worth() -> None:
    x = tables(9, 0)[0]
    programme = Programme(x)
    programme.add(np.array(group) for group, _ in oracle.all_groups(x, 2))
    cut = some_cut(np.random.default_rng(3))
    prices = Prices(np.full(9, 0.3), {cut: 0.2})
    for paid in (prices, Prices(prices.rows)):
        before = dict(programme.costs)
        programme.keep(paid, 0.5)
        assert 0 < len(programme.costs) <= len(before)
        for group, sse in before.items():
            more = sse - paid.rows[list(group)].sum()
            more += sum(price * oracle.counted(cut, group) for price in paid.cuts.values())
            assert (more <= 0.5) == (group in programme.costs)


def test_a_programme_chooses_whole_groups() -> None:
    for x in tables(9, 2):
        programme = Programme(x)
        programme.add(np.array(group) for group, _ in oracle.all_groups(x, 2))
        groups = programme.whole(60.0)
        assert groups is not None
        assert sum(programme.costs[group] for group in groups) == pytest.approx(
            oracle.least_sse(x[np.newaxis], 2)[0]
        )
    lonely = Programme(x)
    lonely.add([np.arange(3)])
    assert lonely.whole(60.0) is None
