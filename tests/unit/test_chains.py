"""Chains of the search, which exchange their changes, and the gap at which they stop."""

import os

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.attributes import Category, Number
from algorithms.attributes.missing import WithMissing
from algorithms.blocks.cuts import Blocks
from algorithms.comparison import Comparison
from algorithms.errors import ContractError, DataError, SpecError
from algorithms.evaluation import evaluate
from algorithms.local_search import groups as groups_module
from algorithms.local_search import search as search_module
from algorithms.local_search.anneal import anneal
from algorithms.local_search.chains import Chains, merged, take_up
from algorithms.local_search.groups import Groups, groups_of
from algorithms.local_search.moves import descend_everywhere
from algorithms.local_search.search import loss_of, search
from algorithms.local_search.units import repair
from algorithms.masking import Plan, mask, paths, record_sets
from algorithms.masking import group as group_records
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.best import best
from algorithms.microaggregation.mdav import mdav
from algorithms.problem import Bound, Budget, Problem
from algorithms.search.neighbours import neighbours
from algorithms.series.cohorts import Cohorts
from algorithms.table import Stratum, Table
from algorithms.types import Found, Labels, Matrix, Partition, units_per_group
from tests.conftest import Request
from tests.oracles import search as oracle

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
ROUNDS, MANY_ROUNDS = (100, 400) if COMPILED else (40, 40)


def table(seed: int, n: int = 120, d: int = 3) -> Matrix:
    return np.random.default_rng(seed).standard_t(3.0, size=(n, d)).round(1)


def taken_up(x: Matrix, k: int, seed: int = 0) -> Groups:
    return groups_of(x, neighbours(x, 8), mdav(x, k), k, None, seed)


@pytest.mark.parametrize("chains", [1, 2, 3])
def test_groups_are_the_same_on_any_number_of_threads(
    chains: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "SLICE", 7)
    x = table(1)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
        labels = best(x, 3, budget=Budget(ROUNDS), chains=chains)
        found.append(labels.tolist())
    assert found[0] == found[1] == found[2]


def test_the_number_of_chains_decides_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "SLICE", 7)
    x = table(2)
    found = {
        tuple(best(x, 3, budget=Budget(ROUNDS), chains=chains).tolist()) for chains in (1, 2, 3)
    }
    assert len(found) == 3


def test_one_chain_anneals_as_if_there_were_no_chains() -> None:
    x = table(3)
    plain, only = taken_up(x, 3), taken_up(x, 3)
    chains = Chains(only, 1, seed=0)
    for rounds in (5, 9):
        anneal(plain, rounds, 0.3)
        chains.anneal(rounds, 0.3)
    assert chains.labels.tolist() == plain.labels.tolist()
    assert chains.loss == pytest.approx(plain.costs.sum())


def test_chains_know_what_the_groups_that_they_exchange_lose() -> None:
    x = table(4)
    chains = Chains(taken_up(x, 3), 3, seed=0)
    for _ in range(12 if COMPILED else 3):
        chains.anneal(10, 0.3)
        labels = chains.labels
        assert Partition(labels, k=3).sizes.max() < 6
        assert chains.loss == pytest.approx(oracle.total_loss(x, labels, None))
        assert chains.costs == pytest.approx(
            [oracle.loss(x[labels == each], None) for each in np.unique(labels)]
        )


def test_groups_taken_up_again_are_those_of_the_labels() -> None:
    x = table(5)
    groups = taken_up(x, 3)
    anneal(groups, 30, 1.0)
    take_up(groups, mdav(x, 4))
    oracle.check(groups, None)
    descend_everywhere(groups)
    oracle.check(groups, None)


@given(seed=st.integers(0, 99), rounds=st.tuples(st.integers(0, 6), st.integers(0, 6)))
def test_changes_that_do_not_meet_are_joined_and_others_the_better_is_kept(
    seed: int, rounds: tuple[int, int]
) -> None:
    x = table(seed, n=60, d=2)
    before = mdav(x, 3)
    one, two = (taken_up(x, 3, seed=number) for number in (seed, seed + 1))
    for groups, own in zip((one, two), rounds, strict=True):
        anneal(groups, own, 2.0)
    labels, costs = merged(before, one.labels, one.costs, two.labels, two.costs)
    found = {frozenset(np.flatnonzero(labels == each).tolist()) for each in np.unique(labels)}
    assert found == oracle.merged(x, before, one.labels, two.labels)
    assert costs.sum() == pytest.approx(oracle.total_loss(x, labels, None))


def test_chains_that_share_a_seed_draw_numbers_of_their_own() -> None:
    x = table(6)
    chains = Chains(taken_up(x, 3), 3, seed=0)
    states = [tuple(chain.counts[groups_module.RANDOM :].tolist()) for chain in chains._chains]
    assert len(set(states)) == 3


def test_chains_form_groups_of_k_units() -> None:
    x = table(7)
    units = np.arange(120) // 3
    found = search(x, mdav(x, 3), 3, iterations=ROUNDS, chains=3, units=units)
    assert units_per_group(found, units).min() >= 3


class Told:
    """Keeps what a watch is told."""

    def __init__(self) -> None:
        self.all: list[tuple[int, float, Found | None]] = []

    def __call__(self, done: int, share: float, found: Found | None = None, /) -> None:
        self.all.append((done, share, found))

    @property
    def last(self) -> Found:
        found = self.all[-1][2]
        assert found is not None
        return found


def test_a_search_stops_at_a_proven_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "SLICE", 5)
    x = table(8)
    start = loss_of(x, search(x, mdav(x, 3), 3, iterations=0))
    goal = loss_of(x, search(x, mdav(x, 3), 3, iterations=ROUNDS))
    bound = Bound((start + goal) / 2.0, lambda labels: loss_of(x, labels))
    told = Told()
    found = best(x, 3, None, None, Budget(ROUNDS), told, None, bound, gap=1e-9)
    done, share, _ = told.all[-1]
    assert 0 < done < ROUNDS
    assert share < 1.0
    assert told.last.stopped
    assert told.last.planned == ROUNDS
    assert bound.proves(found, 1e-9)
    assert told.last.loss == pytest.approx(loss_of(x, found))
    assert [found is not None and found.stopped for _, _, found in told.all].count(True) == 1


def test_a_search_that_proves_nothing_spends_its_budget() -> None:
    x = table(9)
    bound = Bound(1e-9, lambda labels: loss_of(x, labels))
    told = Told()
    best(x, 3, None, None, Budget(30), told, None, bound, gap=50.0)
    assert told.all[-1][:2] == (30, 1.0)
    assert not told.last.stopped


def test_what_is_published_may_lose_more_than_what_the_search_minimises() -> None:
    x = table(10)
    least = loss_of(x, search(x, mdav(x, 3), 3, iterations=0))
    bound = Bound(2.0 * least, lambda labels: 3.0 * loss_of(x, labels))
    told = Told()
    best(x, 3, None, None, Budget(20), told, None, bound, gap=1.0)
    assert told.all[-1][0] == 20


def test_a_gap_needs_a_bound() -> None:
    with pytest.raises(ContractError, match="the problem holds none"):
        METHODS["best"].solve(Problem(table(11), 3), {"gap": 1.0})


def test_groups_that_stay_as_they_are_count_in_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_module, "CAPACITY", 1)
    random = np.random.default_rng(5)
    units = np.concatenate([np.zeros(150, dtype=np.int64), np.arange(1, 101)])
    x = random.normal(size=(250, 2))
    x[:150] = x[:150] * 0.01 + 50.0
    start = repair(x, mdav(x, 2), 2, units)
    seen: list[Labels] = []

    def loss(labels: Labels) -> float:
        seen.append(labels)
        return loss_of(x, labels)

    told = Told()
    found = search(
        x, start, 2, iterations=40, units=units, watch=told, bound=Bound(1e9, loss), gap=1.0
    )
    assert told.all[-1][0] == 0
    assert told.last.loss == pytest.approx(loss_of(x, found))
    assert Partition(seen[-1], 2, units).sizes.sum() == 250
    search(x, start, 2, iterations=0, units=units, watch=lambda *_: None)


def numbers(n: int = 60, strata: int = 1) -> Table:
    rng = np.random.default_rng(n)
    columns = (rng.integers(0, 50, n), rng.normal(size=n), rng.normal(size=n))
    attributes = (Number("a", 0, whole=True), Number("b", places=1), Number("c"))
    by_row = Stratum("region", np.arange(n) % strata)
    return Table(attributes, columns, strata=(by_row,) if strata > 1 else ())


def labelled(strata: int = 1) -> Table:
    plain = numbers(strata=strata)
    rng = np.random.default_rng(3)
    value = rng.normal(size=60)
    value[::9] = np.nan
    attributes = (
        *plain.attributes,
        Category("d", ("x", "y", "z")),
        WithMissing(Number("e"), "fill"),
    )
    keys = (*plain.keys, rng.integers(0, 3, 60), value)
    return Table(attributes, keys, strata=plain.strata)


def measured(own: Table, plan: Plan) -> tuple[float, float]:
    """Give IL and its lower bound as a release would."""
    options = {"bound_rounds": MANY_ROUNDS}
    evaluation = evaluate(Comparison(mask(own, plan)), ("il", "il_bound"), options)
    return evaluation.measures["il"], evaluation.measures["il_bound"]


@pytest.mark.parametrize("strata", [1, 3])
@pytest.mark.parametrize("each_column", [False, True])
@pytest.mark.parametrize("kinds", [numbers, labelled])
def test_the_last_figures_of_a_search_are_those_that_are_published(
    kinds: type[Table], each_column: bool, strata: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("algorithms.masking.PATIENCE", 0.0)
    own = kinds(strata=strata)
    options = {"iterations": 30}
    plan = Plan(k=3, method=METHODS["best"], options=options, each_column=each_column)
    told = Told()
    group_records(own, plan, paths(own, plan), told, bound_rounds=MANY_ROUNDS)
    il, bound = measured(own, plan)
    if each_column:
        # the last column may need no search
        assert all(share <= 1.0 for _, share, _ in told.all)
        return
    last = told.last
    assert last.spread
    assert last.labels is None
    assert last.bound
    assert 100.0 * last.loss / last.spread == pytest.approx(il, rel=1e-5)
    assert 100.0 * last.bound / last.spread == pytest.approx(bound, rel=0.2)
    assert last.planned == told.all[-1][0] == 30
    shares = [share for _, share, _ in told.all]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_what_labels_lose_is_computed_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "SLICE", 1)
    monkeypatch.setattr("algorithms.masking.PATIENCE", 1e9)
    plan = Plan(k=3, method=METHODS["best"], options={"iterations": 30})
    told = Told()
    group_records(labelled(), plan, (None,), told, bound_rounds=0)
    losses = [found.loss for _, _, found in told.all if found is not None]
    assert len(losses) > 3
    assert len(set(losses[:-1])) == 1
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("kinds", [numbers, labelled])
@pytest.mark.parametrize("strata", [1, 2])
def test_groups_of_a_plan_with_a_gap_satisfy_it(kinds: type[Table], strata: int) -> None:
    own = kinds(strata=strata)
    full = measured(own, Plan(k=3, method=METHODS["best"], options={"iterations": 40}))
    gap = 100.0 * (full[0] / full[1] - 1.0) + 30.0
    told = Told()
    plan = Plan(k=3, method=METHODS["mdav"], refine={"iterations": 10**6, "gap": gap})
    group_records(own, plan, paths(own, plan), told)
    assert told.last.stopped
    il, bound = measured(own, plan)
    assert il <= bound * (1.0 + gap / 100.0) * 1.05
    assert told.all[-1][0] < 10**6


def test_few_records_and_single_columns_need_no_search_to_be_told() -> None:
    sizes = np.repeat([0, 1], [4, 56])
    plain = numbers()
    own = Table(plain.attributes, plain.keys, strata=(Stratum("region", sizes),))
    plan = Plan(k=3, method=METHODS["best"], options={"iterations": 10})
    told = Told()
    group_records(own, plan, paths(own, plan), told, bound_rounds=10)
    il, _ = measured(own, plan)
    assert told.last.spread
    assert 100.0 * told.last.loss / told.last.spread == pytest.approx(il, rel=1e-5)


def test_no_bound_is_computed_only_to_be_shown_if_that_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("algorithms.masking.QUICK_ROWS", 59)
    plan = Plan(k=3, method=METHODS["best"], options={"seconds": 1e-9})
    told = Told()
    group_records(numbers(), plan, (None,), told, bound_rounds=0)
    assert told.last.bound is None
    assert told.last.planned is None
    assert told.last.loss > 0.0


def test_no_figures_are_shown_of_records_with_weights() -> None:
    plain = numbers()
    own = Table(plain.attributes, plain.keys, weights=np.ones(60))
    plan = Plan(k=3, method=METHODS["best"], options={"iterations": 10})
    told = Told()
    group_records(own, plan, (None,), told, bound_rounds=10)
    assert told.all[-1] == (10, 1.0, None)


def test_no_figures_are_shown_without_a_search() -> None:
    told = Told()
    group_records(numbers(), Plan(k=3, method=METHODS["mdav"]), (None,), told, bound_rounds=10)
    assert all(found is None for _, _, found in told.all)


def test_a_gap_is_refused_where_no_bound_is_proven() -> None:
    plain = numbers()
    how = {"k": 3, "method": METHODS["best"], "options": {"gap": 5.0}}
    weighted = Table(plain.attributes, plain.keys, weights=np.ones(60))
    refusals = {
        "counts each record once": (weighted, Plan(**how)),
        "grouped in blocks": (plain, Plan(**how, blocks=Blocks(rows=30))),
        "last over releases": (plain, Plan(**how, cohorts=Cohorts())),
        "cutting the groups again": (plain, Plan(**how, recut=True)),
    }
    for reason, (own, plan) in refusals.items():
        with pytest.raises(DataError, match=f"{reason}.*give iterations instead"):
            group_records(own, plan, (None,) * len(record_sets(own, plan)))
    # a table of one block is not cut
    group_records(plain, Plan(**how, blocks=Blocks(rows=60)), (None,))


REFUSED = [
    ({"columns": {"weight": "score"}}, "weights", "options"),
    ({"microaggregation": {"blocks": {"rows": 100}}}, "in blocks", "options"),
    ({"microaggregation": {"recut": True}}, "recut changes", "options"),
    ({"series": {"method": "cohorts"}}, "cohorts", "options"),
    ({"columns": {"weight": "score"}}, "weights", "refine"),
]


@pytest.mark.parametrize(("sections", "reason", "key"), REFUSED)
def test_a_spec_with_a_gap_that_nothing_proves_is_refused(
    request_of: Request, sections: dict[str, dict[str, object]], reason: str, key: str
) -> None:
    how = {"method": "best" if key == "options" else "mdav", "k": 3, key: {"gap": 1.0}}
    how |= sections.get("microaggregation", {})
    columns = request_of.content["columns"] | sections.get("columns", {})
    columns["confidential"] = ["zone"] if "weight" in columns else columns["confidential"]
    changed = {**sections, "columns": columns, "microaggregation": how}
    if "series" in sections:
        ceilings = {"il": 100.0, "dld": 100.0, "muted": 50.0}
        changed["gate"] = {"ceilings": ceilings}
    with pytest.raises(SpecError, match=rf"microaggregation.{key}.gap: .*{reason}"):
        request_of.load(**changed)


def test_a_gap_must_be_above_zero(request_of: Request) -> None:
    request_of.load(microaggregation={"method": "best", "k": 3, "options": {"gap": 1}})
    for option in ({"gap": 0.0}, {"chains": 0}, {"chains": 65}):
        with pytest.raises(SpecError, match="options of method 'best' do not fit"):
            request_of.load(microaggregation={"method": "best", "k": 3, "options": option})
