"""What every kind of key column owes, over all kinds."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.attributes import (
    KINDS,
    MISSING,
    Attribute,
    Category,
    Date,
    Hierarchy,
    Number,
    Ordered,
    Values,
    WithMissing,
    is_missing,
)
from algorithms.attributes.tree import PrefixPaths, Tree
from algorithms.errors import ContractError
from algorithms.types import Mask, Matrix, Partition
from expectations.suites.kinds import COLUMN_KINDS, kind_of

Column = tuple[Attribute, Values]
Drawn = tuple[Attribute, Values, Partition]

WHOLE = st.integers(-(2**40), 2**40)
REAL = st.integers(-(2**40), 2**40).map(lambda number: number / 1024.0)
CODES = ("aax", "aay", "abx", "bax", "bbx", "bby", "caz")
EQUAL_WEIGHTS = st.sampled_from([0.25, 1.0, 2.0])
WEIGHTS = st.integers(1, 64).map(lambda number: number / 16.0)


@st.composite
def numbers(draw: st.DrawFn) -> Column:
    rows = draw(st.integers(2, 20))
    places = draw(st.sampled_from([None, 0, 2, 15]))
    if draw(st.booleans()):
        return Number("a", 0, whole=True), draw(arrays(np.int64, rows, elements=WHOLE))
    return Number("a", places), draw(arrays(np.float64, rows, elements=REAL))


@st.composite
def dates(draw: st.DrawFn) -> Column:
    unit, most = draw(st.sampled_from([("day", 40_000), ("month", 1_500), ("year", 150)]))
    counts = st.integers(-most, most)
    return Date("a", unit), draw(arrays(np.int64, st.integers(2, 20), elements=counts))


@st.composite
def levels(draw: st.DrawFn) -> Column:
    names = tuple(f"level {i}" for i in range(draw(st.integers(2, 5))))
    return Ordered("a", names), draw(positions(range(len(names))))


@st.composite
def labels(draw: st.DrawFn) -> Column:
    names = tuple(f"label {i}" for i in range(draw(st.integers(1, 4))))
    rule = draw(st.sampled_from(["mode", "majority", "calibrated"]))
    compact = draw(st.booleans())
    return Category("a", names, rule, compact), draw(positions(range(len(names))))


@st.composite
def codes(draw: st.DrawFn) -> Column:
    paths = PrefixPaths(draw(st.sampled_from([(), (1,), (1, 2)])))
    tree = Tree.of([path for code in CODES if (path := paths.to(code))])
    rule = draw(st.sampled_from(["nearest", "leaf", "common"]))
    return Hierarchy("a", tree, rule, paths), draw(positions(list(tree.leaves.values())))


def positions(choices: range | list[int]) -> st.SearchStrategy[Values]:
    return arrays(np.int64, st.integers(2, 20), elements=st.sampled_from(choices))


@st.composite
def with_gaps(draw: st.DrawFn) -> Column:
    present, values = draw(st.sampled_from([*PRESENT]).flatmap(lambda kind: PRESENT[kind]()))
    gaps = draw(arrays(np.bool_, len(values)))
    nothing = np.nan if values.dtype.kind == "f" else MISSING
    policy = draw(st.sampled_from(["state", "blank", "fill", "apart"]))
    return WithMissing(present, policy), np.where(gaps, nothing, values).astype(values.dtype)


PRESENT: dict[type, Callable[[], st.SearchStrategy[Column]]] = {
    Number: numbers,
    Date: dates,
    Ordered: levels,
    Category: labels,
    Hierarchy: codes,
}
COLUMNS = {**PRESENT, WithMissing: with_gaps}
"""How columns of each kind are drawn."""


@st.composite
def grouped(draw: st.DrawFn, kinds: tuple[type, ...] = KINDS) -> Drawn:
    attribute, values = draw(st.sampled_from(kinds).flatmap(lambda kind: COLUMNS[kind]()))
    if isinstance(attribute, WithMissing) and attribute.policy == "apart":
        pairs = is_missing(values) + 2 * draw(arrays(np.bool_, len(values)))
        return attribute, values, Partition(np.unique(pairs, return_inverse=True)[1], 1)
    k = draw(st.integers(1, len(values)))
    groups = len(values) // k
    own = draw(st.permutations([min(i // k, groups - 1) for i in range(len(values))]))
    return attribute, values, Partition(np.array(own), k)


every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def alike(values: Values, value: object) -> Mask:
    """Mark the values that are equal to one of them; all missing ones are."""
    if is_missing(np.array([value], dtype=values.dtype))[0]:
        return is_missing(values)
    return np.asarray(values == value)


def same(one: Values, other: Values) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_every_kind_is_tried() -> None:
    assert set(COLUMNS) == set(KINDS) == set(COLUMN_KINDS)


@every_kind
@given(data=st.data())
def test_a_column_is_embedded_with_variance_one_around_its_centre(
    kind: type, data: st.DataObject
) -> None:
    attribute, values, _ = data.draw(grouped((kind,)))
    scale = attribute.scale(values)
    x = scale.embed(values)
    assert x.shape == (len(values), scale.grid.step.size)
    assert scale.centre == pytest.approx(x.mean(axis=0), abs=1e-7)
    squares = float(((x - scale.centre) ** 2).sum())
    constant = alike(values, values[0]).all()
    assert squares == pytest.approx(0.0 if constant else len(values) - 1.0, abs=1e-5)


@every_kind
@given(data=st.data())
def test_values_are_at_no_distance_if_and_only_if_they_are_equal(
    kind: type, data: st.DataObject
) -> None:
    attribute, values, groups = data.draw(grouped((kind,)))
    scale = attribute.scale(values)
    if values.dtype.kind == "i":
        # averages of real numbers may be nearer to a value than coordinates can tell
        values = np.concatenate([values, attribute.represent(values, groups)])
    x = scale.embed(values)
    for i in range(len(values)):
        equal = (x == x[i]).all(axis=1)
        assert equal.tolist() == alike(values, values[i]).tolist()


@every_kind
@given(data=st.data())
def test_a_group_publishes_one_value_that_can_be_published(kind: type, data: st.DataObject) -> None:
    attribute, values, groups = data.draw(grouped((kind,)))
    published = attribute.represent(values, groups)
    assert published.dtype == values.dtype
    for group in range(groups.sizes.size):
        own = published[groups.labels == group]
        assert alike(own, own[0]).all()
    scale = attribute.scale(values)
    whole = scale.grid.take(np.flatnonzero(scale.grid.whole))
    for records in (values, published):
        steps = (scale.embed(records)[:, scale.grid.whole] - whole.origin) / whole.step
        assert np.abs(steps - np.rint(steps)).max(initial=0.0) < 1e-3
    written = attribute.write(published)[~is_missing(published)]
    assert set(written.tolist()) <= set(publishable(attribute, written))


def publishable(attribute: Attribute, written: Values) -> list[object]:
    """List the labels that a column may publish; numbers and dates are on a grid."""
    match attribute:
        case WithMissing():
            return publishable(attribute.present, written)
        case Ordered():
            return [*attribute.levels]
        case Category():
            return [*attribute.labels, *(["*"] if attribute.published == "majority" else [])]
        case Hierarchy():
            only_codes = attribute.published == "leaf"
            return [*(attribute.tree.leaves if only_codes else attribute.tree.names)]
    return written.tolist()


def nearest_is_published(attribute: Attribute) -> bool:
    """Check whether a kind publishes what is nearest to the average of a group, and nothing else.

    Calibrated labels keep totals instead, and the common node is above all codes. With missing
    values, the average of the present ones is published: the exact optimum would shrink it.
    """
    rule = getattr(attribute, "published", "")
    return not isinstance(attribute, WithMissing) and rule not in ("calibrated", "common")


def candidates(attribute: Attribute, values: Values) -> Values:
    """Give values that could be published."""
    match attribute:
        case Category():
            return np.arange(len(attribute.labels) + (attribute.published == "majority"))
        case Hierarchy():
            nodes = np.arange(len(attribute.tree.names))
            leaves = np.array([*attribute.tree.leaves.values()])
            return leaves if attribute.published == "leaf" else nodes
    return attribute.represent(values, Partition(np.arange(len(values)), 1))


def distances(points: Matrix, averages: Matrix) -> Matrix:
    squares: Matrix = ((points - averages) ** 2).sum(axis=1)
    return squares


@every_kind
@given(data=st.data())
def test_no_publishable_value_of_the_column_is_nearer_to_the_average(
    kind: type, data: st.DataObject
) -> None:
    attribute, values, groups = data.draw(grouped((kind,)))
    scale = attribute.scale(values)
    averages = scale.average(values, groups)
    published = scale.embed(attribute.represent(values, groups))
    if isinstance(attribute, WithMissing) and attribute.policy == "state":
        # of what the present values would publish, and nothing
        filled = scale.embed(WithMissing(attribute.present, "fill").represent(values, groups))
        nothing = np.full(1, np.nan if values.dtype.kind == "f" else MISSING, dtype=values.dtype)
        others = [filled, *([scale.embed(nothing)] if is_missing(values).any() else [])]
    elif nearest_is_published(attribute):
        others = [*scale.embed(candidates(attribute, values))]
    else:
        return
    for other in others:
        assert (distances(published, averages) <= distances(other, averages) + 1e-9).all()


@given(drawn=grouped((WithMissing,)))
def test_a_policy_decides_which_values_are_missing(drawn: Drawn) -> None:
    attribute, values, groups = drawn
    assert isinstance(attribute, WithMissing)
    before, after = is_missing(values), is_missing(attribute.represent(values, groups))
    absent = np.bincount(groups.labels[before], minlength=groups.sizes.size)
    some, all_of_them = (absent > 0)[groups.labels], (absent == groups.sizes)[groups.labels]
    expected = {"blank": some, "fill": all_of_them, "apart": before}
    if attribute.policy == "state":
        assert (after >= all_of_them).all()
        assert (after <= some).all()
    else:
        assert after.tolist() == expected[attribute.policy].tolist()


@given(drawn=grouped((Hierarchy,)))
def test_the_common_node_stands_above_all_codes_of_a_group(drawn: Drawn) -> None:
    drawn_attribute, values, groups = drawn
    assert isinstance(drawn_attribute, Hierarchy)
    tree = drawn_attribute.tree
    published = Hierarchy("a", tree, "common").represent(values, groups)
    above = np.column_stack([np.zeros(len(tree.names), dtype=np.int64), tree.ancestors])
    assert all(node in above[code] for node, code in zip(published, values, strict=True))


@every_kind
@given(data=st.data())
def test_what_is_represented_again_stays_as_it_is(kind: type, data: st.DataObject) -> None:
    attribute, values, groups = data.draw(grouped((kind,)))
    published = attribute.represent(values, groups)
    assert same(attribute.represent(published, groups), published)


@every_kind
@given(data=st.data())
def test_one_value_is_written_per_record_and_equal_values_alike(
    kind: type, data: st.DataObject
) -> None:
    attribute, values, _ = data.draw(grouped((kind,)))
    written = attribute.write(values)
    assert len(written) == len(values)
    for value in np.unique(values[~is_missing(values)]):
        assert len(set(written[values == value].tolist())) == 1


@every_kind
@given(data=st.data())
def test_what_is_written_is_read_again(kind: type, data: st.DataObject) -> None:
    attribute, values, _ = data.draw(grouped((kind,)))
    missing = is_missing(values)
    cells = attribute.write(values)
    column = pa.array(cells, pa.string() if cells.dtype == object else None, mask=missing)
    again, read = kind_of(attribute).read(attribute, pa.chunked_array([column]))
    assert type(again) is type(attribute)
    assert read.dtype == values.dtype
    assert is_missing(read).tolist() == missing.tolist()
    assert again.write(read)[~missing].tolist() == cells[~missing].tolist()


@every_kind
@given(data=st.data())
def test_numbers_lie_on_a_line_in_the_order_of_values_or_there_is_no_line(
    kind: type, data: st.DataObject
) -> None:
    attribute, values, _ = data.draw(grouped((kind,)))
    line = attribute.numbers(values)
    assert attribute.has_line == (line is not None)
    if line is not None:
        missing = is_missing(values)
        assert np.isnan(line).tolist() == missing.tolist()
        order = np.argsort(values[~missing], kind="stable")
        assert (np.diff(line[~missing][order]) >= 0.0).all()


@every_kind
@given(data=st.data())
def test_equal_weights_make_no_difference(kind: type, data: st.DataObject) -> None:
    attribute, values, groups = data.draw(grouped((kind,)))
    weights = np.full(len(values), data.draw(EQUAL_WEIGHTS))
    scale = attribute.scale(values)
    assert scale.average(values, groups, weights) == pytest.approx(
        scale.average(values, groups), abs=1e-9
    )
    plain = attribute.represent(values, groups)
    assert same(attribute.represent(values, groups, weights), plain)
    assert same(attribute.represent(values, groups, scale=scale), plain)


@given(column=arrays(np.float64, st.integers(2, 20), elements=REAL), data=st.data())
def test_a_weighted_total_of_real_numbers_stays(column: Values, data: st.DataObject) -> None:
    n = len(column)
    weights = data.draw(arrays(np.float64, n, elements=WEIGHTS))
    groups = Partition(np.arange(n) % data.draw(st.integers(1, n)), 1)
    published = Number("a").represent(column, groups, weights)
    averaged = (np.bincount(groups.labels, weights=weights) / groups.sizes)[groups.labels]
    assert averaged @ published == pytest.approx(weights @ column, rel=1e-12, abs=1e-6)


@every_kind
@given(data=st.data())
def test_a_record_that_weighs_most_decides(kind: type, data: st.DataObject) -> None:
    attribute, values, groups = data.draw(grouped((kind,)))
    rule = getattr(getattr(attribute, "present", attribute), "published", "")
    gaps = isinstance(attribute, WithMissing) and attribute.policy in ("blank", "fill")
    if rule in ("calibrated", "common") or gaps:
        return
    weights = np.ones(len(values))
    _, first = np.unique(groups.labels, return_index=True)
    weights[first] = 2.0**80
    expected = attribute.represent(values[first][groups.labels], groups)
    assert same(attribute.represent(values, groups, weights), expected)


def test_whole_numbers_have_no_decimals() -> None:
    with pytest.raises(ContractError, match="without decimals"):
        Number("a", places=2, whole=True)


def test_records_that_stay_apart_never_share_a_group() -> None:
    bmi = WithMissing(Number("bmi"), "apart")
    with pytest.raises(ContractError, match="must not share a group"):
        bmi.represent(np.array([20.0, np.nan]), Partition(np.array([0, 0]), 2))
