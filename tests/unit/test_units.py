"""Units that own several records: groups hold records of at least k of them."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.errors import ContractError, DataError
from algorithms.local_search import groups as groups_module
from algorithms.local_search.anneal import anneal, dissolve_everywhere
from algorithms.local_search.groups import FREE, Groups, groups_of, most_and_largest
from algorithms.local_search.moves import best_move, descend_everywhere
from algorithms.local_search.rebuild import most_groups, recreate, ruin
from algorithms.local_search.search import loss_of, search
from algorithms.local_search.units import cheapest_step, holdings_of, mend, repair, split_units
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.best import best
from algorithms.microaggregation.mdav import mdav
from algorithms.problem import Budget, Problem
from algorithms.rounding.grid import Grid
from algorithms.search.neighbours import neighbours
from algorithms.types import Labels, Matrix, Partition, units_per_group
from tests.oracles import search as search_oracle
from tests.oracles import units as oracle
from tests.problems import matrices

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"

Case = tuple[Matrix, int, Labels]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a table, a group size, and units of few or many records, at least k of them."""
    x = draw(matrices(least=2))
    k = draw(st.integers(2, min(6, len(x))))
    names = st.integers(-3, draw(st.integers(k - 3, 20)))
    units = np.array(draw(st.lists(names, min_size=len(x), max_size=len(x))))
    units[draw(st.permutations(range(len(x))))[:k]] = np.arange(k) * 2 - 3
    if draw(st.booleans()):  # records of a unit lie close together
        x = x + 50.0 * units[:, np.newaxis]
    return x, k, units


def table(seed: int, n: int = 60, d: int = 3, owners: int = 12) -> tuple[Matrix, Labels]:
    """Draw units whose records lie close together."""
    random = np.random.default_rng(seed)
    units = random.integers(0, owners, n)
    x = random.standard_t(3.0, size=(owners, d))[units] + random.normal(0.0, 0.4, (n, d))
    return x, units


def grid_for(x: Matrix) -> Grid:
    d = x.shape[1]
    return Grid(np.full(d, 0.1), np.where(np.arange(d) < d - 1, 0.7, 0.0), np.zeros(d, dtype=bool))


def taken_up(x: Matrix, k: int, units: Labels, grid: Grid | None = None) -> Groups:
    near = neighbours(x, min(8, len(x) - 1))
    return groups_of(x, near, repair(x, mdav(x, k), k, units), k, grid, 0, units)


@given(case=cases())
def test_units_of_groups_are_counted(case: Case) -> None:
    x, k, units = case
    labels = mdav(x, k)
    assert dict(enumerate(units_per_group(labels, units))) == oracle.counts(labels, units)


def test_a_partition_with_units_holds_k_of_them_in_every_group() -> None:
    labels, units = np.array([0, 0, 1, 1, 1]), np.array([3, 4, 4, 4, 9])
    groups = Partition(labels, 2, units)
    assert groups.units is not None
    assert groups.units.tolist() == units.tolist()
    with pytest.raises(ValueError, match="read-only"):
        groups.units[0] = 1
    units[0] = 4
    assert groups.units[0] == 3
    with pytest.raises(ContractError, match="of at least k=2 units; 1 of 2 hold fewer"):
        Partition(labels, 2, units)
    with pytest.raises(ContractError, match="units must be one number per record"):
        Partition(labels, 2, units[1:])


def test_joined_partitions_keep_their_units() -> None:
    one = Partition(np.array([0, 0]), 2, np.array([7, 8]))
    other = Partition(np.array([0, 0]), 2, np.array([5, 6]))
    joined = Partition.join([(np.array([3, 0]), one), (np.array([1, 2]), other)])
    assert joined.units is not None
    assert joined.units.tolist() == [8, 5, 6, 7]
    with pytest.raises(ContractError, match="must all have units, or none of them"):
        Partition.join([(np.array([3, 0]), one), (np.array([1, 2]), Partition(other.labels, 2))])


def test_a_problem_needs_as_many_units_as_a_group() -> None:
    x = np.zeros((4, 1))
    with pytest.raises(DataError, match="number of units; got k=3 for 2 units"):
        Problem(x, 3, units=np.array([1, 1, 2, 2]))
    with pytest.raises(ContractError, match="units must be one number per record"):
        Problem(x, 3, units=np.array([1, 2, 3]))


@pytest.mark.parametrize("name", list(METHODS))
@settings(max_examples=100 if COMPILED else 10)
@given(case=cases())
def test_groups_of_every_method_hold_k_units(name: str, case: Case) -> None:
    x, k, units = case
    path = np.argsort(x[:, 0], kind="stable") if METHODS[name].reads_path else None
    problem = Problem(x, k, path=path, units=units, budget=Budget(iterations=5))
    groups = METHODS[name].solve(problem)
    assert groups.units is not None
    assert min(oracle.counts(groups.labels, groups.units).values()) >= k
    assert groups.labels.tolist() == METHODS[name].solve(problem).labels.tolist()


@given(case=cases())
def test_units_of_one_record_each_change_nothing_of_a_method(case: Case) -> None:
    x, k, _ = case
    groups = METHODS["mdav"].solve(Problem(x, k, units=np.arange(len(x)) * 3))
    assert groups.labels.tolist() == METHODS["mdav"].solve(Problem(x, k)).labels.tolist()


@given(case=cases(), start=st.integers(0, 2))
def test_any_groups_can_be_repaired(case: Case, start: int) -> None:
    x, k, units = case
    starts = [np.arange(len(x)), np.arange(len(x)) // k, np.unique_inverse(units)[1]]
    before = starts[start].copy()
    repaired = repair(x, starts[start], k, units)
    assert min(oracle.counts(repaired, units).values()) >= k
    assert np.array_equal(np.unique(repaired), np.arange(repaired.max() + 1))
    assert np.array_equal(before, starts[start])


def test_groups_that_lack_nothing_stay_as_they_are() -> None:
    x, units = table(3, n=40)
    labels = repair(x, mdav(x, 3), 3, units)
    assert repair(x, labels, 3, units) is labels


def test_too_few_units_cannot_be_repaired() -> None:
    with pytest.raises(ContractError, match="groups of k=2 units cannot be formed of 1"):
        repair(np.zeros((4, 1)), np.array([0, 0, 1, 1]), 2, np.ones(4, dtype=np.int64))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_step_of_a_repair_is_the_cheapest_of_all(k: int) -> None:
    for seed in range(8 if COMPILED else 2):
        x, units = table(seed, n=36)
        labels = mdav(x, k)
        holdings = holdings_of(x, labels, k, units)
        for group, count in oracle.counts(labels, units).items():
            if count < k:
                rise, row, _ = cheapest_step(holdings, group)
                costs = list(oracle.steps(x, labels, k, units, group))
                assert rise == pytest.approx(min(costs, default=np.inf))
                assert (row >= 0) == bool(costs)
        assert not holdings.tally.any()
        assert not holdings.other_tally.any()


def test_large_groups_exchange_the_best_record_of_each_kind() -> None:
    # three units far from each other, in groups too large for all pairs of their records
    units = np.repeat([0, 1, 2], 40)
    x = np.random.default_rng(0).normal(size=(120, 2)) + units[:, np.newaxis] * 9.0
    repaired = repair(x, units, 3, units)
    assert np.bincount(repaired).tolist() == [40, 40, 40]
    assert (repaired != units).sum() == 6


def test_a_group_far_from_units_that_it_lacks_finds_them() -> None:
    # forty groups of one unit around each of them, more than those that are looked at first
    units = np.repeat([0, 1], 100)
    x = np.random.default_rng(1).normal(size=(200, 2)) + units[:, np.newaxis] * 50.0
    holdings = holdings_of(x, np.arange(200) // 2, 2, units)
    _, row, partner = cheapest_step(holdings, 0)
    assert units[row] == 1
    assert holdings.labels[partner] == 0
    mend(holdings, np.arange(100))
    assert oracle.lacking(holdings.labels, units, 2) == 0


def test_a_group_that_no_group_can_help_is_dissolved_far_away() -> None:
    # forty pairs of one unit become one group; no other group has a unit to spare
    units = np.array([0] * 80 + [0, 1] * 20)
    units[81::2] = np.arange(1, 21)
    x = np.random.default_rng(4).normal(size=(120, 2))
    x[80:] += 60.0
    repaired = repair(x, np.arange(120) // 2, 2, units)
    assert oracle.lacking(repaired, units, 2) == 0
    assert np.unique(repaired).size == 20


def test_a_unit_far_from_all_others_is_kept_together() -> None:
    units = np.array([0] * 12 + list(range(1, 13)))
    x = np.random.default_rng(2).normal(size=(24, 2))
    x[:12] = x[:12] * 0.01 + 100.0
    repaired = repair(x, mdav(x, 3), 3, units)
    assert np.bincount(repaired, weights=units == 0).max() >= 10


@given(case=cases())
def test_groups_are_split_while_two_can_be_formed(case: Case) -> None:
    x, k, units = case
    whole = np.zeros(len(x), dtype=np.int64)
    parts = split_units(x, whole, k, units, mdav)
    assert min(oracle.counts(parts, units).values()) >= k
    if oracle.spread(units) < 2 * k:
        assert not parts.any()


@given(case=cases())
def test_as_many_groups_as_units_allow_are_counted(case: Case) -> None:
    x, k, units = case
    most, largest = most_and_largest(units, k)
    assert most == oracle.most_groups(units, k)
    assert largest >= max(64, 8 * k)
    groups = groups_of(x, neighbours(x, 1), np.zeros(len(x), dtype=np.int64), k, None, 0, units)
    ruin(groups, 0)
    assert most_groups(groups) == most


@given(case=cases(), seed=st.integers(0, 9), blink=st.sampled_from([0.0, 0.3, 0.99]))
def test_as_many_groups_as_were_counted_can_be_formed(case: Case, seed: int, blink: float) -> None:
    x, k, units = case
    whole = np.zeros(len(x), dtype=np.int64)
    groups = groups_of(x, neighbours(x, 1), whole, k, None, seed, units)
    ruin(groups, 0)
    wanted = most_groups(groups)
    recreate(groups, wanted, blink)
    formed = groups.ruined[:wanted]
    assert (groups.distinct[formed] >= k).all()
    assert groups.sizes.sum() + groups.counts[FREE] >= len(x)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_best_move_is_the_best_of_all_that_keep_units(k: int, rounded: bool) -> None:
    x, units = table(k, n=45)
    grid = grid_for(x) if rounded else None
    groups = taken_up(x, k, units, grid)
    before = search_oracle.total_loss(x, groups.labels, grid)
    for row in range(len(x)):
        saved, group, _ = best_move(groups, row)
        near = groups.near[row]
        losses = [
            search_oracle.total_loss(x, labels, grid) - before
            for labels in oracle.moves_with_units(x, groups.labels, k, row, near, units)
        ]
        assert saved == pytest.approx(min([0.0, *losses]), abs=1e-8)
        assert (group == groups.labels[row]) == (saved == 0.0)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_what_is_known_of_units_stays_true_move_by_move(k: int, rounded: bool) -> None:
    x, units = table(10 + k)
    grid = grid_for(x) if rounded else None
    groups = taken_up(x, k, units, grid)
    losses = [groups.costs.sum()]
    for step in (descend_everywhere, dissolve_everywhere):
        step(groups)
        oracle.check_units(groups, k)
        losses.append(groups.costs.sum())
    assert losses == sorted(losses, reverse=True)
    for _ in range(200 if COMPILED else 20):
        anneal(groups, 1, 0.3)
        oracle.check_units(groups, k)
        known = groups.costs.sum()
        assert known == pytest.approx(search_oracle.total_loss(x, groups.labels, grid))


@given(case=cases(), rounded=st.booleans(), start=st.integers(0, 2))
@settings(max_examples=100 if COMPILED else 20)
def test_a_search_never_loses_more_than_its_repaired_start(
    case: Case, rounded: bool, start: int
) -> None:
    x, k, units = case
    grid = grid_for(x) if rounded else None
    labels = [None, mdav(x, k), np.zeros(len(x), dtype=np.int64)][start]
    found, again = (best(x, k, grid, labels, Budget(iterations=20), units=units) for _ in range(2))
    before = repair(x, mdav(x, k) if labels is None else labels, k, units)
    assert loss_of(x, found, grid) <= loss_of(x, before, grid) * (1.0 + 1e-12)
    assert min(oracle.counts(found, units).values()) >= k
    assert found.tolist() == again.tolist()


def test_a_search_improves_repaired_groups_within_its_default_budget() -> None:
    x, units = table(1, n=40)
    repaired = repair(x, mdav(x, 3), 3, units)
    assert loss_of(x, search(x, repaired, 3, units=units)) < loss_of(x, repaired)


def test_units_of_one_record_each_are_grouped_about_as_well_as_records() -> None:
    x, _ = table(7, n=80)
    free = loss_of(x, search(x, mdav(x, 3), 3, iterations=400))
    counted = loss_of(x, search(x, mdav(x, 3), 3, iterations=400, units=np.arange(80)))
    assert counted < 1.1 * free


def test_groups_too_large_for_the_search_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_module, "CAPACITY", 1)
    random = np.random.default_rng(5)
    # one unit owns more records than a group has room for
    units = np.concatenate([np.zeros(150, dtype=np.int64), np.arange(1, 101)])
    x = random.normal(size=(250, 2))
    x[:150] = x[:150] * 0.01 + 50.0
    start = repair(x, mdav(x, 2), 2, units)
    large = np.bincount(start).argmax()
    assert np.bincount(start)[large] > most_and_largest(units, 2)[1]
    found = search(x, start, 2, iterations=50, units=units)
    assert np.unique(found[start == large]).size == 1
    assert loss_of(x, found) < loss_of(x, start)


def test_no_group_may_fit_into_the_search() -> None:
    units = np.repeat([0, 1], 100)
    x = np.random.default_rng(6).normal(size=(200, 2)) + units[:, np.newaxis] * 50.0
    start = 1 - units
    start[[0, 100]] = [0, 1]
    assert search(x, start, 2, iterations=50, units=units).tolist() == start.tolist()
