"""Pictures of originals show no record."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms import profile as profiles
from algorithms.attributes import Number, Values
from algorithms.attributes.number import NumberCoordinates
from algorithms.comparison import Comparison
from algorithms.evaluation import evaluate
from algorithms.profile import ColumnProfile, profile
from algorithms.search.linkage import distance_linkage
from algorithms.types import Matrix
from tests.tables import compare_rows

NAMES = ("a", "b", "c")


def averaged(x: Matrix, k: int) -> Matrix:
    """Replace rows, sorted by the first column, by averages of k or more."""
    published = x.copy()
    for block in np.array_split(np.argsort(x[:, 0], kind="stable"), max(len(x) // k, 1)):
        published[block] = x[block].mean(axis=0)
    return published


def columns_of(x: Matrix, published: Matrix, k: int) -> tuple[ColumnProfile, ...]:
    return profile(compare_rows(x, published, k)).columns


def tables(least: int = 1) -> st.SearchStrategy[tuple[Matrix, int]]:
    """Make tables with many ties, and extremes among them."""
    cells = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e9, 1e9, width=32))
    return st.integers(2, 5).flatmap(
        lambda k: st.tuples(
            st.integers(max(least, k), 80).flatmap(
                lambda n: arrays(np.float64, (n, 2), elements=cells)
            ),
            st.just(k),
        )
    )


@given(tables())
def test_every_figure_is_finite_and_within_what_k_records_lie_beyond(
    table: tuple[Matrix, int],
) -> None:
    x, k = table
    for j, column in enumerate(columns_of(x, averaged(x, k), k)):
        ordered = np.sort(x[:, j])
        slack = 1e-9 * (1.0 + np.abs(x[:, j]).max())
        for values in (column.grid, column.before):
            assert (values >= ordered[k - 1] - slack).all()
            assert (values <= ordered[len(x) - k] + slack).all()
        for curve in (column.density_before, column.density_after):
            assert np.isfinite(curve).all()
            assert (curve >= 0.0).all()
        assert column.grid.size == column.density_before.size == column.density_after.size
        assert column.before.size == column.after.size == column.shares.size


@given(tables(least=30), st.data())
def test_the_lowest_and_the_highest_values_leave_no_trace(
    table: tuple[Matrix, int], data: st.DataObject
) -> None:
    x, k = table
    published = averaged(x, k)
    moved = x.copy()
    for j in range(2):
        order = np.argsort(x[:, j], kind="stable")
        far = data.draw(st.floats(1.0, 1e9))
        moved[order[: k - 1], j] -= far
        moved[order[len(x) - k + 1 :], j] += far
    for kept, other in zip(
        columns_of(x, published, k), columns_of(moved, published, k), strict=True
    ):
        for part in ("grid", "before", "after", "shares", "density_before", "density_after"):
            np.testing.assert_array_equal(getattr(kept, part), getattr(other, part))
        assert kept.stretch == other.stretch


@given(tables(least=30))
def test_each_average_is_one_of_at_least_k_neighbours(table: tuple[Matrix, int]) -> None:
    x, k = table
    for j, column in enumerate(columns_of(x, x, k)):
        ordered = np.sort(x[:, j])
        ends = np.round(2 * len(x) * column.shares).astype(int)
        start = k - 1
        for middle, average in zip(ends, column.before, strict=True):
            end = middle - start
            assert end - start >= k
            assert average == pytest.approx(ordered[start:end].mean(), abs=1e-3)
            start = end


def test_no_single_value_is_in_the_profile_of_distinct_values() -> None:
    x = np.random.default_rng(3).lognormal(3.0, 2.0, (500, 1))
    column = columns_of(x, averaged(x, 5), 5)[0]
    for part in ("grid", "before"):
        assert not set(getattr(column, part).tolist()) & set(x[:, 0].tolist())


def test_a_curve_holds_all_records_and_does_not_change_if_nothing_does() -> None:
    x = np.random.default_rng(1).normal(50.0, 10.0, (1000, 1))
    column = columns_of(x, x, 5)[0]
    assert column.drawn
    assert column.stretch is None
    step = column.grid[1] - column.grid[0]
    assert column.density_before.sum() * step == pytest.approx(1.0)
    np.testing.assert_array_equal(column.density_before, column.density_after)
    assert column.grid[column.density_before.argmax()] == pytest.approx(50.0, abs=4.0)


def test_a_heap_near_zero_gets_a_stretched_axis() -> None:
    rng = np.random.default_rng(2)
    x = np.where(rng.random((600, 1)) < 0.6, 0.0, rng.lognormal(8.0, 2.0, (600, 1)))
    column = columns_of(x, x, 3)[0]
    assert column.stretch is not None
    assert np.log10(column.stretch) == pytest.approx(round(np.log10(column.stretch)))
    assert column.grid[0] == 0.0
    assert column.grid[-1] == pytest.approx(column.before[-1])
    assert column.density_before.argmax() == 0


@pytest.mark.parametrize(
    "values",
    [np.full(60, 7.0), np.arange(4.0), np.r_[np.zeros(57), 2.0, 3.0, 9.0], np.full(60, 1e16)],
    ids=["constant", "as many as k", "nearly constant", "constant and large"],
)
def test_what_would_show_nothing_or_somebody_is_not_drawn(values: Matrix) -> None:
    column = columns_of(values[:, np.newaxis], values[:, np.newaxis], 4)[0]
    assert not column.drawn
    assert column.density_before.size == column.density_after.size == 0


def test_published_values_beyond_the_axis_are_not_drawn() -> None:
    x = np.random.default_rng(4).normal(size=(200, 1))
    column = columns_of(x, x + 100.0, 4)[0]
    assert not column.density_after.any()
    assert column.density_before.any()


def test_few_distinct_whole_numbers_are_drawn() -> None:
    x = np.random.default_rng(5).integers(0, 4, (400, 1)).astype(float)
    column = columns_of(x, averaged(x, 5), 5)[0]
    assert column.drawn
    assert (column.grid[0], column.grid[-1]) == (0.0, 3.0)


def test_correlations_and_linkage_are_those_of_the_measures() -> None:
    x = np.random.default_rng(6).normal(size=(300, 3))
    published = averaged(x, 4)
    files = compare_rows(x, published, 4)
    found = profile(files)
    np.testing.assert_allclose(found.correlations_before, np.corrcoef(files.before.T), atol=1e-12)
    np.testing.assert_allclose(found.correlations_after, np.corrcoef(files.after.T), atol=1e-12)
    assert found.linkage_all == distance_linkage(files.before, files.after).expected
    assert [entry.name for entry in found.linkage] == list(NAMES)
    without = distance_linkage(files.before[:, [0, 2]], files.after[:, [0, 2]])
    assert found.linkage[1].without == without.expected
    assert found.linkage[0].alone > found.linkage[1].alone
    assert found.linkage_note == ""


def test_a_single_column_has_no_others() -> None:
    x = np.arange(50.0)[:, np.newaxis]
    files = compare_rows(x, averaged(x, 5), 5)
    (entry,) = profile(files).linkage
    assert entry.without is None


def test_many_records_are_sampled_in_whole_groups_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiles, "MOST_LINKED", 50)
    x = np.random.default_rng(7).normal(size=(200, 2))
    published = averaged(x, 4)
    files = compare_rows(x, published, 4)
    found = profile(files)
    assert "measured on 48 of 200 records" in found.linkage_note
    assert profile(files).linkage == found.linkage
    monkeypatch.setattr(profiles, "MOST_LINKED", 2)
    assert "measured on 4 of 200 records" in profile(files).linkage_note


class Unordered(Number):
    """A kind of column without a number line."""

    has_line = False

    def scale(self, values: Values) -> NumberCoordinates:
        return Number(self.name).scale(values)

    def numbers(self, values: Values) -> None:  # noqa: ARG002 - as all kinds have it
        return None


def test_a_column_without_a_number_line_is_linked_and_not_drawn() -> None:
    x = np.random.default_rng(2).normal(size=(60, 3))
    files = compare_rows(x, averaged(x, 3), 3)
    mixed = replace(files.original, attributes=(Number("a"), Unordered("b"), Number("c")))
    files = Comparison(replace(files.masked, original=mixed))
    found = profile(files)
    assert [column.name for column in found.columns] == ["a", "c"]
    assert found.correlations_before.shape == (2, 2)
    assert [entry.name for entry in found.linkage] == ["a", "b", "c"]
    changes = [set(changes) for changes in evaluate(files).columns]
    assert changes[0] == changes[2] >= {"mean_change", "variance_ratio"}
    assert changes[1] == {"il", "label_error", "margin_change"}
