"""The statistics, against slow twins and by hand."""

from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import jit
from algorithms.cutting import by_row
from algorithms.enterprise_survey import survey
from algorithms.errors import ContractError, DataError, SpecError
from algorithms.evaluation import evaluate
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.mdav import mdav
from algorithms.microaggregation.method import Method
from algorithms.problem import Budget, Problem
from algorithms.rounding.centroids import integer_centroids, real_centroids
from algorithms.search.linkage import Linkage, distance_linkage
from algorithms.search.pool import Pool
from algorithms.standardisation import standardise
from algorithms.types import Labels, Matrix, Partition
from algorithms.utility.il import information_loss
from tests.oracles import dld as dld_oracle
from tests.oracles import mdav as mdav_oracle
from tests.problems import matrices, problems
from tests.tables import compare_rows, table_of

ALONG_PATH = Method(
    run=lambda x, k, path: by_row(np.arange(len(x)) // k, path), summary="", paper="none"
)


@pytest.mark.parametrize("tail", ["nearest", "block"])
@given(problem=problems())
def test_mdav_equals_its_slow_twin(tail: str, problem: tuple[Matrix, int]) -> None:
    x, k = problem
    assert mdav(x, k, tail=tail).tolist() == mdav_oracle.mdav(x, k, tail).tolist()


@pytest.mark.parametrize("k", [2, 5, 60])
def test_mdav_equals_its_slow_twin_where_gaps_are_closed(k: int) -> None:
    x = np.random.default_rng(k).lognormal(size=(300, 3))
    assert mdav(x, k).tolist() == mdav_oracle.mdav(x, k).tolist()


def test_distances_are_summed_over_several_blocks() -> None:
    x = np.random.default_rng(1).normal(size=(3000, 2))
    pool = Pool(x)
    assert pool.farthest_from(np.zeros(2)) == int((x**2).sum(axis=1).argmax())


def test_a_centroid_keeps_its_digits_while_records_are_taken() -> None:
    x = np.array([[1e17], [1.0], [-1e17], [2.0], [3.0]])
    pool = Pool(x)
    pool.cut(0, 1)
    pool.cut(2, 1)
    assert pool.centroid().tolist() == [2.0]


def test_a_seed_stands_in_its_own_group_before_its_duplicates() -> None:
    pool = Pool(np.zeros((4, 1)))
    pool.cut(3, 2)
    assert pool.labels.tolist() == [0, -1, -1, 0]


@given(problem=problems(), seed=st.integers(0, 9))
def test_dld_equals_its_slow_twin(problem: tuple[Matrix, int], seed: int) -> None:
    x, k = problem
    labels = np.random.default_rng(seed).permutation(np.arange(len(x)) // k)
    published = np.array([x[labels == label].mean(axis=0) for label in labels])
    assert asdict(distance_linkage(x, published)) == pytest.approx(
        asdict(dld_oracle.distance_linkage(x, published)), abs=1e-9
    )


def test_dld_counts_ties_beyond_the_first_candidates() -> None:
    x = np.concatenate([np.zeros((30, 2)), np.ones((5, 2)), [[0.0, 3.0]]])
    for point in ([0.0, 0.0], [1.0, 1.0], [0.0, 3.0], [0.4, 0.4]):
        published = np.tile(point, (len(x), 1))
        assert asdict(distance_linkage(x, published)) == pytest.approx(
            asdict(dld_oracle.distance_linkage(x, published))
        )


def test_unmasked_distinct_records_are_all_linked() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    assert distance_linkage(x, x) == Linkage(100.0, 100.0, 100.0, 100.0)


@given(
    values=st.lists(st.integers(-(2**62), 2**62 - 1), min_size=4, max_size=12),
    small=st.booleans(),
)
def test_integer_centroids_are_exact(values: list[int], small: bool) -> None:
    column = [value % 100 - 50 if small else value for value in values]
    labels = np.arange(len(column)) % 2
    found = integer_centroids(np.array(column), Partition(labels, k=2))
    for group in (0, 1):
        mean = Fraction(sum(column[group::2]), len(column[group::2]))
        away = int(abs(mean) + Fraction(1, 2))
        assert set(found[labels == group].tolist()) == {away if mean >= 0 else -away}


def test_integer_centroids_are_exact_beyond_64_bits() -> None:
    column = np.array([2**62, 2**62 - 1, -(2**62), 1 - 2**62])
    found = integer_centroids(column, Partition(np.array([0, 0, 1, 1]), k=2))
    assert found.tolist() == [2**62, 2**62, -(2**62), -(2**62)]


def test_real_centroids_average_groups() -> None:
    values = np.array([1e9 + 0.1, 1e9 + 0.3, -5.0, 5.0])
    found = real_centroids(values, Partition(np.array([0, 0, 1, 1]), k=2))
    assert found[0] == found[1] == pytest.approx(1e9 + 0.2, abs=1e-7)
    assert found[2:].tolist() == [0.0, 0.0]


def test_a_constant_column_weighs_nothing() -> None:
    x = standardise(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]]))
    assert x[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert x[:, 1].std(ddof=1) == pytest.approx(1.0)


def test_one_record_can_be_standardised() -> None:
    assert standardise(np.array([[3.0]])).tolist() == [[0.0]]


def test_a_column_that_spreads_too_far_is_refused() -> None:
    wide = np.array([1e200, -1e200])
    table = table_of([wide, np.array([1.0, 2.0]), wide])
    with pytest.raises(DataError, match=r"'a' must spread over less than 1e150.*; 'c' must spread"):
        assert table.embedding


def test_information_is_lost_only_where_something_varies() -> None:
    flat = np.zeros((2, 1))
    assert information_loss(flat, flat)[0] == 0.0
    assert information_loss(flat, flat + 1.0)[0] == float("inf")


@given(problem=problems())
def test_an_evaluation_counts_what_is_published(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    labels = np.minimum(np.arange(len(x)) // k, max(len(x) // k - 1, 0))
    groups = Partition(labels, k)
    published = np.column_stack([real_centroids(column, groups) for column in x.T])
    found = evaluate(compare_rows(x, published, k))
    assert found.measures["k"] >= k
    assert sum(size * count for size, count in found.sizes.items()) == len(x) == found.records
    assert sum(found.sizes.values()) == found.groups


def test_a_path_method_reads_rows_in_order_and_labels_them_by_row() -> None:
    x = np.array([[3.0], [1.0], [4.0], [2.0]])
    found = ALONG_PATH.solve(Problem(x, 2, path=np.array([1, 3, 0, 2])))
    assert found.labels.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("x", "k", "method", "path", "error", "words"),
    [
        (np.zeros((2, 1)), 3, METHODS["mdav"], None, DataError, "got k=3 for 2 rows"),
        (np.full((2, 1), np.nan), 2, METHODS["mdav"], None, ContractError, "finite"),
        (np.zeros((2, 1)), 2, ALONG_PATH, None, ContractError, "does not hold: path"),
        (np.zeros((2, 1)), 2, ALONG_PATH, np.zeros(2, int), ContractError, "every row exactly"),
    ],
)
def test_a_broken_call_is_refused(
    x: Matrix, k: int, method: Method, path: Labels, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        method.solve(Problem(x, k, path=path))


def method_giving(labels: Labels) -> Method:
    def run(x: Matrix, k: int) -> Labels:
        return labels

    return Method(run=run, summary="", paper="none")


@pytest.mark.parametrize(
    ("labels", "words"),
    [([0, 0, 1], "1 of 2 hold fewer"), ([0, 0, 2, 2], "1 of 3"), ([0, 0, -1], "non-negative")],
)
def test_a_method_that_breaks_its_promise_is_caught(labels: list[int], words: str) -> None:
    broken = method_giving(np.array(labels))
    with pytest.raises(ContractError, match=words):
        broken.solve(Problem(np.zeros((len(labels), 1)), 2))


def test_a_method_must_label_every_row() -> None:
    broken = method_giving(np.array([0, 0]))
    with pytest.raises(ContractError, match="one label per row"):
        broken.solve(Problem(np.zeros((3, 1)), 2))


def test_a_method_that_searches_cannot_claim_to_read_a_path() -> None:
    def both(x: Matrix, k: int, path: Labels, budget: Budget) -> Labels:
        raise AssertionError

    with pytest.raises(ContractError, match="reads a path or searches, never both; 'both' does"):
        Method(run=both, summary="", paper="none")


def test_a_method_that_asks_for_something_unknown_cannot_be_built() -> None:
    def curious(x: Matrix, k: int, names: list[str]) -> Labels:
        raise AssertionError

    with pytest.raises(ContractError, match="'curious' asks for x, k, names"):
        Method(run=curious, summary="", paper="none")


def test_a_partition_cannot_be_changed() -> None:
    groups = Partition(np.array([0, 0]), k=2)
    with pytest.raises(ValueError, match="read-only"):
        groups.labels[0] = 1


def test_a_partition_leaves_the_array_of_its_caller_alone() -> None:
    labels = np.array([0, 0])
    groups = Partition(labels, k=2)
    labels[:] = 7
    assert groups.labels.tolist() == [0, 0]


@pytest.mark.parametrize("rows", [[[0, 1], [1, 2]], [[0, 1], [3, 4]]])
def test_partitions_are_joined_if_they_hold_every_row_once(rows: list[list[int]]) -> None:
    pair = Partition(np.array([0, 0]), k=2)
    with pytest.raises(ContractError, match="the same k and hold every row once"):
        Partition.join([(np.array(own), pair) for own in rows])


def test_partitions_of_different_k_are_not_joined() -> None:
    pair, triple = Partition(np.array([0, 0]), k=2), Partition(np.zeros(3, int), k=3)
    with pytest.raises(ContractError, match="the same k"):
        Partition.join([(np.array([0, 1]), pair), (np.array([2, 3, 4]), triple)])


def test_the_registry_helps_with_names() -> None:
    assert METHODS.known("mdav") == "mdav"
    assert "mdav" in METHODS
    assert len(METHODS) == len(list(METHODS))
    with pytest.raises(SpecError, match="did you mean 'mdav'"):
        METHODS.known("mdva")
    with pytest.raises(SpecError, match=r"there are: .*mdav"):
        METHODS.known("zzz")
    with pytest.raises(KeyError):
        METHODS["zzz"]


def test_kernels_are_kept_elsewhere_where_the_home_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert "microrelease-kernels-" in jit._cache_folder()


@given(x=matrices(least=2))
def test_standardised_columns_have_mean_zero(x: Matrix) -> None:
    assert np.abs(standardise(x).mean(axis=0)).max() < 1e-12


def test_the_survey_is_seeded_and_moves() -> None:
    first = list(survey(rows=400, quarters=3, seed=7))
    again = list(survey(rows=400, quarters=3, seed=7))
    other = next(survey(rows=400, quarters=1, seed=8))
    assert all(
        np.array_equal(a[name], b[name]) for a, b in zip(first, again, strict=True) for name in a
    )
    assert not np.array_equal(first[0]["turnover"], other["turnover"])
    for quarter in first:
        assert len(np.unique(quarter["company"])) == len(quarter["company"])
    stayed, at_first, at_last = np.intersect1d(
        first[0]["company"], first[2]["company"], return_indices=True
    )
    assert 0.8 < len(stayed) / 400 < 1.0
    before, after = first[0]["turnover"][at_first], first[2]["turnover"][at_last]
    assert np.corrcoef(np.log(before), np.log(after))[0, 1] > 0.95
    assert not np.array_equal(before, after)


def test_enterprises_enter_leave_and_return_after_an_absence() -> None:
    quarters = list(survey(rows=1000, quarters=4, seed=2))
    companies = [set(quarter["company"].tolist()) for quarter in quarters]
    assert len(companies[0]) == 1000
    for before, now, after in zip(companies, companies[1:], companies[2:], strict=False):
        away = (before - now) & after
        assert 0.01 < len(away) / 1000 < 0.03
        assert 0.03 < len(before - now - after) / 1000 < 0.07
        assert 970 < len(now) < 990


def test_the_first_quarter_does_not_depend_on_what_follows() -> None:
    plain = next(survey(rows=200, quarters=1, seed=3))
    moving = next(survey(rows=200, quarters=2, seed=3, leaving=0.5, absent=0.5, moving=0.5))
    assert all(np.array_equal(plain[name], moving[name]) for name in plain)


def test_those_who_answer_do_not_depend_on_those_who_are_absent() -> None:
    *_, all_there = survey(rows=300, quarters=3, seed=4, absent=0.0)
    *_, some_there = survey(rows=300, quarters=3, seed=4, absent=0.2)
    _, at, here = np.intersect1d(all_there["company"], some_there["company"], return_indices=True)
    assert len(here) == len(some_there["company"]) < 300
    assert all(np.array_equal(all_there[n][at], some_there[n][here]) for n in all_there)


def test_moving_enterprises_exchange_their_figures() -> None:
    def kept(moving: float) -> float:
        quarters = survey(rows=500, quarters=4, seed=1, leaving=0.0, absent=0.0, moving=moving)
        first, *_, last = (np.log(quarter["turnover"]) for quarter in quarters)
        return float(np.corrcoef(first, last)[0, 1])

    assert kept(0.0) > 0.98 > 0.3 > kept(0.5)


def test_the_survey_is_correlated_and_heavy_tailed() -> None:
    table = next(survey(rows=5000, quarters=1, seed=1))
    assert np.corrcoef(table["employees"], table["wages"])[0, 1] > 0.8
    turnover = standardise(table["turnover"].astype(float).reshape(-1, 1))
    assert (turnover**4).mean() > 30.0  # a normal distribution has 3


@pytest.mark.parametrize(
    ("x", "found"),
    [
        (pd.DataFrame({"a": [1.0, 2.0, 3.0]}), "an object of type DataFrame"),
        (np.zeros(3), "an array of float64 with 1 axes"),
        (np.array([["a"], ["b"]]), "an array of <U1 with 2 axes"),
    ],
)
def test_records_that_are_no_matrix_are_refused_in_words(x: Any, found: str) -> None:
    with pytest.raises(ContractError, match=f"numpy array of numbers with two axes; got {found}:"):
        METHODS["mdav"].run(x, 2)
    with pytest.raises(ContractError, match="numpy array of numbers with two axes"):
        Problem(x, 2)
