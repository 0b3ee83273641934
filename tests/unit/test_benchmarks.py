"""What the benchmarks measure with, not what they measure."""

import platform
import re
from pathlib import Path

import numpy as np
import pytest

from algorithms.search import pool
from benchmarks import page
from benchmarks.mdav import Row, _growth, trees_from
from benchmarks.tables import KINDS, awkward


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_the_same_each_time_and_on_one_scale(kind: str) -> None:
    x = KINDS[kind](2_000)
    assert x.shape == (2_000, 10)
    assert np.array_equal(x, KINDS[kind](2_000))
    assert np.abs(x.mean(axis=0)).max() < 0.1
    assert np.abs(x.std(axis=0) - 1.0).max() < 0.1


def test_quantised_tables_have_few_values_and_others_have_tails() -> None:
    quantised, heavy = KINDS["quantised"](5_000), KINDS["heavy-tailed"](5_000)
    assert min(len(np.unique(column)) for column in quantised.T) < 100
    assert np.abs(quantised).max() < 12.0 < np.abs(heavy).max()


def test_awkward_tables_are_on_one_scale() -> None:
    for x in awkward(1_000, 3).values():
        assert x.shape == (1_000, 3)
        assert np.abs(x.std(axis=0) - 1.0).max() < 0.1


def test_brute_force_lasts_as_long_as_its_context() -> None:
    before = pool.FEW_ROWS
    with trees_from(before + 1):
        assert before < pool.FEW_ROWS
    assert before == pool.FEW_ROWS


def test_growth_is_fitted_to_the_longer_tables() -> None:
    rows = [
        Row("heavy-tailed", n, 3, 1e-9 * n**1.5, 0.0, False, 0.0)
        for n in (20_000, 50_000, 100_000, 500_000)
    ]
    assert "power of 1.50" in _growth(rows, 3)
    assert "not measured" in _growth(rows, 10)


def test_the_machine_is_named_without_its_name() -> None:
    told = page.machine()
    assert "numba" in told
    assert platform.node() not in re.split(r"\W+", told)
    assert str(Path.home()) not in told


def test_a_section_is_renewed_in_its_place() -> None:
    before = "# Benchmarks\n\nOn a machine.\n\n## One\n\nold\n\n## Two\n\nkept\n"
    after = page.renewed(before, ["## One\n\nnew\n", "## Three\n\nadded\n"])
    assert after == (
        "# Benchmarks\n\nOn a machine.\n\n## One\n\nnew\n\n## Two\n\nkept\n\n## Three\n\nadded\n"
    )
