"""What every registered method owes, over the whole registry."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from algorithms.microaggregation import METHODS
from algorithms.problem import Problem
from algorithms.types import Matrix, Order
from tests.problems import problems, variants

every_method = pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name in METHODS for options in variants(METHODS[name].run)],
)


def path_for(name: str, x: Matrix) -> Order | None:
    return np.argsort(x.sum(axis=1), kind="stable") if METHODS[name].reads_path else None


def groups(name: str, x: Matrix, k: int, options: dict[str, Any]) -> list[int]:
    result = METHODS[name].solve(Problem(x, k, path=path_for(name, x)), options)
    return result.labels.tolist()


@every_method
@given(problem=problems())
def test_groups_hold_at_least_k_rows(
    name: str, options: dict[str, Any], problem: tuple[Matrix, int]
) -> None:
    x, k = problem
    assert len(groups(name, x, k, options)) == len(x)


@every_method
@given(problem=problems())
def test_same_input_gives_same_groups_and_stays_as_it_is(
    name: str, options: dict[str, Any], problem: tuple[Matrix, int]
) -> None:
    x, k = problem
    before = x.copy()
    assert groups(name, x, k, options) == groups(name, x, k, options)
    assert np.array_equal(x, before)


@every_method
@pytest.mark.parametrize("rows", [3, 4, 5])
def test_fewer_than_two_groups_of_rows_make_one_group(
    name: str, options: dict[str, Any], rows: int
) -> None:
    x = np.arange(2.0 * rows).reshape(rows, 2)
    assert groups(name, x, 3, options) == [0] * rows


@every_method
def test_equal_rows_are_grouped_too(name: str, options: dict[str, Any]) -> None:
    assert len(groups(name, np.zeros((11, 3)), 2, options)) == 11


@every_method
def test_one_column_is_enough(name: str, options: dict[str, Any]) -> None:
    assert len(groups(name, np.arange(50.0).reshape(-1, 1), 7, options)) == 50
