"""The measures, beside slow and obvious twins and on cases that can be checked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from algorithms.comparison import Comparison
from algorithms.evaluation import evaluate, evaluate_released
from algorithms.measure import Estimate
from algorithms.measures import MEASURES
from algorithms.microaggregation.mdav import mdav
from algorithms.risk import diversity, interval, one_to_one
from algorithms.rounding.centroids import real_centroids
from algorithms.table import Codes
from algorithms.types import Matrix, Partition
from algorithms.utility import moments, structure
from algorithms.utility.propensity import propensity_error
from tests.oracles import measures as oracle
from tests.problems import problems
from tests.tables import compare_rows


def masked(x: Matrix, k: int, codes: list[int] | None = None) -> Comparison:
    """Mask a table with MDAV."""
    groups = Partition(mdav(x, k), k)
    published = np.column_stack([real_centroids(column, groups) for column in x.T])
    confidential = {} if codes is None else {"c": Codes(np.array(codes), ordered=True)}
    return compare_rows(x, published, k, confidential=confidential)


def random_table(seed: int, n: int = 60, d: int = 3) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_every_measure_explains_itself() -> None:
    for name, measure in MEASURES.items():
        assert name == measure.name
        assert measure.definition.endswith(".")
        assert measure.kind in ("risk", "utility")


@given(problem=problems())
def test_every_measure_that_applies_is_a_number(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    found = evaluate(masked(x, k, list(range(len(x))))).measures
    assert not any(np.isnan(value) for value in found.values())
    assert found["k"] >= k
    assert found["below_k"] == 0
    assert found["dld_optimistic"] <= found["dld"] <= found["dld_pessimistic"]
    assert found["linked_nearest"] <= found["dld_pessimistic"]
    assert found["within_records"] <= found["within_values"]
    assert found.get("il_bound", 0.0) <= found["il"] + 1e-9


def test_what_is_published_unchanged_loses_nothing_and_is_linked() -> None:
    x = random_table(1)
    found = evaluate(compare_rows(x, x, 2)).measures
    for name in ("il", "il1s", "mean_change", "variance_change", "quantile_change", "pmse"):
        assert found[name] == pytest.approx(0.0, abs=1e-12)
    for name in ("dld", "linked_nearest", "within_records", "reidentified_best"):
        assert found[name] == 100.0


def test_measures_that_do_not_apply_are_left_out() -> None:
    found = evaluate(masked(random_table(2, d=1), 3)).measures
    assert "correlation_change" not in found
    assert "l_distinct" not in found
    constant = np.ones((6, 2))
    assert "il_bound" not in evaluate(compare_rows(constant, constant, 3)).measures


@given(
    values=st.lists(st.integers(0, 5), min_size=6, max_size=24),
    k=st.integers(2, 4),
)
def test_diversity_and_closeness_are_as_counted(values: list[int], k: int) -> None:
    _, dense = np.unique(values, return_inverse=True)
    codes = Codes(dense.astype(np.int64), ordered=True)
    classes = np.minimum(np.arange(len(values)) // k, len(values) // k - 1)
    for ours, twin in (
        (diversity.distinct_values, oracle.distinct),
        (diversity.entropy_values, oracle.entropy),
        (diversity.equal_distance, oracle.equal_distance),
        (diversity.ordered_distance, oracle.ordered_distance),
    ):
        assert ours(codes, classes) == pytest.approx(twin(codes.values, classes), abs=1e-12)


def test_closeness_in_order_needs_an_order() -> None:
    codes = Codes(np.array([0, 1, 0, 1]), ordered=False)
    assert diversity.ordered_distance(codes, np.array([0, 0, 1, 1])) is None


@given(problem=problems())
def test_ranks_between_are_as_counted(problem: tuple[Matrix, int]) -> None:
    files = masked(*problem)
    found = MEASURES["within_ranks_values"].run(files)
    assert found == pytest.approx(oracle.near_ranks(files.before, files.after, interval.NEAR))


def test_the_best_assignment_is_the_best() -> None:
    x = random_table(3, n=7, d=2)
    files = masked(x, 2)
    rows, assigned = linear_sum_assignment(cdist(files.after, files.before, "sqeuclidean"))
    total = float(((files.after[rows] - files.before[assigned]) ** 2).sum())
    assert total == pytest.approx(oracle.best_assignment(files.before, files.after))


def test_many_records_are_assigned_in_samples_and_it_is_said() -> None:
    files = masked(random_table(4, n=800, d=2), 4)
    found = one_to_one.best_linkage(files)
    assert isinstance(found, Estimate)
    assert "samples" in found.how
    exact = one_to_one.reidentified(files.before, files.after, files.classes)
    assert found.value == pytest.approx(exact, rel=0.5)
    assert evaluate(files).notes["reidentified_best"] == f"Estimated: {found.how}"


def test_a_moved_and_shrunk_column_is_told() -> None:
    x = random_table(5, n=400, d=2)
    published = x.copy()
    published[:, 0] = 0.5 * (x[:, 0] - x[:, 0].mean()) + x[:, 0].mean() + 2.0 * x[:, 0].std(ddof=1)
    files = compare_rows(x, published, 2)
    assert moments.mean_changes(files) == pytest.approx([2.0, 0.0])
    assert moments.variance_ratios(files) == pytest.approx([0.25, 1.0])
    found = evaluate(files)
    assert found.measures["variance_change"] == pytest.approx(75.0)
    assert found.columns[0]["mean_change"] == pytest.approx(2.0)
    assert set(found.columns[0]) >= {"variance_ratio", "quantile_50_change"}


def test_a_column_that_begins_to_vary_is_told() -> None:
    x = np.ones((4, 1))
    published = np.array([[1.0], [1.0], [2.0], [2.0]])
    assert moments.variance_ratios(compare_rows(x, published, 2)).tolist() == [np.inf]


def test_columns_that_depend_on_each_other_do_no_harm() -> None:
    x = random_table(6, d=2)
    x = np.column_stack([x, x[:, 0], np.ones(len(x))])
    files = masked(x, 3)
    assert np.isfinite(structure.spectrum_changes(files)).all()
    correlations = structure.correlations(structure.covariances(files)[0])
    assert correlations[0, 2] == pytest.approx(1.0)
    assert correlations[0, 3] == 0.0
    assert np.isfinite(propensity_error(files))


def test_a_model_tells_apart_what_is_far_apart() -> None:
    x = random_table(7, n=200, d=1)
    assert propensity_error(compare_rows(x, x + 50.0, 1)) == pytest.approx(0.25, abs=1e-3)
    assert propensity_error(compare_rows(x, x[::-1], 1)) == pytest.approx(0.0, abs=1e-9)


def test_the_certificate_names_bound_loss_and_rounding() -> None:
    found = evaluate(masked(random_table(8), 3))
    assert found.certificate.startswith("no method could lose less than")
    assert "rounding" not in found.certificate
    x = random_table(9)
    rounded = evaluate(compare_rows(x, np.round(x), 2, x))
    assert "(of which rounding accounts for" in rounded.certificate
    constant = np.ones((6, 1))
    assert evaluate(compare_rows(constant, constant, 3)).certificate == ("this file loses 0.0000 %")


@given(problem=problems())
def test_what_needs_no_original_is_the_same_without_it(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    files = masked(x, k, [i % 3 for i in range(len(x))])
    alone = evaluate_released(files.released)
    everything = evaluate(files).measures
    assert set(alone) == {name for name, m in MEASURES.items() if not m.needs_original}
    assert alone == {name: everything[name] for name in alone}


def test_what_is_computed_once_is_computed_for_each_argument() -> None:
    x = random_table(10)
    files = compare_rows(x, x, 2)
    calls = []

    def total(files: Comparison, power: int, sign: int = 1) -> float:
        calls.append((power, sign))
        return sign * float((files.before**power).sum())

    for _ in range(2):
        assert files.once(total, 2) == pytest.approx((len(x) - 1.0) * x.shape[1])
        assert files.once(total, 2, sign=-1) == -files.once(total, 2)
        assert files.once(total, 1) == pytest.approx(0.0)
    assert calls == [(2, 1), (2, -1), (1, 1)]


@given(problem=problems())
def test_no_measure_is_worse_than_the_worst_that_it_states(problem: tuple[Matrix, int]) -> None:
    x, k = problem
    files = masked(x, k, [i % 2 for i in range(len(x))])
    for name, value in evaluate(files).exact.items():
        worst, better = MEASURES[name].worst_at(k), MEASURES[name].better
        assert value <= worst + 1e-9 if better == "lower" else value >= worst - 1e-9
        if np.isfinite(worst):
            assert MEASURES[name].tolerates_all(worst, k)
            assert not MEASURES[name].tolerates_all(
                worst * (0.99 if better == "lower" else 1.01), k
            )


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_dld_reaches_the_most_that_groups_of_k_allow_and_no_more(k: int) -> None:
    # two records near the average of each group, the others far out on either side
    group = np.concatenate([[-0.1, 0.1], np.linspace(5.0, 9.0, k - 2) * (-1.0) ** np.arange(k - 2)])
    group -= group.sum() / k * (np.arange(k) >= 2) * k / max(k - 2, 1)
    original = np.concatenate([group + 1000.0 * i for i in range(6)])[:, np.newaxis]
    published = np.repeat(1000.0 * np.arange(6.0), k)[:, np.newaxis]
    found = evaluate(compare_rows(original, published, k)).measures
    assert found["dld"] == pytest.approx(200.0 / k, abs=1e-3)
    assert found["dld"] <= MEASURES["dld"].worst_at(k) + 1e-3  # type: ignore[operator]


def test_a_measure_without_a_worst_value_can_always_refuse() -> None:
    assert not MEASURES["il"].tolerates_all(1e9, 5)
    assert MEASURES["dld"].tolerates_all(40.0, 5)
    assert not MEASURES["dld"].tolerates_all(39.9, 5)
    assert MEASURES["l_distinct"].tolerates_all(1.0, 5)
