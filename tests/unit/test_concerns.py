"""Concerns: what a reader should look at first, and why."""

import math

import pytest

from algorithms.measures import MEASURES
from expectations.concerns import (
    DESCRIBES_THE_TABLE,
    DIVERSITY,
    LINKED,
    RULES_OF_THUMB,
    SPECIAL,
    Concern,
    concerns,
)


def one(name: str, value: float, k: int = 5, limit: float | None = None) -> Concern:
    """Rank one measure."""
    (found,) = concerns({name: value}, k, {} if limit is None else {name: limit})
    return found


@pytest.mark.parametrize(
    ("name", "value", "level", "words"),
    [
        ("il", 9.0, "low", "lose 9 % of the variance"),
        ("il", 15.0, "medium", "lose 15 %"),
        ("il", 30.0, "high", "lose 30 %"),
        ("il", math.inf, "high", "lose inf %"),
        ("variance_change", 50.0, "high", "variance of a column changed by 50 %"),
        ("mean_change", 0.02, "medium", "moved by 0.02 sd"),
        ("il_over_bound", 1.86, "low", "up to 1.86 times the least"),
        ("below_k", 0.0, "low", "0 combinations"),
        ("below_k", 1.0, "high", "1 combinations occur in fewer than k"),
        ("l_distinct", 1.0, "high", "In at least one group all records share one value of a"),
        ("l_distinct", 2.0, "medium", "has 2 different values"),
        ("l_distinct", 3.0, "low", "has 3 different values"),
        ("l_entropy", 1.0, "high", "all records share one value"),
        ("l_entropy", 1.5, "medium", "as varied as 1.5 equally frequent ones"),
        ("l_entropy", 2.5, "low", "as varied as 2.5"),
        ("dld", 20.0, "low", "links 20 % of the records, of at most 40 %; a guess in each group"),
        ("dld", 30.0, "medium", "links 30 %"),
        ("dld", 38.0, "high", "of at most 40 %; a guess in each group links 20 %"),
        ("reidentified_best", 20.0, "medium", "of at most 20 %"),
        ("linked_nearest", 10.0, "low", "of at most 20 %"),
        ("dld_pessimistic", 90.0, "medium", "of at most 100 %"),
        ("k", 5.0, "low", "he smallest group has 5 records, as it must"),
        ("k", 4.0, "high", "he smallest group has 4 records, not 5"),
        ("t_equal", 0.95, "high", "0.95 of at most 1"),
        ("rounding", 0.0, "low", "Rounding averages accounts for 0 %"),
        ("reidentified_random", 20.0, "low", "follows from the sizes of groups"),
        ("candidates_min", 5.0, "low", "leaves 5 candidates for at least one visible record, as"),
        ("candidates_min", 1.0, "high", "leaves 1 candidates for at least one visible record, not"),
        ("singled_out", 0.0, "low", "singles out 0 % of the visible records"),
        ("under_k_across", 12.0, "high", "fewer than k candidates for 12 %"),
        ("muted", 6.0, "medium", "6 % of the records are muted"),
        ("lone_changes", 1.0, "high", "1 groups differ from an earlier one by a single person"),
        ("l_across", 1.0, "high", "leaves one value of a stable column"),
        ("l_across", 2.0, "medium", "leaves at least 2 values"),
        ("l_across", 3.0, "low", "leaves at least 3 values"),
        ("exact_singled_out", 90.0, "low", "to someone who knows all absences"),
        ("sst", 9.0, "low", "depends on the table"),
        ("pmse", math.nan, "medium", "could not be computed"),
    ],
)
def test_a_measure_has_a_level_and_a_sentence_with_its_figure(
    name: str, value: float, level: str, words: str
) -> None:
    found = one(name, value)
    assert (found.measure, found.title, found.level) == (name, MEASURES[name].title, level)
    assert words in found.why
    assert found.why[0] == found.why[0].upper()
    assert found.why.endswith(".")
    assert "\n" not in found.why


def test_pairs_are_a_concern_even_if_asked_for() -> None:
    assert one("k", 2.0, k=2).level == "medium"
    assert "each member can compute the values of the other" in one("k", 2.0, k=2).why


@pytest.mark.parametrize(
    ("name", "value", "limit", "level", "words"),
    [
        ("il", 4.0, 10.0, "low", "keeps its limit well, with 4 % against a ceiling of 10 %"),
        ("il", 9.0, 10.0, "medium", "close to its limit, with 9 % against a ceiling of 10 %"),
        ("il", 10.0, 10.0, "medium", "close to its limit"),
        ("il", 10.1, 10.0, "high", "misses its limit"),
        ("rounding", 0.0, 0.0, "low", ""),
        ("mean_change", 0.001, 0.0, "high", "misses its limit"),
        ("l_distinct", 6.0, 3.0, "low", ""),
        ("l_distinct", 3.0, 3.0, "medium", "with 3 against a floor of 3"),
        ("l_distinct", 3.0, 4.0, "high", "misses its limit, with 3 against a floor of 4"),
        ("k", 5.0, 5.0, "low", "as it must"),
    ],
)
def test_a_measure_near_its_limit_is_a_concern(
    name: str, value: float, limit: float, level: str, words: str
) -> None:
    found = one(name, value, limit=limit)
    assert found.level == level
    assert words in found.why


def test_rounding_is_compared_with_the_loss() -> None:
    for rounding, level in ((0.9, "low"), (1.0, "medium"), (5.0, "high")):
        found = concerns({"il": 10.0, "rounding": rounding}, 5, {})
        (own,) = [each for each in found if each.measure == "rounding"]
        assert own.level == level
        assert "of an IL of 10 %" in own.why


def test_ties_that_make_no_difference_are_no_concern_of_their_own() -> None:
    found = concerns({"dld": 39.0, "dld_optimistic": 39.0, "dld_pessimistic": 80.0}, 5, {})
    assert [(each.measure, each.level) for each in found] == [
        ("dld", "high"),
        ("dld_pessimistic", "medium"),
        ("dld_optimistic", "low"),
    ]


def test_numbers_that_all_differ_do_not_make_closeness_a_high_concern() -> None:
    found = concerns({"t_equal": 0.99, "t_ordered": 0.1}, 5, {})
    assert [(each.measure, each.level) for each in found] == [
        ("t_equal", "medium"),
        ("t_ordered", "low"),
    ]


def test_the_most_worrying_measure_comes_first_and_unknown_names_are_ignored() -> None:
    measures = {"sst": 5.0, "surprise": 1.0, "il": 20.0, "l_distinct": 1.0, "dld": 10.0, "k": 5.0}
    found = concerns(measures, 5, {"dld": 9.0, "nothing": 3.0})
    assert [each.measure for each in found] == ["dld", "l_distinct", "il", "k", "sst"]
    assert [each.level for each in found] == ["high", "high", "medium", "low", "low"]
    assert concerns({}, 5, {}) == ()


def test_a_worse_value_never_ranks_lower() -> None:
    levels = ("low", "medium", "high")
    for name in MEASURES:
        signs = (1.0, 2.0, 3.0) if MEASURES[name].better == "higher" else (3.0, 2.0, 1.0)
        worst_last = [one(name, value / 4.0, k=2, limit=0.5).level for value in reversed(signs)]
        ranks = [levels.index(level) for level in worst_last]
        expected = sorted(ranks, reverse=MEASURES[name].better == "higher")
        assert ranks == expected, name


def test_every_measure_has_a_rule_or_a_reason_for_having_none() -> None:
    ruled = {*RULES_OF_THUMB, *LINKED, *SPECIAL, *DESCRIBES_THE_TABLE}
    ruled |= {"reidentified_random", "exact_singled_out"}
    assert ruled == set(MEASURES)
    assert set(DIVERSITY) <= set(SPECIAL)
    for name, (medium, high, sentence) in RULES_OF_THUMB.items():
        assert MEASURES[name].better == "lower"
        assert 0.0 < medium <= high <= MEASURES[name].worst_at(1)
        assert sentence.count("{value}") == 1
