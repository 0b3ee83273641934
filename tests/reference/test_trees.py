"""The same groups through a tree and by looking at all records, on the benchmark sets."""

import numpy as np
import pytest

from algorithms.microaggregation import METHODS
from algorithms.search import pool
from tests.reference.printed import dataset

pytestmark = [pytest.mark.reference, pytest.mark.needs("benchmark sets")]


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
@pytest.mark.parametrize("method", ["mdav", "mdav1", "mdav_generic", "cbfs", "vmdav", "tfrp1"])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_groups_are_the_same_to_the_label(
    name: str, method: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = dataset(name)
    monkeypatch.setattr(pool, "FEW_ROWS", len(x) + 1)
    expected = METHODS[method].run(x, k)
    monkeypatch.setattr(pool, "FEW_ROWS", 100)
    assert np.array_equal(METHODS[method].run(x, k), expected)
