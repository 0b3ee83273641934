"""What the benchmarks measure with, not what they measure."""

import platform
import re
from pathlib import Path

import numpy as np
import pytest

from algorithms.bounds.semidefinite import semidefinite_bound
from algorithms.search import pool
from algorithms.utility.il import sum_of_squares
from benchmarks import bounds, long_bounds, page
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


def test_the_followed_bound_is_the_one_that_a_release_would_state() -> None:
    x = KINDS["independent"](60)
    points = bounds.rising(x, 3, 50)
    stated = 100.0 * semidefinite_bound(x, 3, rounds=50)[0] / sum_of_squares(x)
    assert len(points) == 3
    assert sorted(points) == list(points)
    assert points[-1][1] == pytest.approx(stated, rel=1e-12)


def test_a_cell_takes_the_larger_bound_and_the_lower_loss() -> None:
    cell = bounds.Cell(
        "census", 3, best=((0.5, 12.0), (2.0, 11.0)), semidefinite=((3.0, 9.0), (4.0, 10.0)),
        rounds=40, columns=(6.0, 9.5),
    )  # fmt: skip
    assert cell.il == (2.0, 11.0)
    assert cell.bound == (4.0, 10.0)
    assert cell.proof == "semidefinite, 40 rounds"
    assert cell.gap == pytest.approx(10.0)


def test_the_section_on_bounds_states_each_cell(tmp_path: Path) -> None:
    cells = [
        bounds.Cell(name, 3, ((1.0, 11.0),), ((2.0, 10.0),), 40, (6.0, 10.95))
        for name in bounds.TITLES
    ]
    section = bounds.written(cells, cells[:1], "| a row |", tmp_path)
    assert section.startswith(f"{bounds.TITLE}\n")
    assert "| Census | 3 | 11.0000 | 10.9500 | columns | 0.46 % | 1.0 | 6.0 |" in section
    old = bounds.Cell("eia", 3, ((1.0, 11.0),), (), 0, (250.0, 10.9), recorded=True)
    assert "columns, recorded | 0.92 % | 1.0 | up to 250 |" in bounds.written(
        [old], [], "", tmp_path
    )
    assert "3 of 3 cells are proven within 1 %" in section
    assert "| a row |" in section
    assert (tmp_path / bounds.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_a_long_table_has_both_bounds_and_their_ratios() -> None:
    row = long_bounds.row("quantised", 1_000, rounds=20)
    loss, neighbour, ratio, strongest, closer = (float(row.split("|")[i]) for i in (3, 5, 6, 8, 10))
    assert 0.0 < neighbour < strongest < loss
    assert ratio == pytest.approx(loss / neighbour, abs=1e-3)
    assert closer == pytest.approx(loss / strongest, abs=1e-3)
