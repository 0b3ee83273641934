"""Small tables with many duplicates and ties, for property tests."""

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
