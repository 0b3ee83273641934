"""Groups that last over the releases of a series."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from algorithms.attributes import Category, Number, WithMissing
from algorithms.history import History, Past
from algorithms.masking import Plan, mask
from algorithms.microaggregation import METHODS
from algorithms.series import cohorts
from algorithms.series.annealing import anneal
from algorithms.series.cohorts import Cohorts, chances_of_muting, lasting_groups, near_within
from algorithms.series.covering import cover_lists
from algorithms.series.moves import cost, descend, restructure
from algorithms.series.state import MOST, PRICE, Situation, State, state_of
from algorithms.table import Codes, Stratum, Table
from algorithms.types import Labels, units_per_group
from tests.cohorts import PLAN, past_of, released, tables
from tests.oracles import series as oracle
from tests.tables import table_of

ROUGHLY = {"SLICES": 4, "STEPS": 3, "PASSES": 3}


@pytest.fixture
def roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for a short time: what must hold does not depend on it."""
    for name, value in ROUGHLY.items():
        monkeypatch.setattr(cohorts, name, value)


def situation(
    seed: int, n: int = 30, k: int = 3, units: bool = False, blocks: int = 1
) -> Situation:
    """Draw records with a history of three releases, in which some were absent or muted."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    # groups by place, so that many persons stayed together
    groups = (np.digitize(x[:, :1] + 0.1 * rng.normal(size=(n, 3)), [-0.8, 0.0, 0.8])).astype(
        np.int64
    )
    absent, muted = rng.random((n, 3)) < 0.1, rng.random((n, 3)) < 0.1
    seen = np.where(absent | muted, -1, groups)
    past = np.where(absent, -1, groups + 4 * np.arange(3))
    sizes = np.bincount(past[past >= 0], minlength=12) + rng.integers(0, 2, 12)
    block = np.sort(rng.integers(0, blocks, n))
    return Situation(
        x=x,
        k=k,
        near=near_within(x, block),
        blocks=block,
        units=rng.integers(0, n // 2, n) if units else None,
        seen=seen,
        past=past,
        past_sizes=sizes,
        chances=chances_of_muting(k, 0.1, 4),
    )


def start(facts: Situation) -> Labels:
    """Cut the records of each block into groups of 2k, as they come."""
    size = 2 * facts.k if facts.units is None else 5 * facts.k
    labels = np.zeros(len(facts.x), dtype=np.int64)
    first = 0
    for block in range(facts.blocks.max() + 1):
        rows = np.flatnonzero(facts.blocks == block)
        groups = max(len(rows) // size, 1)
        labels[rows] = first + np.minimum(np.arange(len(rows)) // size, groups - 1)
        first += groups
    return labels


def check(state: State, facts: Situation) -> None:
    """Compare a state with slow twins."""
    labels = np.unique_inverse(state.labels)[1]
    units = np.arange(len(labels)) if facts.units is None else facts.units
    shown = oracle.visible_records(labels, facts.seen, facts.k, units)
    assert np.array_equal(state.shown, shown)
    assert units_per_group(labels, units).min() >= facts.k
    assert np.unique(np.column_stack([facts.blocks, labels]), axis=0).shape[0] == labels.max() + 1
    for group in np.flatnonzero(state.sizes):
        rows = np.flatnonzero(state.labels == group)
        assert sorted(state.members[group, : state.sizes[group]]) == rows.tolist()
        squares = ((facts.x[rows] - facts.x[rows].mean(axis=0)) ** 2).sum()
        assert state.squares[group] == pytest.approx(squares)
        exposed = sum(
            facts.chances[len(oracle.candidates(labels, facts.seen, shown, i, units))]
            if shown[i]
            else 1.0
            for i in rows
        )
        assert state.exposures[group] == pytest.approx(exposed)
    # persons who left are in earlier groups, too
    others = []
    for t in range(facts.past.shape[1]):
        olds = {}
        for old in np.unique(facts.past[facts.past[:, t] >= 0, t]).tolist():
            here = set(np.flatnonzero(facts.past[:, t] == old).tolist())
            gone = range(facts.past_sizes[old] - len(here))
            olds[old] = here | {-1 - person for person in gone}
        others.append(olds)
    found = oracle.lone_changes(labels, facts.past, others)
    assert np.array_equal(found, state.lone[state.sizes > 0])


@pytest.mark.parametrize("seed", range(8))
def test_coverers_are_those_who_were_never_apart(seed: int) -> None:
    seen = situation(seed).seen
    starts, coverers = cover_lists(seen)
    for i in range(len(seen)):
        expected = [j for j in range(len(seen)) if oracle.cover(seen, j, i)]
        ever_visible = (seen[i] >= 0).any()
        assert coverers[starts[i] : starts[i + 1]].tolist() == (expected if ever_visible else [])


@pytest.mark.parametrize(("units", "blocks"), [(False, 1), (True, 1), (False, 2), (True, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_costs_agree_with_slow_twins_whatever_moves(seed: int, units: bool, blocks: int) -> None:
    facts = situation(seed, n=36, units=units, blocks=blocks)
    state = state_of(facts, start(facts))
    check(state, facts)
    for price, temperature in ((4.0, 2.0), (0.3, 0.5), (0.0, 0.1)):
        state.prices[PRICE] = price
        anneal(state, 300, temperature)
        check(state, facts)
        before = sum(cost(state, group) for group in range(len(state.sizes)))
        restructure(state)
        check(state, facts)
        descend(state, 3)
        check(state, facts)
        assert sum(cost(state, group) for group in range(len(state.sizes))) <= before + 1e-6


def test_the_more_candidates_the_less_time_muted() -> None:
    chances = chances_of_muting(k=5, leaving=0.1, horizon=8)
    assert (chances[:5] == 1.0).all()
    assert all(more < fewer for fewer, more in pairwise(chances[4:40]))
    assert chances[-1] < 1e-9
    assert (chances_of_muting(k=5, leaving=0.1, horizon=0)[5:] == 0.0).all()


@pytest.mark.parametrize("seed", range(3))
def test_nobody_visible_has_fewer_than_k_candidates_over_all_releases(
    seed: int, roughly: None
) -> None:
    done = [past for _, past in released(tables(4, seed=seed))]
    assert min(oracle.candidates_of_everyone(done).values()) >= PLAN.k
    assert oracle.all_lone_changes(done) == 0


def test_fresh_groups_leave_fewer_than_k_candidates(roughly: None) -> None:
    fresh = replace(PLAN, cohorts=None)
    done = [past for _, past in released(tables(4), fresh)]
    assert min(oracle.candidates_of_everyone(done).values()) == 1


def test_the_loss_stays_within_its_multiple_of_fresh_groups(roughly: None) -> None:
    for masked, _ in released(tables(4, n=60)):
        table = masked.original
        loss = ((table.embedding.x - masked.averages) ** 2).sum()
        fresh = mask(table, replace(PLAN, cohorts=None))
        assert masked.groupings[0].fresh_loss == pytest.approx(
            ((table.embedding.x - fresh.averages) ** 2).sum()
        )
        assert loss <= 1.25 * masked.groupings[0].fresh_loss


def test_within_a_window_nobody_has_fewer_than_k_candidates(roughly: None) -> None:
    done = [past for _, past in released(tables(5, leaving=0.2), window=2)]
    for pair in pairwise(done):
        assert min(oracle.candidates_of_everyone(pair).values()) >= PLAN.k
    everything = sum(int((~past.visible).sum()) for past in done)
    longer = [past for _, past in released(tables(5, leaving=0.2))]
    assert everything < sum(int((~past.visible).sum()) for past in longer)


def test_the_same_history_gives_the_same_groups_however_it_is_numbered(roughly: None) -> None:
    first, second = tables(2)
    past = past_of(mask(first, PLAN))
    shuffle = np.random.default_rng(1).permutation(len(past.persons))
    names = np.random.default_rng(2).permutation(past.groups.max() + 1)
    other = Past("", 3, past.persons[shuffle], names[past.groups[shuffle]], past.visible[shuffle])
    one, two = (past_of(mask(second, PLAN, history=History((each,)))) for each in (past, other))
    assert np.array_equal(one.groups, two.groups)
    assert np.array_equal(one.visible, two.visible)


def mixed(seed: int, share: float = 0.0) -> list[Table]:
    """Draw tables with labels, gaps, strata, units, weights and confidential columns."""
    rng = np.random.default_rng(seed)
    some = []
    for table in tables(3, n=60, seed=seed):
        n = len(table)
        strata = np.minimum(table.persons % 7, 1)
        gaps = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 9, n))
        some.append(
            replace(
                table,
                attributes=(
                    *table.attributes,
                    Category("label", ("p", "q")),
                    WithMissing(Number("gaps"), "state"),
                ),
                keys=(*table.keys, table.persons % 2, gaps),
                strata=(Stratum("region", strata),),
                units=table.persons // 2,
                weights=rng.integers(1, 5, n).astype(np.float64),
                confidential={"profit": Codes(np.arange(n), ordered=True)},
                other={"colour": Codes(rng.integers(0, 2, n))},
            )
        )
    return some


def test_strata_units_labels_gaps_and_weights_take_part(roughly: None) -> None:
    done = released(iter(mixed(0)))
    for masked, _ in done:
        table = masked.original
        labels = masked.groupings[0].partition.labels
        assert units_per_group(labels, table.units).min() >= PLAN.k
        assert not (set(labels[table.blocks == 0]) & set(labels[table.blocks == 1]))
    # candidates are counted in units of the newest release
    masked, last = done[-1]
    units = dict(zip(last.persons.tolist(), masked.original.units.tolist(), strict=True))
    for person in last.persons[last.visible].tolist():
        left = set(last.persons[last.visible].tolist())
        for _, past in done:
            groups = dict(zip(past.persons[past.visible], past.groups[past.visible], strict=True))
            if person in groups:
                left &= {other for other in groups if groups[other] == groups[person]}
        assert len({units[other] for other in left}) >= PLAN.k


def test_muted_records_keep_their_place_and_lose_their_confidential_values(roughly: None) -> None:
    masked, _ = released(iter(mixed(1)))[-1]
    muted = masked.groupings[0].muted
    assert muted is not None
    assert muted.any()
    assert np.array_equal(masked.published.muted, muted)
    for codes in (masked.published.confidential["profit"], masked.published.other["colour"]):
        assert (codes.values[muted] == codes.missing).all()
        assert not (codes.values[~muted] == codes.missing).any()
    assert len(masked.published) == len(masked.original)


def test_a_larger_k_mutes_those_with_fewer_candidates(roughly: None) -> None:
    first, second = tables(2, n=60, leaving=0.0)
    fresh = past_of(mask(first, replace(PLAN, cohorts=None)))
    masked = mask(second, replace(PLAN, k=6), history=History((fresh,)))
    assert masked.groupings[0].muted.mean() > 0.5
    both = (fresh, past_of(masked))
    candidates = oracle.candidates_of_everyone(both)
    visible = both[1].persons[both[1].visible].tolist()
    assert all(candidates[person] >= 6 for person in visible if person in fresh.persons)


def test_where_no_groups_are_cheap_enough_the_fresh_ones_are_taken(roughly: None) -> None:
    facts = situation(0)
    labels, shown = lasting_groups(facts, start(facts), lambda _: 1.0, 0.0)
    everyone = np.arange(len(labels))
    assert np.array_equal(shown, oracle.visible_records(labels, facts.seen, facts.k, everyone))


def test_a_search_reports_its_progress(roughly: None) -> None:
    shares: list[float] = []
    mask(next(tables(1)), PLAN, lambda _, share: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def revised(table: Table, past: Past, plan: Plan = PLAN, **changes: object) -> Past:
    history = History((past,), revises=0)
    return past_of(mask(replace(table, **changes), plan, history=history))


def same_groups(one: Past, two: Past) -> bool:
    return sorted(map(sorted, oracle.members_of(one).values())) == sorted(
        map(sorted, oracle.members_of(two).values())
    )


@pytest.mark.parametrize("plan", [PLAN, replace(PLAN, cohorts=None)])
def test_a_revision_keeps_the_groups_of_what_it_revises(plan: Plan, roughly: None) -> None:
    table = next(tables(1))
    past = past_of(mask(table, plan))
    corrected = tuple(column + (np.arange(len(column)) == 7) for column in table.keys)
    assert same_groups(revised(table, past, plan, keys=corrected), past)


def test_a_revision_without_one_record_differs_from_no_group_by_one(roughly: None) -> None:
    table = next(tables(1))
    past = past_of(mask(table, PLAN))
    fewer = revised(table.take(np.arange(1, len(table))), past)
    assert oracle.all_lone_changes((past, fewer)) == 0
    assert min(oracle.candidates_of_everyone((past, fewer)).values()) >= PLAN.k


def test_new_persons_of_a_revision_join_its_groups(roughly: None) -> None:
    table = next(tables(1))
    past = past_of(mask(table.take(np.arange(len(table) - 6)), PLAN))
    more = revised(table, past)
    assert len(more.persons) == len(table)
    assert oracle.all_lone_changes((past, more)) == 0


def test_a_revision_with_a_larger_k_merges_groups(roughly: None) -> None:
    table = next(tables(1))
    past = past_of(mask(table, PLAN))
    larger = revised(table, past, replace(PLAN, k=7))
    assert np.bincount(larger.groups).min() >= 7


def test_one_group_alone_cannot_avoid_a_lone_change(roughly: None) -> None:
    table = replace(table_of([np.arange(4.0)]), persons=np.arange(4))
    past = past_of(mask(table, PLAN))
    fewer = revised(table.take(np.arange(3)), past)
    assert oracle.all_lone_changes((past, fewer)) == 1


def test_a_block_of_one_record_has_no_neighbours() -> None:
    near = near_within(np.arange(4.0).reshape(-1, 1), np.array([0, 0, 0, 1]))
    assert near[3].tolist() == [3, 3, 3]
    assert near[0].tolist() == [1, 2, 0]


def test_the_search_uses_the_method_of_the_plan_for_those_it_has_never_seen(roughly: None) -> None:
    table = next(tables(1))
    plan = replace(
        PLAN, cohorts=Cohorts(il_over_fresh=1.0), method=METHODS["best"], options={"iterations": 50}
    )
    assert mask(table, plan).groupings[0].iterations == 50


def unseen(x: np.ndarray, k: int) -> Situation:
    """Take records of persons whom no earlier release holds."""
    blocks = np.zeros(len(x), dtype=np.int64)
    nowhere = np.full((len(x), 1), -1)
    near, chances = near_within(x, blocks), chances_of_muting(k, 0.1, 4)
    sizes = np.zeros(1, dtype=np.int64)
    return Situation(x, k, near, blocks, None, nowhere, nowhere, sizes, chances)


def test_groups_are_not_merged_beyond_the_largest_size() -> None:
    x = np.random.default_rng(0).normal(size=(140, 2))
    state = state_of(unseen(x, 70), np.arange(140) // 70)
    state.prices[PRICE] = 1e6
    state.counts[MOST] = 70
    restructure(state)
    assert sorted(state.sizes.tolist()) == [0, 70, 70]


def test_a_group_of_equal_records_has_no_main_axis() -> None:
    state = state_of(unseen(np.zeros((12, 2)), 3), np.zeros(12, dtype=np.int64))
    descend(state, 1)
    assert state.sizes.max() == 12
