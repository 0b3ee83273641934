"""Attacks on figures: an attacker has the published file, a manifest and the table of a map."""

import json
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.comparison import Comparison
from algorithms.evaluation import PUBLIC_MEASURES, Evaluation, evaluate
from algorithms.measure import DECIMALS, DIGITS, figure
from algorithms.measures import MEASURES
from algorithms.rounding.centroids import real_centroids
from algorithms.types import Matrix, Partition
from algorithms.utility import bound_curve
from algorithms.utility.moments import QUANTILES, quantile_changes
from expectations.gate import Verdicts
from expectations.request.sections.gate import Ceilings, Floors, GateSection
from tests.tables import compare_rows, rows_of, table_of

K, SEEDS = 3, 20
SHARES = [percent / 100.0 for percent in QUANTILES]


def blocks_of(original: Matrix, k: int = K) -> Partition:
    """Group neighbours in the first column."""
    n = len(original)
    labels = np.empty(n, dtype=np.int64)
    labels[np.argsort(original[:, 0], kind="stable")] = np.minimum(np.arange(n) // k, n // k - 1)
    return Partition(labels, k)


def masked(original: Matrix, k: int = K) -> Comparison:
    groups = blocks_of(original, k)
    published = np.column_stack([real_centroids(column, groups) for column in original.T])
    return compare_rows(original, published, k)


def manifest_of(files: Comparison) -> dict[str, list[dict[str, float]]]:
    """Write an evaluation down and read it again, as anyone can who gets hold of a manifest."""
    told: dict[str, list[dict[str, float]]] = json.loads(json.dumps(asdict(evaluate(files))))
    return told


def columns_with_all_digits(files: Comparison) -> list[dict[str, float]]:
    """Tell of columns as version 0.1.0 did."""
    before, after = files.before, files.after
    changes = np.quantile(after, SHARES, axis=0) - np.quantile(before, SHARES, axis=0)
    return [
        {
            "mean_change": float((after[:, j] - before[:, j]).mean()),
            "variance_ratio": float(after[:, j].var() / before[:, j].var()),
            **{f"quantile_{p}_change": float(changes[i, j]) for i, p in enumerate(QUANTILES)},
        }
        for j in range(before.shape[1])
    ]


def guesses(published: Matrix, columns: list[dict[str, float]]) -> list[tuple[int, int, float]]:
    """Solve for original quantiles, from published values and what is told of columns.

    The ratio of variances gives the deviation of the original, and that turns each change into a
    difference in the column's own unit.
    """
    found = []
    for j, told in enumerate(columns):
        values = published[:, j]
        deviation = values.std(ddof=1) / np.sqrt(told["variance_ratio"])
        for share, percent in zip(SHARES, QUANTILES, strict=True):
            change = told.get(f"quantile_{percent}_change")
            if change is not None:
                found.append((j, percent, float(np.quantile(values, share) - change * deviation)))
    return found


def tables() -> list[Comparison]:
    """Mask tables of two skewed columns; a quantile of theirs is the value of one record."""
    return [
        masked(np.random.default_rng(seed).gamma(2.0, 300.0, (121, 2))) for seed in range(SEEDS)
    ]


def share_of_cells(files: Comparison, columns: list[dict[str, float]]) -> float:
    """Tell how many guesses lie so near a cell that it is no chance: one in ten does by chance."""
    near = []
    for j, _, guess in guesses(rows_of(files.masked.published), columns):
        values = np.sort(files.original.keys[j])
        i = int(np.clip(np.searchsorted(values, guess), 1, len(values) - 1))
        gap = values[i] - values[i - 1]
        near.append(min(values[i] - guess, guess - values[i - 1]) < 0.05 * gap)
    assert len(near) == 10
    return float(np.mean(near))


def test_with_all_digits_every_quantile_gives_a_cell_away() -> None:
    for files in tables():
        for j, _, guess in guesses(rows_of(files.masked.published), columns_with_all_digits(files)):
            assert np.abs(files.original.keys[j] - guess).min() < 1e-9
        assert share_of_cells(files, columns_with_all_digits(files)) == 1.0


def test_fewer_digits_alone_would_still_tell_which_cell() -> None:
    for files in tables():
        told = [
            {name: round(value, 4) for name, value in column.items()}
            for column in columns_with_all_digits(files)
        ]
        assert share_of_cells(files, told) >= 0.7


def test_a_manifest_tells_of_no_cell() -> None:
    shares = [share_of_cells(files, manifest_of(files)["columns"]) for files in tables()]
    assert np.mean(shares) < 0.2


def rotated(original: Matrix, rows: list[int]) -> Matrix:
    """Change three cells so that neither their sum nor the sum of their squares changes."""
    other = original.copy()
    values = original[rows, 0]
    centre, away = values.mean(), values - values.mean()
    # a rotation about the axis (1, 1, 1) keeps both sums
    cosine, sine = np.cos(0.4), np.sin(0.4)
    cross = np.array([away[2] - away[1], away[0] - away[2], away[1] - away[0]]) / np.sqrt(3.0)
    other[rows, 0] = centre + cosine * away + sine * cross
    return other


def test_tables_whose_cells_differ_give_the_same_manifest_figures() -> None:
    original = np.sort(np.random.default_rng(3).normal(size=(401, 1)) * 50.0, axis=0)
    # one group in the middle, all of it within the records that are averaged for the median
    (rows,) = [
        rows
        for start, end in pairwise(range(0, 402, K))
        if (rows := list(range(start, end))) and 198 <= rows[0] <= 200
    ]
    other = rotated(original, rows)
    published = rows_of(masked(original).masked.published)
    one, two = masked(original), compare_rows(other, published, K)
    assert np.abs(original[rows, 0] - other[rows, 0]).min() > 1e-3
    assert manifest_of(one)["columns"] == manifest_of(two)["columns"]
    for name in ("il", "mean_change", "variance_change", "quantile_change", "sse"):
        assert evaluate(one).measures[name] == evaluate(two).measures[name]
    assert columns_with_all_digits(one) != columns_with_all_digits(two)


def test_what_would_tell_of_fewer_than_k_records_is_left_out_of_the_manifest() -> None:
    for n, k, told in (
        (401, 3, {5, 25, 50, 75, 95}),
        (401, 11, {25, 50, 75}),
        (100, 5, {25, 50, 75}),
        (99, 7, set()),
    ):
        files = masked(np.random.default_rng(2).gamma(2.0, 300.0, (n, 2)), k)
        (column, _) = manifest_of(files)["columns"]
        assert {name for name in column if name.startswith("quantile")} == {
            f"quantile_{percent}_change" for percent in told
        }
        assert ("quantile_change" in evaluate(files).measures) == bool(told)


@given(n=st.integers(1, 3000), k=st.integers(2, 40), larger=st.integers(1, 40))
def test_the_records_averaged_for_a_quantile_do_not_depend_on_k(
    n: int, k: int, larger: int
) -> None:
    x = np.arange(float(n))[:, np.newaxis] ** 2
    several = [
        quantile_changes(compare_rows(x, x[::-1] / 2.0, size, x)) for size in (k, k + larger)
    ]
    assert several[1].items() <= several[0].items()


def gradients(files: Comparison) -> dict[str, Matrix]:
    """Tell how far each figure with all its digits moves if one original moves a little."""

    published = rows_of(files.masked.published)

    def figures(original: Matrix) -> dict[str, float]:
        moved = compare_rows(original, published, files.k)
        found = dict(evaluate(moved).exact)
        for percent, change in quantile_changes(moved).items():
            # in the column's own unit, where the deviation of all records plays no part
            found[f"quantile_{percent}"] = float(change[0] * original[:, 0].std(ddof=1))
        old = np.quantile(published[:, 0], 0.5) - np.quantile(original[:, 0], 0.5)
        return {**found, "median as it was": float(old)}

    start = figures(rows_of(files.original))
    moves: dict[str, list[float]] = {name: [] for name in start}
    for row in range(len(files.original)):
        original = rows_of(files.original)
        original[row] += 1e-5
        after = figures(original)
        for name, value in start.items():
            moves[name].append(abs(after[name] - value))
    return {name: np.sort(np.array(move))[::-1] for name, move in moves.items()}


NOT_OF_NUMBERS = {
    "k_units", "category_error", "margin_change", "association_change", "filled", "blanked",
    "withheld", "merged", "weighted_total_change",
    "candidates_min", "under_k_across", "singled_out", "exact_singled_out", "muted", "lone_changes",
    "il_over_fresh", "l_across", "row_links", "solved",
}  # fmt: skip
"""Measures of labels, missing values, strata, units, weights and earlier releases."""


def test_no_figure_hangs_on_fewer_than_k_records() -> None:
    files = masked(np.random.default_rng(5).normal(size=(131, 2)))
    found = gradients(files)
    assert (
        found.keys()
        >= {name for name, measure in MEASURES.items() if measure.needs_original} - NOT_OF_NUMBERS
    )
    shares = {
        name: float(moves[: K - 1].sum() / moves.sum())
        for name, moves in found.items()
        if moves.sum() > 1e-9
    }
    assert shares.pop("median as it was") == pytest.approx(1.0)
    assert {"il", "il1s", "variance_change", "quantile_50", "quantile_change"} <= shares.keys()
    for name, share in shares.items():
        assert share <= (K - 1) / K, name


def test_no_bound_on_the_curve_hangs_on_fewer_than_k_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bound_curve, "_cut_off", lambda value: value)
    x = np.random.default_rng(5).normal(size=(131, 2))

    def bounds(moved: Matrix) -> Matrix:
        curve = bound_curve.bound_curve(table_of(list(moved.T)), bound_curve.ks_around(K))
        return np.array(list(curve.least.values()))

    start, moves = bounds(x), []
    for row in range(len(x)):
        moved = x.copy()
        moved[row] += 1e-5
        moves.append(np.abs(bounds(moved) - start))
    largest = np.sort(np.array(moves), axis=0)[::-1]
    assert len(start) == len(bound_curve.ks_around(K))
    assert (largest[: K - 1].sum(axis=0) <= (K - 1) / K * largest.sum(axis=0)).all()


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_a_figure_has_few_digits_and_rounding_it_again_changes_nothing(value: float) -> None:
    told = figure(value)
    assert figure(told) == told
    assert float(f"{told:.{DIGITS - 1}e}") == pytest.approx(told, rel=1e-15)
    assert abs(told - value) <= max(
        0.51 * 10.0**-DECIMALS, 0.51 * 10.0 ** (1 - DIGITS) * abs(value)
    )
    assert str(told) != "-0.0"


def test_only_figures_are_written_and_the_gate_sees_all_digits() -> None:
    files = tables()[0]
    found = evaluate(files)
    text = json.dumps(asdict(found)) + repr(found) + str(found)
    for name, value in found.exact.items():
        assert found.measures[name] == (value if name in PUBLIC_MEASURES else figure(value))
        if found.measures[name] != value:
            assert repr(value) not in text
    assert Evaluation(**asdict(found)) == found


@given(
    il=st.floats(0.0, 100.0),
    limit=st.floats(0.0, 100.0),
    near=st.sampled_from([0.0, 1e-15, 1e-13, 1e-9, 1e-6, 1e-5, 1e-3]),
    same=st.booleans(),
)
def test_the_value_in_a_manifest_is_on_the_side_of_its_limit_that_the_gate_saw(
    il: float, limit: float, near: float, same: bool
) -> None:
    value = limit + near if same else il
    found = Evaluation({"il": value, "dld": 1.0, "k": 3.0, "l_entropy": value}, 9, 3, {3: 3})
    gate = GateSection(
        ceilings=Ceilings(il=limit, dld=50.0), floors=Floors.model_validate({"l_entropy": limit})
    )
    ceiling, _, floor, _ = Verdicts(found, gate, 3)
    assert ceiling.passed == (value <= limit) == (ceiling.value <= limit)
    assert floor.passed == (value >= limit) == (floor.value >= limit)
    if abs(value - limit) > 1e-3:
        assert ceiling.value == figure(value)
