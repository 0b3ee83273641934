"""Measures that compare releases, beside sets of persons and on cases checked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.comparison import Comparison
from algorithms.errors import ContractError
from algorithms.evaluation import evaluate
from algorithms.history import History
from algorithms.masked import Grouping, Masked
from algorithms.masking import Plan, mask
from algorithms.measure import Omitted
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.risk.across import candidates
from algorithms.types import Partition
from tests.oracles import across as oracle
from tests.series import past_of, random_release, release_of
from tests.tables import compare, table_of

BY_VAULT = (
    "candidates_min", "under_k_across", "singled_out", "exact_singled_out", "muted", "lone_changes",
)  # fmt: skip
"""Measures that need the groups of earlier releases, and no values."""


def run(files: Comparison, name: str) -> object:
    return MEASURES[name].run(files)


def found(files: Comparison) -> dict[str, object]:
    return {name: run(files, name) for name in BY_VAULT}


@given(seed=st.integers(0, 10_000), window=st.sampled_from([None, 2, 3, 9]))
def test_they_are_those_of_sets_of_persons(seed: int, window: int | None) -> None:
    files = random_release(np.random.default_rng(seed), window)
    history, masked = files.history, files.masked
    assert history is not None
    persons = files.original.persons
    assert persons is not None
    new = oracle.release(persons, masked.groups, masked.visible)
    earlier = oracle.releases(history.within_window)
    shown = persons[masked.visible].tolist()
    counts = [len(oracle.candidates(person, new, earlier)) for person in shown]
    own = candidates(files)
    assert own is not None
    assert own.tolist() == counts
    alone = [len(oracle.alike(person, new, earlier)) == 1 for person in shown]
    assert found(files) == pytest.approx({
        "candidates_min": min(counts),
        "under_k_across": 100.0 * np.mean([count < files.k for count in counts]),
        "singled_out": 100.0 * np.mean([count == 1 for count in counts]),
        "exact_singled_out": 100.0 * np.mean(alone),
        "muted": 100.0 * (1.0 - len(shown) / len(persons)),
        "lone_changes": oracle.lone_changes(new, oracle.releases(history.past)),
    })  # fmt: skip


def test_a_first_release_has_the_visible_records_of_each_group_as_candidates() -> None:
    files = release_of([0, 0, 0, 1, 1, 1, 1, 2, 2], History(), k=3, muted=[3, 7, 8])
    assert found(files) == pytest.approx({
        "candidates_min": 3.0, "under_k_across": 0.0, "singled_out": 0.0, "exact_singled_out": 0.0,
        "muted": 100.0 / 3.0, "lone_changes": 0.0,
    })  # fmt: skip


def test_releases_that_are_not_compared_have_no_such_measures() -> None:
    without_history = release_of([0, 0], None)
    column = np.array([1.0, 2.0])
    without_persons = replace(compare([column], [column], 1), history=History())
    assert set(found(without_history).values()) == {None}
    assert found(without_persons) == {**dict.fromkeys(BY_VAULT), "muted": 0.0}


def test_where_every_record_is_muted_nobody_has_candidates() -> None:
    files = release_of([0, 0], History(), muted=[0, 1])
    assert run(files, "candidates_min") == Omitted("every record is muted")
    assert run(files, "singled_out") == run(files, "exact_singled_out") == 0.0
    assert "candidates_min" not in evaluate(files).exact


def test_candidates_are_counted_in_units() -> None:
    table = replace(
        table_of([np.arange(6)]), persons=np.arange(6), units=np.array([0, 0, 1, 1, 2, 0])
    )
    earlier = past_of([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1])
    counts = candidates(release_of([0] * 6, History((earlier,)), table=table))
    assert counts is not None
    assert counts.tolist() == [2, 2, 2, 3, 3, 3]


def test_only_releases_within_the_window_are_intersected() -> None:
    past = (past_of([0, 1, 2, 3], [0, 1, 0, 1]), past_of([0, 1, 2, 3], [0, 0, 1, 1]))
    alone, pairs, everybody = (
        release_of([0] * 4, replace(History(past), window=window)) for window in (3, 2, 1)
    )
    assert [run(each, "candidates_min") for each in (alone, pairs, everybody)] == [1.0, 2.0, 4.0]


def test_absences_are_known_to_the_insider_only() -> None:
    files = release_of([0] * 4, History((past_of([0, 1], [0, 0]), past_of([0, 3], [0, 0], [0]))))
    assert run(files, "singled_out") == 25.0
    assert run(files, "exact_singled_out") == 50.0


@pytest.mark.parametrize(
    ("persons", "groups", "count"),
    [
        ([0, 1, 2, 3], [0, 0, 0, 1], 1),  # person 3 joined the others
        ([0, 1, 2, 3, 9], [0, 0, 0, 0, 0], 1),  # a person has left
        ([0, 1, 2, 3, 9], [0, 0, 0, 1, 0], 0),  # one came and one left
        ([1, 2, 3, 9], [0, 0, 0, 1], 1),  # the first of the group is the one who came
        ([0, 1, 2, 3], [0, 0, 0, 0], 0),
        ([], [], 0),
        ([4], [0], 0),
        ([4, 9], [0, 0], 1),  # a group of one is left
    ],
)
def test_a_change_of_one_person_is_a_lone_change(
    persons: list[int], groups: list[int], count: int
) -> None:
    earlier = past_of(persons, groups, muted=[2])
    for history in (History((earlier,)), History((earlier, past_of([], [])), window=2)):
        assert run(release_of([0, 0, 0, 0, 1], history, muted=[1]), "lone_changes") == count


def test_a_group_is_counted_once_however_many_earlier_ones_it_resembles() -> None:
    past = (past_of([0, 1, 2], [0, 0, 0]), past_of([0, 1, 2, 3, 9], [0, 0, 0, 0, 0]))
    assert run(release_of([0] * 4, History(past)), "lone_changes") == 1.0


def test_columns_with_groups_of_their_own_are_followed_by_published_combinations() -> None:
    table = replace(
        table_of([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]), persons=np.arange(4)
    )
    masked = mask(table, Plan(k=2, method=METHODS["mdav"], each_column=True))
    assert run(Comparison(masked, History()), "candidates_min") == 1.0


@pytest.mark.parametrize(
    ("fresh", "published", "ratio"),
    [
        (None, [2.0, 2.0], None),
        (0.5, [2.0, 2.0], 2.0),
        (0.0, [1.0, 3.0], 1.0),
        (0.0, [2.0, 2.0], float("inf")),
    ],
)
def test_loss_is_compared_with_that_of_fresh_groups(
    fresh: float | None, published: list[float], ratio: float | None
) -> None:
    original, after = (table_of([np.array(column)]) for column in ([1.0, 3.0], published))
    grouping = Grouping((0,), Partition(np.array([0, 0]), 1), fresh_loss=fresh)
    files = Comparison(Masked(after, (grouping,), 2, original.embedding.x, original), History())
    assert run(files, "il_over_fresh") == (None if ratio is None else pytest.approx(ratio))


def test_an_earlier_release_holds_every_person_once() -> None:
    with pytest.raises(ContractError, match="every person once"):
        past_of([0, 0], [0, 0])
    with pytest.raises(ContractError, match="a group and a mark per person"):
        past_of([0, 1], [0])
