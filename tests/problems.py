"""Small tables with many duplicates and ties, and all choices of an algorithm, for tests."""

import itertools
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.types import Matrix


@st.composite
def matrices(draw: st.DrawFn, least: int = 1) -> Matrix:
    rows = draw(st.integers(least, 24))
    columns = draw(st.integers(1, 4))
    halves = arrays(np.int64, (rows, columns), elements=st.integers(-4, 4))
    return draw(halves) / 2.0


@st.composite
def problems(draw: st.DrawFn) -> tuple[Matrix, int]:
    """Draw a matrix and a group size that it can fill."""
    x = draw(matrices())
    return x, draw(st.integers(1, len(x)))


def variants(run: Callable[..., Any]) -> list[dict[str, Any]]:
    """List every combination of an algorithm's choices."""
    hints = get_type_hints(run)
    choices = {
        option: (False, True) if hints[option] is bool else get_args(hints[option])
        for option in (getattr(run, "__kwdefaults__", None) or {})
        if hints[option] is bool or get_origin(hints[option]) is Literal
    }
    return [
        dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())
    ]
