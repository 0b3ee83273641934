"""What every registered ordering owes, over the whole registry."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from algorithms.orderings import ORDERINGS
from algorithms.types import Matrix
from tests.problems import problems, variants

every_ordering = pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name in ORDERINGS for options in variants(ORDERINGS[name].run)],
)


@every_ordering
@given(problem=problems())
def test_an_order_holds_every_row_once(
    name: str, options: dict[str, Any], problem: tuple[Matrix, int]
) -> None:
    x, k = problem
    assert sorted(ORDERINGS[name].path(x, k, **options).tolist()) == list(range(len(x)))


@every_ordering
@given(problem=problems())
def test_same_input_gives_same_order_and_stays_as_it_is(
    name: str, options: dict[str, Any], problem: tuple[Matrix, int]
) -> None:
    x, k = problem
    before = x.copy()
    first, second = (ORDERINGS[name].path(x, k, **options) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(x, before)
