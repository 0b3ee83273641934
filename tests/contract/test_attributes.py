"""What every kind of key column owes, over all kinds."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.attributes import KINDS, Attribute, Number, Values
from algorithms.errors import ContractError
from algorithms.types import Partition
from expectations.suites.kinds import COLUMN_KINDS

Drawn = tuple[Attribute, Values, Partition]

WHOLE = st.integers(-(2**40), 2**40)
REAL = st.integers(-(2**40), 2**40).map(lambda number: number / 1024.0)


@st.composite
def numbers(draw: st.DrawFn) -> tuple[Attribute, Values]:
    rows = draw(st.integers(2, 20))
    places = draw(st.sampled_from([None, 0, 2, 15]))
    if draw(st.booleans()):
        return Number("a", 0, whole=True), draw(arrays(np.int64, rows, elements=WHOLE))
    return Number("a", places), draw(arrays(np.float64, rows, elements=REAL))


COLUMNS: dict[type, Callable[[], st.SearchStrategy[tuple[Attribute, Values]]]] = {Number: numbers}
"""How columns of each kind are drawn."""


@st.composite
def grouped(draw: st.DrawFn) -> Drawn:
    attribute, values = draw(st.sampled_from([*COLUMNS]).flatmap(lambda kind: COLUMNS[kind]()))
    k = draw(st.integers(1, len(values)))
    groups = len(values) // k
    labels = draw(st.permutations([min(i // k, groups - 1) for i in range(len(values))]))
    return attribute, values, Partition(np.array(labels), k)


def test_every_kind_is_tried() -> None:
    assert set(COLUMNS) == set(KINDS) == set(COLUMN_KINDS)


@given(drawn=grouped())
def test_a_column_is_embedded_at_mean_zero_and_variance_one(drawn: Drawn) -> None:
    attribute, values, _ = drawn
    x = attribute.scale(values).embed(values)
    assert len(x) == len(values)
    squares = float(((x - x.mean(axis=0)) ** 2).sum())
    constant = (values == values[0]).all()
    assert squares == pytest.approx(0.0 if constant else len(values) - 1.0, abs=1e-5)


@given(drawn=grouped())
def test_values_are_at_no_distance_if_and_only_if_they_are_equal(drawn: Drawn) -> None:
    attribute, values, _ = drawn
    x = attribute.scale(values).embed(values)
    for i in range(len(values)):
        same = (x == x[i]).all(axis=1)
        assert same.tolist() == (values == values[i]).tolist()


@given(drawn=grouped())
def test_a_group_publishes_one_value_that_can_be_published(drawn: Drawn) -> None:
    attribute, values, groups = drawn
    published = attribute.represent(values, groups)
    assert published.dtype == values.dtype
    for group in range(groups.sizes.size):
        assert len(np.unique(published[groups.labels == group])) == 1
    coordinates = attribute.scale(values)
    steps = (coordinates.embed(published) - coordinates.grid.origin)[:, coordinates.grid.step > 0.0]
    if coordinates.grid.whole.all():
        counted = steps / coordinates.grid.step[coordinates.grid.step > 0.0]
        assert np.abs(counted - np.rint(counted)).max(initial=0.0) < 1e-3


@given(drawn=grouped())
def test_no_publishable_value_of_the_column_is_nearer_to_the_average(drawn: Drawn) -> None:
    attribute, values, groups = drawn
    coordinates = attribute.scale(values)
    averages = coordinates.average(values, groups)
    published = coordinates.embed(attribute.represent(values, groups))
    others = coordinates.embed(attribute.represent(values, Partition(np.arange(len(values)), 1)))

    def distances(points: np.ndarray) -> np.ndarray:
        return ((points - averages) ** 2).sum(axis=1)

    for other in others:
        assert (distances(published) <= distances(other) + 1e-9).all()


@given(drawn=grouped())
def test_what_is_represented_again_stays_as_it_is(drawn: Drawn) -> None:
    attribute, values, groups = drawn
    published = attribute.represent(values, groups)
    assert attribute.represent(published, groups).tolist() == published.tolist()


@given(drawn=grouped())
def test_one_value_is_written_per_record_and_equal_values_alike(drawn: Drawn) -> None:
    attribute, values, _ = drawn
    written = attribute.write(values)
    assert len(written) == len(values)
    for value in np.unique(values):
        assert len(set(written[values == value].tolist())) == 1


def test_whole_numbers_have_no_decimals() -> None:
    with pytest.raises(ContractError, match="without decimals"):
        Number("a", places=2, whole=True)
