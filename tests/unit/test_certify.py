"""The bound by column generation, against all groups of tiny tables."""

import itertools
import os

import numpy as np
import pytest

from algorithms.bounds import column_generation, relaxation, strongest
from algorithms.bounds.branching import branch_and_price
from algorithms.bounds.column_generation import group_bound
from algorithms.bounds.programme import Prices, Programme, Rules
from algorithms.bounds.relaxation import Node, Relaxation
from algorithms.evaluation import Evaluation, evaluate
from algorithms.microaggregation.mdav import mdav
from algorithms.types import Matrix
from tests.oracles import bounds as oracle
from tests.tables import compare_rows
from tests.unit.test_pricing import tables

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
LONG = 1e6
"""Seconds that are never spent."""


def certified(x: Matrix, masked: Matrix, k: int) -> Evaluation:
    return evaluate(compare_rows(x, masked, k), options={"certify_seconds": LONG})


@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 7), (3, 5), (3, 8), (4, 9), (2, 11)])
def test_a_best_partition_is_proven_optimal(k: int, n: int) -> None:
    for seed in range(4 if COMPILED else 1):
        for x in tables(n, seed):
            found = group_bound(x, k, mdav(x, k), LONG)
            least = oracle.least_sse(x[np.newaxis], k)[0]
            assert found.optimal
            assert found.value <= least * (1.0 + 1e-12)
            assert found.value == pytest.approx(least, rel=2e-7, abs=1e-8)
            costs = dict(oracle.all_groups(x, k))
            assert sum(costs[group] for group in found.groups) == pytest.approx(least, rel=2e-7)
            assert sorted(row for group in found.groups for row in group) == list(range(n))
            assert found.rounds >= 0
            assert found.cuts >= 0


@pytest.mark.parametrize("k", [2, 3])
def test_the_bound_is_as_good_from_any_start(k: int) -> None:
    for x in tables(8, k):
        starts = [np.zeros(8, dtype=np.int64), np.arange(8) // k, np.arange(8)]
        expected = pytest.approx(oracle.least_sse(x[np.newaxis], k)[0], rel=2e-7, abs=1e-8)
        assert [group_bound(x, k, start, LONG).value for start in starts] == [expected] * 3


def awkward_tables(rng: np.random.Generator) -> list[Matrix]:
    """Generate ties, duplicates, outliers, wide ranges, and records that are all the same."""
    n, d = int(rng.integers(4, 10)), int(rng.integers(1, 4))
    plain, outlying = rng.normal(size=(2, n, d))
    outlying[rng.integers(0, n)] *= 1e3
    duplicates = plain[rng.integers(0, n, n)]
    wide = rng.lognormal(0.0, 3.0, size=(n, d))
    few = rng.integers(0, 2, (n, d)).astype(np.float64)
    return [plain, outlying, duplicates, wide, few, np.repeat(plain[:1], n, axis=0)]


def test_the_bound_never_exceeds_the_optimum() -> None:
    for seed in range(25 if COMPILED else 1):
        rng = np.random.default_rng(seed)
        for x in awkward_tables(rng):
            k = int(rng.integers(2, min(4, len(x)) + 1))
            least = oracle.least_sse(x[np.newaxis], k)[0]
            for rounds in (1, np.inf):
                found = group_bound(x, k, mdav(x, k), LONG, rounds)
                assert found.value <= least * (1.0 + 1e-12) + 1e-15
                if found.optimal:
                    assert found.value == pytest.approx(least, rel=2e-7, abs=1e-8)
            assert found.optimal


def test_what_is_found_in_no_time_is_a_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tables(9, 0)[0]
    least = oracle.least_sse(x[np.newaxis], 2)[0]
    found = group_bound(x, 2, mdav(x, 2), 0.0)
    assert found.value == pytest.approx(oracle.neighbour_bound(x, 2), rel=1e-6)
    assert (found.rounds, found.cuts, found.optimal) == (0, 0, False)
    # time runs out when prices have been found, when they are tested, and after that
    for ticks in [*range(1, 40), 100]:
        clock = itertools.chain([0.0] * ticks, itertools.repeat(2.0))
        monkeypatch.setattr(relaxation.time, "monotonic", lambda clock=clock: next(clock))
        monkeypatch.setattr(column_generation, "search", lambda *given, **_: given[1])
        found = group_bound(x, 2, mdav(x, 2), 1.0)
        assert 0.0 < found.value <= least


def test_the_same_rounds_give_the_same_bound() -> None:
    x = tables(14, 3)[0]
    bounds = [group_bound(x, 2, mdav(x, 2), LONG, rounds) for rounds in (0, 3, 3, 6, 1000)]
    assert bounds[1] == bounds[2]
    values = [bound.value for bound in bounds]
    assert values == sorted(values)
    assert bounds[0].value == pytest.approx(oracle.neighbour_bound(x, 2))
    assert bounds[1].rounds <= 3


def test_a_search_that_was_cut_short_is_repeated_with_more_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(1).normal(size=(12 if COMPILED else 8, 2))
    full = group_bound(x, 3, mdav(x, 3), LONG).value
    monkeypatch.setattr(relaxation, "FIRST_WORK", 1)
    assert group_bound(x, 3, mdav(x, 3), LONG).value == pytest.approx(full, rel=2e-4)
    monkeypatch.setattr(relaxation, "MOST_WORK", 1)
    assert 0.0 < group_bound(x, 3, mdav(x, 3), LONG).value <= full * (1.0 + 2e-4)


def test_groups_that_are_not_guessed_are_found_by_search(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).normal(size=(12 if COMPILED else 8, 2))
    full = group_bound(x, 3, mdav(x, 3), LONG)
    monkeypatch.setattr(relaxation, "FAILED_GUESSES", 0)
    found = group_bound(x, 3, mdav(x, 3), LONG)
    assert found.value == pytest.approx(full.value, rel=2e-7)
    assert found.rounds > 0


@pytest.mark.parametrize("k", [2, 3])
def test_without_cuts_branches_prove_what_is_optimal(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaxation, "violated_cuts", lambda *_: [])
    monkeypatch.setattr(Programme, "whole", lambda *_: None)
    branched = 0
    for seed in range(6 if COMPILED else 2):
        for x in tables(10 if COMPILED else 8, seed):
            found = group_bound(x, k, np.zeros(len(x), dtype=np.int64), LONG)
            least = oracle.least_sse(x[np.newaxis], k)[0]
            assert found.optimal
            assert found.cuts == 0
            assert found.value == pytest.approx(least, rel=2e-7, abs=1e-8)
            branched += found.value > oracle.fractional_sse(x, k) * (1.0 + 1e-6)
    assert branched


@pytest.mark.parametrize("k", [2, 3])
def test_a_branch_has_the_bound_of_its_partitions(k: int) -> None:
    n = 8
    for seed in range(6 if COMPILED else 1):
        rng = np.random.default_rng(seed)
        for x in tables(n, seed):
            found = Relaxation(x, k, np.zeros(n, dtype=np.int64), LONG, np.inf)
            root, _ = found.root()
            found.programme.most = np.full(n, found.best)
            for _ in range(3):
                first, second = (tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(2))
                rules = Rules(frozenset({first}), frozenset({second} - {first}))
                least = oracle.least_sse_with_rules(x, k, rules)
                node, _ = found.tighten(Node(rules, root.bound, root.prices))
                assert root.bound <= node.bound <= least * (1.0 + 1e-9) + 1e-9


def test_a_bound_needs_no_solution_of_the_programme() -> None:
    x = tables(9, 0)[0]
    found = Relaxation(x, 2, np.zeros(9, dtype=np.int64), LONG, np.inf)
    found.programme.costs = {}
    found.programme.add([np.arange(4)])
    assert found.programme.solve(Rules(), LONG) is None
    assert found.solve(Rules()) is None
    root, solution = found.root()
    assert solution is None
    assert root.bound == pytest.approx(oracle.neighbour_bound(x, 2))


def test_a_tree_ends_where_no_pair_is_left_to_divide() -> None:
    """Rows that pay too little in the programme, which then seems whole."""
    x = tables(9, 0)[0]
    found = Relaxation(x, 2, np.zeros(9, dtype=np.int64), LONG, np.inf)
    prices = Prices(np.zeros(9))
    root = Node(Rules(), 0.0, prices)
    found.programme.costs = {}
    found.programme.add([np.arange(9)])
    solution = found.solve(Rules())
    assert solution is not None
    assert branch_and_price(found, root, solution) == 0.0


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
    assert "(proven by column generation with cuts, in " in found.certificate
    assert found.notes["il_bound"].endswith("; a partition that loses no more is known")
    monkeypatch.setattr(strongest, "LARGEST_TABLE", 5)
    large = certified(x, masked, 2)
    assert "column generation" not in large.notes["il_bound"]
    assert large.measures["il_bound"] >= plain.measures["il_bound"]


def test_a_release_is_certified_where_that_comes_to_a_better_bound() -> None:
    x = tables(9, 0)[0]
    masked = np.tile(x.mean(axis=0), (9, 1))
    found = certified(x, masked, 3)
    rounds = {"bound_rounds": strongest.DEFAULT_ROUNDS}
    semidefinite = evaluate(compare_rows(x, masked, 3), options=rounds)
    assert found.measures["il_bound"] >= semidefinite.measures["il_bound"]
    assert found.notes["il_bound"].startswith("Proven: by column generation with cuts, in ")


def test_a_release_with_groups_that_are_too_small_is_certified_too() -> None:
    x = tables(9, 0)[0]
    k_anonymous = np.tile(x.mean(axis=0), (9, 1))
    alone, together = (certified(x, masked, 3).measures["il_bound"] for masked in (x, k_anonymous))
    assert alone == pytest.approx(together, rel=2e-4)


def test_a_release_without_time_to_certify_has_the_semidefinite_bound() -> None:
    x = tables(20, 1)[1]
    masked = np.tile(x.mean(axis=0), (20, 1))
    found = evaluate(compare_rows(x, masked, 3), options={"certify_seconds": 1e-9})
    rounds = {"bound_rounds": strongest.DEFAULT_ROUNDS}
    semidefinite = evaluate(compare_rows(x, masked, 3), options=rounds)
    assert found.measures["il_bound"] == semidefinite.measures["il_bound"]
    assert found.notes["il_bound"] == semidefinite.notes["il_bound"]
