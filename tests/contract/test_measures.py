"""What every registered measure owes, over the whole registry."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.attributes import Category, Number, WithMissing
from algorithms.comparison import Comparison, Released
from algorithms.errors import ContractError
from algorithms.evaluation import evaluate
from algorithms.history import History, Past
from algorithms.masked import Masked
from algorithms.masking import Plan, mask
from algorithms.measure import Measure
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.table import Codes, Stratum, Table
from algorithms.types import Matrix
from tests.problems import problems
from tests.tables import table_of

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)

DEPENDS_ON_ROWS = {"reidentified_best"}
"""Measures in which ties are broken by row, or records are drawn."""

STABLE = {"stable": ("c",)}
"""The columns whose values persons keep."""


def masked(x: Matrix, k: int, codes: np.ndarray | None = None, seed: int = 0) -> Comparison:
    """Mask whole numbers, so that rounding plays a part."""
    values = np.rint(4.0 * x).astype(np.int64)
    confidential = {}
    if codes is not None:
        # values are numbered without gaps, as they are read
        numbers = np.unique(codes, return_inverse=True)[1].reshape(-1)
        confidential = {"c": Codes(numbers, ordered=True)}
    table = comparable(table_of(list(values.T), confidential))
    return followed(mask(table, Plan(k=k, method=METHODS["mdav"])), seed)


def comparable(table: Table) -> Table:
    """Name persons, and the values of columns that are published as they are."""
    tokens = {each.name: each.values for each in table.strata}
    tokens |= {name: each.values for name, each in table.confidential.items()}
    persons = np.arange(len(table)) if table.persons is None else table.persons
    return replace(table, persons=persons, tokens=tokens)


def followed(masked: Masked, seed: int = 0) -> Comparison:
    """Compare a table with earlier ones of most of its persons; for odd seeds, mute records."""
    rng = np.random.default_rng(seed)
    table, n = masked.original, len(masked.original)
    persons = table.persons
    assert persons is not None
    grouping = replace(masked.groupings[0], fresh_loss=masked.groupings[0].fresh_loss or 1.0)
    if seed % 2:
        muted = rng.random(n) < 0.3
        grouping = replace(grouping, muted=muted)
        masked = replace(masked, published=masked.published.mute(muted))
    past = []
    for _ in range(seed % 4):
        there = np.flatnonzero(rng.random(n) < 0.9)
        everybody = np.append(persons[there], persons.max() + 1)
        groups = np.append(rng.permutation(grouping.partition.labels)[there], 0)
        visible = rng.random(there.size + 1) < 0.8
        behind = table.take(there)
        past.append(Past("2026-Q1", masked.k, everybody, groups, visible, behind))
    return Comparison(replace(masked, groupings=(grouping,)), History(tuple(past)))


def mixed(x: Matrix, k: int, seed: int) -> Comparison:
    """Mask numbers, labels and gaps, with strata, units and, for odd seeds, weights."""
    n, rng = len(x), np.random.default_rng(seed)
    gaps = rng.random(n) < 0.2
    # a stratum of one record is withheld
    strata = np.zeros(n, dtype=np.int64)
    strata[: n - k][:1] = 1
    numbers = table_of(list(np.rint(4.0 * x).astype(np.int64).T))
    table = Table(
        (
            *numbers.attributes,
            Category("label", ("p", "q", "r")),
            WithMissing(Number("gaps"), "state"),
        ),
        (*numbers.keys, rng.integers(0, 3, n), np.where(gaps, np.nan, rng.integers(0, 9, n))),
        confidential={"c": Codes(rng.integers(0, 3, n)), "d": Codes(rng.integers(0, 2, n))},
        strata=(Stratum("region", strata),),
        persons=rng.permutation(n),
        units=np.arange(n),
        weights=rng.integers(1, 5, n).astype(np.float64) if seed % 2 else None,
    )
    plan = Plan(k=k, method=METHODS["mdav"], small_strata="withhold" if n > k else "block")
    return followed(mask(comparable(table), plan), seed)


def repeated(masked: Masked) -> Comparison:
    """Compare a table with itself, published twice in the same groups."""
    assert masked.original.persons is not None
    grouping = replace(masked.groupings[0], fresh_loss=1.0)
    visible = np.ones(len(masked.original), dtype=bool)
    first = Past(
        "2026-Q1", masked.k, masked.original.persons, masked.groups, visible, masked.original
    )
    return Comparison(replace(masked, groupings=(grouping,)), History((first,)))


def rows(files: Comparison, order: np.ndarray) -> Comparison:
    """Take the rows of a comparison in another order."""
    masked = files.masked
    (grouping,) = masked.groupings
    partition = replace(grouping.partition, labels=grouping.partition.labels[order], units=None)
    return Comparison(
        replace(
            masked,
            # fitted again, a scale would differ in its last digits, and ties with it
            original=masked.original.take(order),
            published=masked.published.take(order),
            groupings=(replace(grouping, partition=partition),),
            averages=masked.averages[order],
        ),
        files.history,
    )


def value(files: Comparison, measure: Measure) -> float | None:
    options = STABLE if "c" in files.original.confidential else None
    return evaluate(files, [measure.name], options).exact.get(measure.name)


@every_measure
def test_it_is_fully_described(measure: Measure) -> None:
    assert measure.name.isidentifier()
    assert measure.definition.endswith(".")
    assert measure.least < measure.most
    first, *options = inspect.signature(measure.run).parameters.values()
    assert first.name == "files"
    assert all(option.kind is option.KEYWORD_ONLY for option in options)
    assert tuple(option.name for option in options) == measure.options


@every_measure
@given(problem=problems(), seed=st.integers(0, 9))
def test_it_stays_within_its_range(
    measure: Measure, problem: tuple[Matrix, int], seed: int
) -> None:
    x, k = problem
    codes = np.random.default_rng(seed).integers(0, 3, len(x))
    found = value(masked(x, k, codes, seed), measure)
    least, most = measure.range_at(k)
    assert found is None or least - 1e-9 <= found <= most + 1e-9


@given(problem=problems(), seed=st.integers(0, 9))
def test_all_stay_within_their_ranges_for_any_columns(
    problem: tuple[Matrix, int], seed: int
) -> None:
    x, k = problem
    for name, found in evaluate(mixed(x, k, seed), options=STABLE).exact.items():
        least, most = MEASURES[name].range_at(k)
        assert least - 1e-9 <= found <= most + 1e-9, name


@every_measure
@given(problem=problems(), seed=st.integers(0, 9))
def test_the_order_of_rows_makes_no_difference(
    measure: Measure, problem: tuple[Matrix, int], seed: int
) -> None:
    x, k = problem
    rng = np.random.default_rng(seed)
    files = masked(x, k, rng.integers(0, 3, len(x)), seed)
    moved = rows(files, rng.permutation(len(x)))
    if measure.name not in DEPENDS_ON_ROWS:
        expected = value(files, measure)
        found = value(moved, measure)
        assert found == expected or found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(problem=problems(), seed=st.integers(0, 9))
def test_the_order_of_rows_makes_no_difference_for_any_columns(
    problem: tuple[Matrix, int], seed: int
) -> None:
    x, k = problem
    files = mixed(x, k, seed)
    moved = rows(files, np.random.default_rng(seed).permutation(len(files.original)))
    expected, found = (evaluate(each, options=STABLE).exact for each in (files, moved))
    for name in set(MEASURES) - DEPENDS_ON_ROWS:
        assert found.get(name) == expected.get(name) or found[name] == pytest.approx(
            expected[name], rel=1e-9, abs=1e-9
        ), name


@every_measure
def test_units_make_no_difference(measure: Measure) -> None:
    x = np.random.default_rng(8).integers(0, 90, (60, 3)).astype(np.float64)
    for table in (comparable(table_of(list(x.T))), rich_table(x)):
        keys = (*(1024.0 * column for column in table.keys[:3]), *table.keys[3:])
        one, other = (
            followed(mask(each, Plan(k=4, method=METHODS["mdav"])), seed=3)
            for each in (table, replace(table, keys=keys))
        )
        found = value(one, measure)
        assert value(other, measure) == (None if found is None else pytest.approx(found, abs=1e-9))


def rich_table(x: Matrix) -> Table:
    """Add labels, gaps, strata, units and weights to numbers."""
    n = len(x)
    plain = table_of(list(x.T), {"c": Codes(np.arange(n) % 4, ordered=True)})
    rich = replace(
        plain,
        attributes=(
            *plain.attributes,
            Category("label", ("p", "q", "r")),
            WithMissing(Number("gaps"), "fill"),
        ),
        keys=(*plain.keys, np.arange(n) % 3, np.where(np.arange(n) % 5 == 0, np.nan, x[:, 0])),
        strata=(Stratum("region", np.arange(n) % 2),),
        units=np.arange(n),
        weights=np.ones(n),
    )
    return comparable(rich)


IDENTITY = {
    "il": 0.0, "rounding": 0.0, "sse": 0.0, "il1s": 0.0, "mean_change": 0.0, "variance_change": 0.0,
    "quantile_change": 0.0, "correlation_change": 0.0, "correlation_change_mean": 0.0,
    "spectrum_change": 0.0, "spectrum_change_mean": 0.0, "pmse": 0.0, "dld": 100.0,
    "dld_optimistic": 100.0, "dld_pessimistic": 100.0, "linked_nearest": 100.0,
    "within_records": 100.0, "within_values": 100.0, "within_ranks_records": 100.0,
    "within_ranks_values": 100.0, "reidentified_best": 100.0, "reidentified_random": 100.0,
    "k": 1.0, "below_k": 80.0, "il_over_bound": 0.0, "l_distinct": 1.0, "l_entropy": 1.0,
    "k_units": 1.0, "linked_known": 100.0, "unique_with_one": 100.0, "below_k_with_one": 100.0,
    "unique_with_all": 100.0, "below_k_with_all": 100.0, "one_value": 100.0, "category_error": 0.0,
    "margin_change": 0.0, "association_change": 0.0, "filled": 0.0, "blanked": 0.0, "withheld": 0.0,
    "merged": 0.0, "weighted_total_change": 0.0, "il_over_fresh": 0.0, "candidates_min": 1.0,
    "under_k_across": 100.0, "singled_out": 100.0, "exact_singled_out": 100.0, "muted": 0.0,
    "lone_changes": 0.0, "l_across": 1.0, "row_links": 0.0, "solved": 100.0,
}  # fmt: skip
"""What each measure says of distinct records that are published as they are, at k = 2."""


@every_measure
def test_it_tells_that_nothing_was_changed(measure: Measure) -> None:
    x = np.random.default_rng(4).normal(size=(80, 3))
    plain = comparable(table_of(list(x.T), {"c": Codes(np.arange(80) % 4, ordered=True)}))
    applied = []
    for table in (plain, rich_table(x)):
        unchanged = replace(mask(table, Plan(k=1, method=METHODS["mdav"])), k=2)
        files = repeated(unchanged)
        for before, after in zip(table.keys, files.masked.published.keys, strict=True):
            assert np.array_equal(before, after, equal_nan=before.dtype.kind == "f")
        found = value(files, measure)
        if found is None:
            continue
        applied.append(table)
        if measure.name in IDENTITY:
            assert found == pytest.approx(IDENTITY[measure.name], abs=1e-9)
        else:
            # these depend on the records, whatever is published of them
            assert measure.name in {"sst", "il_bound", "t_equal", "t_ordered"}
            assert found > 0.0
    assert applied


def test_a_measure_without_need_of_the_original_is_given_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides: dict[str, type] = {}

    def recording(measure: Measure) -> Measure:
        def run(files: object) -> float:
            sides[measure.name] = type(files)
            return 1.0

        return replace(measure, run=run)

    recorded = {name: recording(measure) for name, measure in MEASURES.items()}
    monkeypatch.setattr("algorithms.evaluation.MEASURES", recorded)
    evaluate(masked(np.random.default_rng(1).normal(size=(12, 2)), 3))
    assert sides == {
        name: Comparison if measure.needs_original else Released
        for name, measure in MEASURES.items()
    }
    assert not hasattr(Released, "original")


def test_an_option_that_no_measure_takes_is_refused() -> None:
    files = masked(np.random.default_rng(1).normal(size=(12, 2)), 3)
    with pytest.raises(ContractError, match="unknown: rounds"):
        evaluate(files, options={"rounds": 3})
