"""Records that are followed by their published values, and what an attacker then learns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.attributes import Category
from algorithms.comparison import Comparison
from algorithms.enterprise_survey import SECTORS, survey
from algorithms.evaluation import evaluate
from algorithms.history import History, Past
from algorithms.measure import Estimate, Omitted
from algorithms.measures import MEASURES
from algorithms.risk import links, solving
from algorithms.risk.across import candidates
from algorithms.risk.links import Shown, followed, linked_releases, middle_ranks
from algorithms.risk.solving import Equations
from algorithms.table import Codes, Stratum, Table
from algorithms.types import Matrix
from expectations.tables import read_tokens
from tests.oracles import across as oracle
from tests.series import past_of, release_of
from tests.tables import table_of

NOBODY = History((past_of([0, 1], [0, 0]),))
"""An earlier release whose records are not at hand."""


def numbers(values: Sequence[float]) -> Codes:
    column = np.array(values, dtype=np.float64)
    return Codes(
        np.unique(column, return_inverse=True)[1].reshape(-1), ordered=True, numbers=column
    )


def source(
    persons: Sequence[int],
    profit: Sequence[float] | None = None,
    rating: Sequence[int] | None = None,
    region: Sequence[int] | None = None,
    stratum: Sequence[int] | None = None,
) -> Table:
    """Make a table of one key column, and name its values for comparison with other tables."""
    confidential: dict[str, Codes] = {}
    tokens: dict[str, np.ndarray] = {}
    if profit is not None:
        confidential["profit"] = numbers(profit)
        tokens["profit"] = np.array(profit, dtype=np.float64).view(np.int64)
    if rating is not None:
        confidential["rating"] = Codes(np.array(rating))
        tokens["rating"] = np.array(rating)
    if region is not None:
        tokens["region"] = np.array(region)
    if stratum is not None:
        tokens["land"] = np.array(stratum)
    return replace(
        table_of([np.arange(len(persons)).astype(np.float64)], confidential),
        persons=np.array(persons),
        other={} if region is None else {"region": Codes(np.array(region))},
        strata=() if stratum is None else (Stratum("land", np.array(stratum)),),
        tokens=tokens,
    )


def shown(table: Table) -> Shown:
    return Shown.of(table, np.arange(len(table)))


def found(one: Table, other: Table) -> list[int]:
    return sorted(followed(shown(one), shown(other)).tolist())


def past(table: Table, groups: Sequence[int] | None = None, muted: Sequence[int] = ()) -> Past:
    assert table.persons is not None
    own = [0] * len(table) if groups is None else groups
    return past_of(table.persons.tolist(), own, muted, table)


def test_values_that_are_unique_in_both_releases_are_the_same_person() -> None:
    before = source([0, 1, 2, 3, 4], rating=[5, 6, 7, 7, 8], region=[0, 0, 0, 0, 1])
    after = source([2, 4, 0, 1], rating=[7, 8, 6, 9], region=[0, 1, 0, 0])
    # the rating of person 2 has a twin in the first release, and persons 0 and 1 changed theirs
    assert found(before, after) == [4]


def test_strata_other_columns_and_tokens_must_agree() -> None:
    before = source([0, 1], rating=[0, 1], stratum=[0, 1])
    assert found(before, source([0, 1], rating=[0, 1], stratum=[0, 1])) == [0, 1]
    assert found(before, source([0, 1], rating=[0, 1], stratum=[2, 1])) == [1]
    # values are numbered otherwise, as if fewer were in the table
    renumbered = source([0, 1], rating=[1, 0], stratum=[0, 1])
    assert found(before, replace(renumbered, tokens=before.tokens)) == [0, 1]


def test_ranks_follow_values_that_drift() -> None:
    before = source([0, 1, 2, 3], profit=[10.0, 20.0, 30.0, 40.0])
    after = source([3, 1, 0, 2], profit=[45.0, 26.0, 14.0, 31.0])
    assert found(before, after) == [0, 1, 2, 3]
    labels = source([3, 1, 0, 2], profit=[45.0, 26.0, 14.0, 31.0], rating=[1, 2, 3, 4])
    assert found(replace(before, confidential={}), replace(labels, confidential={})) == []


def test_ranks_are_shared_by_equal_numbers_and_missing_ones_are_last() -> None:
    assert middle_ranks(np.array([2.0, np.nan, 2.0, 1.0, np.nan])).tolist() == [
        0.4, 0.8, 0.4, 0.1, 0.8,
    ]  # fmt: skip
    assert middle_ranks(np.empty(0)).size == 0


@given(seed=st.integers(0, 10_000))
def test_within_a_cell_the_sum_of_distances_is_the_least_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    ranks, others = rng.random((2, n, 2))
    labels, other_labels = rng.integers(0, 2, (2, n, 1))
    pair = links._Pair(_shown(ranks, labels), _shown(others, other_labels))
    ours, theirs = pair._assigned(np.arange(n), n + np.arange(n))

    def cost(order: Sequence[int]) -> float:
        apart = np.abs(ranks - others[list(order)]).sum()
        return float(apart + links.UNLIKE * (labels != other_labels[list(order)]).sum())

    assert cost(theirs[np.argsort(ours)] - n) == pytest.approx(
        min(map(cost, permutations(range(n))))
    )


def _shown(ranks: Matrix, labels: np.ndarray) -> Shown:
    n = len(ranks)
    return Shown(
        np.arange(n), np.empty((n, 0), dtype=np.int64), labels, (1e9 * ranks).astype(int), ranks
    )


def test_in_large_cells_mutually_nearest_records_of_equal_labels_are_matched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links, "LARGEST_CELL", 2)
    before = source(range(10), profit=np.arange(10.0), rating=[0] * 4 + [1] * 4 + [2, 5])
    after = source(range(10), profit=np.arange(10.0) + 0.1, rating=[0] * 4 + [1, 1, 1, 0, 2, 3])
    assert found(before, after) == [0, 1, 2, 3, 4, 5, 6, 8]
    labels = [replace(each, confidential={"rating": each.confidential["rating"]})
              for each in (before, after)]  # fmt: skip
    assert found(*labels) == [8]
    alone = source(range(9), profit=np.arange(9.0), rating=[4] * 9)
    assert found(alone, after) == []


def test_muted_and_withheld_records_are_not_followed() -> None:
    table = source([0, 1, 2, 3], rating=[0, 1, 2, 3])
    earlier = past_of([0, 1, 2], [0, 0, 0], muted=[1], original=table)
    files = release_of([0] * 4, History((earlier,)), muted=[2], table=table)
    assert MEASURES["row_links"].run(files) == pytest.approx(100.0 / 3.0)


def test_links_need_an_earlier_release_whose_records_are_at_hand() -> None:
    run = MEASURES["row_links"].run
    table = source([0, 1], rating=[0, 1])
    assert run(release_of([0, 0], None)) is None
    assert run(release_of([0, 0], History())) == 0.0
    assert run(release_of([0, 0], NOBODY, table=replace(table, persons=None))) is None
    gone = Omitted("the original records of earlier releases are not at hand: 2026-Q1")
    assert run(release_of([0, 0], NOBODY, table=table)) == gone
    without = past_of([0, 1], [0, 0], original=replace(table, persons=None))
    assert run(release_of([0, 0], History((without,)), table=table)) == gone
    assert "row_links" not in evaluate(release_of([0, 0], NOBODY, table=table)).exact
    everybody = History((past(table),))
    assert run(release_of([0, 0], everybody, muted=[0, 1], table=table)) == 0.0


def test_on_the_example_few_companies_are_followed_and_none_by_exact_values() -> None:
    of_branch = np.repeat(np.arange(len(SECTORS)), [len(each) for each in SECTORS])
    quarters = [
        source(
            quarter["company"].tolist(),
            profit=quarter["profit"].tolist(),
            rating=(quarter["credit_rating"] + 1).tolist(),
            region=(of_branch[quarter["sector"]] * 8 + quarter["region"]).tolist(),
        )
        for quarter in survey(rows=2000, quarters=2, seed=1)
    ]
    files = release_of([0] * 2000, History((past(quarters[0]),)), table=quarters[1])
    assert 4.0 < MEASURES["row_links"].run(files) < 7.0
    assert links._Pair(*map(shown, quarters)).same_values().size == 0


@given(seed=st.integers(0, 10_000), window=st.sampled_from([None, 3]))
def test_measured_links_are_those_that_chains_of_matches_reach(
    seed: int, window: int | None
) -> None:
    rng = np.random.default_rng(seed)
    tables: list[Table] = []
    for _ in range(5):
        persons = rng.permutation(12)[: rng.integers(4, 12)]
        ratings = np.where(rng.random(persons.size) < 0.6, persons, rng.integers(0, 12))
        tables.append(source(persons.tolist(), rating=ratings.tolist()))
    new = replace(tables[4], persons=np.arange(len(tables[4])))
    earlier = [past(table, rng.integers(0, 2, len(table)).tolist()) for table in tables[:4]]
    gone = int(rng.integers(0, 4))
    if rng.random() < 0.5:
        earlier[gone] = replace(earlier[gone], original=None)
    history = History(tuple(earlier), window, links="measured")
    files = release_of([0] * len(new), history, table=new)
    releases = [each.original for each in history.within_window] + [new]
    count = len(releases) - 1
    matches = {
        (t, u): set(range(20)) if one is None or other is None else set(found(one, other))
        for (t, one), (u, other) in combinations(enumerate(releases), 2)
        if u in (t + 1, count)
    }
    marked = linked_releases(files, history)
    for person in range(len(new)):
        reached = np.flatnonzero(marked[person]).tolist()
        assert set(reached) == oracle.linked(person, matches, count)


def test_only_releases_into_which_a_record_is_followed_are_intersected() -> None:
    before = source(range(4), rating=[0, 1, 2, 2])
    new = source(range(4), rating=[0, 1, 2, 2])
    counts: Mapping[str, list[int]] = {"perfect": [2, 2, 2, 2], "measured": [2, 2, 4, 4]}
    for kind, expected in counts.items():
        history = History((past(before, [0, 0, 1, 1]),), links=kind)  # type: ignore[arg-type]
        own = candidates(release_of([0] * 4, history, table=new))
        assert own is not None
        assert own.tolist() == expected
    history = History((replace(past(before, [0, 0, 1, 1]), original=None),), links="measured")
    own = candidates(release_of([0] * 4, history, table=new))
    assert own is not None
    assert own.tolist() == [2, 2, 2, 2]


def test_tokens_are_the_same_in_every_table() -> None:
    one = read_tokens(pa.chunked_array([["b", None, "a"]]))
    other = read_tokens(pa.chunked_array([["c"], ["a", "b", None]]))
    assert one[[2, 0, 1]].tolist() == other[1:].tolist()
    assert len(set(other.tolist())) == 4
    whole = read_tokens(pa.chunked_array([[1, None, 0]]))
    real = read_tokens(pa.chunked_array([[1.0, None, -0.0]]))
    assert whole.tolist() == real.tolist()
    table = replace(source([0, 1]), tokens={"c": np.array([5, 6])})
    assert table.take(np.array([1])).tokens["c"].tolist() == [6]


def values_left(files: Comparison, *stable: str) -> object:
    return MEASURES["l_across"].run(files, stable=stable)


def stable_source(rng: np.random.Generator, persons: np.ndarray) -> Table:
    """Draw values of two columns that most persons keep."""
    changed = rng.random((2, persons.size)) < 0.1
    rating, region = np.where(
        changed, rng.integers(0, 4, changed.shape), [persons % 4, persons // 4]
    )
    return source(persons.tolist(), rating=rating.tolist(), region=region.tolist())


@given(seed=st.integers(0, 10_000))
def test_values_left_are_those_of_intersected_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 4))
    tables = [stable_source(rng, rng.permutation(14)[: rng.integers(5, 14)]) for _ in range(count)]
    earlier = [
        past(table, _groups(rng, len(table)), rng.integers(0, 14, 2).tolist()) for table in tables
    ]
    new = stable_source(rng, np.arange(12))
    files = release_of(_groups(rng, 12), History(tuple(earlier), window=2), muted=[3], table=new)
    groups = [(oracle.release(np.arange(12), files.masked.groups, files.masked.visible), new)]
    groups += zip(oracle.releases(tuple(earlier)), tables, strict=True)
    least = []
    for columns in [(0,), (1,), (0, 1)]:
        known = [(release, _values(table, columns)) for release, table in groups]
        for person in np.flatnonzero(files.masked.visible).tolist():
            left = oracle.values_left(person, known)
            if known[0][1][person] in left:
                least += [len({each[j] for each in left}) for j in range(len(columns))]
    expected = min(least) if least else Omitted("nobody has kept a value of a stable column")
    assert values_left(files, "rating", "region") == expected


def _groups(rng: np.random.Generator, count: int) -> list[int]:
    return np.unique(rng.integers(0, 3, count), return_inverse=True)[1].reshape(-1).tolist()


def _values(table: Table, columns: Sequence[int]) -> dict[int, tuple[int, ...]]:
    assert table.persons is not None
    both = [table.confidential["rating"].values, table.other["region"].values]
    rows = zip(*(both[j].tolist() for j in columns), strict=True)
    return dict(zip(table.persons.tolist(), rows, strict=True))


def test_values_left_need_stable_columns_records_and_visible_persons() -> None:
    table = source([0, 1], rating=[0, 1])
    files = release_of([0, 0], History(), table=table)
    assert values_left(files, "rating") == 2.0
    assert values_left(files) is None
    assert values_left(release_of([0, 0], None, table=table), "rating") is None
    gone = Omitted("the original records of earlier releases are not at hand: 2026-Q1")
    assert values_left(release_of([0, 0], NOBODY, table=table), "rating") == gone
    muted = release_of([0, 0], History(), muted=[0, 1], table=table)
    assert values_left(muted, "rating") == Omitted("every record is muted")
    changed = History((past(source([0, 1], rating=[2, 3])),))
    assert values_left(release_of([0, 0], changed, table=table), "rating") == Omitted(
        "nobody has kept a value of a stable column"
    )


def test_columns_that_are_intersected_together_leave_less() -> None:
    before = source([0, 1, 2], rating=[0, 1, 2], region=[0, 1, 0])
    new = source([0, 3, 4], rating=[0, 1, 2], region=[0, 2, 1])
    table = replace(new, persons=np.array([0, 3, 4]))
    files = release_of([0, 0, 0], History((past(before),)), table=table)
    assert [values_left(files, name) for name in ("rating", "region")] == [3.0, 2.0]
    assert values_left(files, "rating", "region") == 1.0


@given(seed=st.integers(0, 10_000))
def test_averages_are_solved_by_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    persons = [rng.permutation(9)[: rng.integers(3, 9)] for _ in range(3)]
    unknowns = np.unique(np.concatenate(persons), return_inverse=True)[1].reshape(-1)
    releases = np.repeat(np.arange(3), [each.size for each in persons])
    drawn = 3 * releases + rng.integers(0, 3, unknowns.size)
    groups = np.unique(drawn, return_inverse=True)[1].reshape(-1)
    averages = rng.normal(size=(groups.max() + 1, 2))
    solution = Equations(unknowns, groups, averages).solve()
    assert solution == pytest.approx(oracle.solved(unknowns, groups, averages), abs=1e-6)


def simulated(links_: str = "perfect", muted: Sequence[int] = (), n: int = 60) -> Comparison:
    """Publish the same records five times, each time in other groups of three."""
    rng = np.random.default_rng(3)
    keys = [rng.normal(size=n), rng.normal(size=n)]
    table = replace(table_of(keys), persons=np.arange(n))
    earlier = tuple(
        past_of(range(n), rng.permutation(np.arange(n) // 3).tolist(), muted, table)
        for _ in range(4)
    )
    history = History(earlier, links=links_)  # type: ignore[arg-type]
    groups = rng.permutation(np.arange(n) // 3)
    means = [np.bincount(groups, weights=column) / 3.0 for column in keys]
    published = replace(table, keys=tuple(each[groups] for each in means), persons=None)
    files = release_of(groups.tolist(), history, k=3, table=table)
    return Comparison(replace(files.masked, published=published), history)


def test_originals_follow_from_enough_averages() -> None:
    run = MEASURES["solved"].run
    everything = simulated()
    alone = Comparison(everything.masked, History())
    assert run(everything) > 90.0
    assert run(alone) < 34.0
    # without confidential columns nobody can be followed, and muted records are not
    assert run(simulated("measured")) == pytest.approx(run(alone))
    assert run(simulated(muted=range(60))) == pytest.approx(run(alone))


def test_solving_needs_numbers_and_the_records_behind_releases() -> None:
    run = MEASURES["solved"].run
    table = source([0, 1], rating=[0, 1])
    assert run(release_of([0, 0], None)) is None
    assert run(release_of([0, 0], History(), table=replace(table, persons=None))) is None
    assert isinstance(run(release_of([0, 0], NOBODY, table=table)), Omitted)
    label = Table((Category("c", ("p", "q")),), (np.array([0, 1]),), persons=np.arange(2))
    assert run(release_of([0, 0], History(), table=label)) is None


def test_of_many_records_samples_are_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    files = simulated()
    exact = MEASURES["solved"].run(files)
    monkeypatch.setattr(solving, "LARGEST_TABLE", 50)
    monkeypatch.setattr(solving, "SAMPLE_RECORDS", 40)
    estimate = MEASURES["solved"].run(files)
    assert isinstance(estimate, Estimate)
    assert 0.3 * exact < estimate.value <= 100.0
    assert "8 samples of 40 records" in estimate.note


def test_a_part_of_the_equations_holds_all_that_mention_its_records() -> None:
    system = Equations(
        np.array([0, 1, 2, 0, 3, 2]), np.array([0, 0, 1, 2, 2, 3]), np.arange(4.0)[:, np.newaxis]
    )
    part = system.around(np.array([1]))
    assert part.averages.tolist() == [[0.0]]
    both = system.around(np.array([0]))
    assert both.unknowns.tolist() == [0, 1, 0, 2]
    assert both.averages[both.groups].tolist() == [[0.0], [0.0], [2.0], [2.0]]
