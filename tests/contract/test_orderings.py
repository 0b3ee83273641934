"""What every registered ordering owes, over the whole registry."""

import numpy as np
import pytest
from hypothesis import given

from algorithms.orderings import ORDERINGS
from algorithms.types import Matrix
from tests.problems import matrices

every_ordering = pytest.mark.parametrize("name", ORDERINGS)


@every_ordering
@given(x=matrices())
def test_an_order_holds_every_row_once(name: str, x: Matrix) -> None:
    assert sorted(ORDERINGS[name].run(x).tolist()) == list(range(len(x)))


@every_ordering
@given(x=matrices())
def test_same_input_gives_same_order_and_stays_as_it_is(name: str, x: Matrix) -> None:
    before = x.copy()
    assert np.array_equal(ORDERINGS[name].run(x), ORDERINGS[name].run(x))
    assert np.array_equal(x, before)
