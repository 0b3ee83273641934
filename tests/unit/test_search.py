"""Free records found through a tree and in a ranking, beside those found by looking at all."""

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.enterprise_survey import survey
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.mdav import mdav
from algorithms.search import index, pool, ranking, tree
from algorithms.search.index import Index
from algorithms.search.pool import Pool
from algorithms.search.ranking import Ranking
from algorithms.search.scan import Scan
from algorithms.types import Labels, Matrix
from tests.oracles import methods as oracles
from tests.oracles import paths as oracle
from tests.problems import matrices, problems

COMPILED = not numba.config.DISABLE_JIT
CASES = 20_000 if COMPILED else 60
SERVED: list[tuple[str, dict[str, Any]]] = [
    ("mdav", {}),
    ("mdav", {"first": "opposite"}),
    ("mdav1", {}),
    ("mdav_generic", {}),
    ("cbfs", {}),
    ("cbfs", {"grow": "centroid"}),
    ("vmdav", {"gamma": 0.9}),
    ("cvmdav", {}),
    ("tfrp1", {}),
    ("ps", {}),
    ("ps", {"grow": "seed"}),
    ("md", {}),
]
every_method = pytest.mark.parametrize(("name", "options"), SERVED, ids=lambda value: str(value))


def through_tree(x: Matrix, k: int, name: str, **options: Any) -> Labels:
    """Group rows with a tree however few they are, and however little it helps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "FEW_ROWS", 1)
        patch.setattr(index, "LEAF_COST", 0)
        return METHODS[name].run(x, k, **options)


def by_scan(x: Matrix, k: int, name: str, **options: Any) -> Labels:
    """Group rows by looking at all of them however many they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "FEW_ROWS", len(x) + 1)
        return METHODS[name].run(x, k, **options)


def tables(n: int) -> list[Matrix]:
    """Make tables that trees find easy, hard, and full of ties."""
    rng = np.random.default_rng(n)
    return [
        rng.lognormal(0.0, 1.5, (n, 3)),
        rng.normal(size=(n, 12)),
        rng.integers(0, 4, (n, 5)) / 2.0,
        np.repeat(rng.normal(size=(n // 10, 2)), 10, axis=0),
        rng.normal(size=(n, 2)) + 1e6,
    ]


def example(rows: int) -> Matrix:
    table = next(survey(rows, 1, seed=1))
    names = ("employees", "turnover", "wages", "exports", "investment", "energy_mwh")
    x = np.column_stack([table[name].astype(float) for name in names])
    standardised: Matrix = (x - x.mean(axis=0)) / x.std(axis=0)
    return standardised


@given(x=matrices(), seed=st.integers(0, 5))
def test_the_farthest_of_those_left_is_found(x: Matrix, seed: int) -> None:
    rng = np.random.default_rng(seed)
    index = tree.build(x, np.arange(len(x)))
    left = np.ones(len(x), dtype=bool)
    for row in rng.permutation(len(x)):
        point = x[row] + 0.25
        assert tree.farthest(index, point) == oracle.farthest(x, left, point)
        tree.remove(index, row)
        left[row] = False
    assert tree.farthest(index, x[0]) == -1


@pytest.mark.parametrize("x", tables(2500 if COMPILED else 150), ids=lambda x: str(x.shape))
def test_nearest_and_farthest_are_found_while_most_records_leave(x: Matrix) -> None:
    rng = np.random.default_rng(1)
    index = tree.build(x, np.arange(len(x)))
    left = np.ones(len(x), dtype=bool)
    rows, squares = np.empty(7, dtype=np.int64), np.empty(7)
    for step, row in enumerate(rng.permutation(len(x)).tolist()):
        if step % 25 == 0:
            for point in (x[row], x[row] * 1.5, x.mean(axis=0)):
                assert tree.farthest(index, point) == oracle.farthest(x, left, point)
                found = tree.nearest(index, point, rows, squares)
                assert rows[:found].tolist() == oracle.nearest(x, left, point, 7)
        tree.remove(index, row)
        left[row] = False


def test_more_rows_than_one_node_holds_are_found_as_by_looking_at_all() -> None:
    x = np.random.default_rng(5).lognormal(size=(1500, 2))
    rows = np.arange(1500)
    index, scan = Index(x, rows), Scan(x, rows)
    for row in (3, 1400, int(x.sum(axis=1).argmax())):
        found = index.cut(row, 5, -1).tolist()
        assert found == [row, *oracle.nearest(x, rows != row, x[row], 4)]
        assert scan.cut(row, 5, -1).tolist() == found
        assert index.farthest_from_row(row) == scan.farthest_from_row(row)
        index, scan = Index(x, rows), Scan(x, rows)


def test_a_tree_lists_the_rows_that_are_left() -> None:
    x = np.random.default_rng(0).normal(size=(100, 2))
    index = tree.build(x, np.arange(100))
    for row in range(0, 100, 3):
        tree.remove(index, row)
    left = [row for row in range(100) if row % 3]
    assert sorted(tree.rows_left(index, len(left)).tolist()) == left


@pytest.mark.parametrize("x", tables(600 if COMPILED else 100), ids=lambda x: str(x.shape))
def test_a_ranking_finds_the_farthest_from_a_point_that_moves(x: Matrix) -> None:
    rng = np.random.default_rng(2)
    labels = np.full(len(x), -1, dtype=np.int64)
    ranking = Ranking(x)
    point = x.mean(axis=0)
    for row in rng.permutation(len(x))[:-1]:
        point = point + rng.normal(0.0, 0.05, x.shape[1])
        assert ranking.farthest_from(point, labels) == oracle.farthest(x, labels < 0, point)
        labels[row] = 0


def test_a_ranking_tells_that_it_is_slow_where_all_records_are_equally_far() -> None:
    labels = np.full(50, -1, dtype=np.int64)
    even, uneven = Ranking(np.zeros((50, 2))), Ranking(np.arange(50.0).reshape(-1, 1))
    for _ in range(4 * ranking.LOOKS_PER_ROW):
        assert even.farthest_from(np.zeros(2), labels) == 0
        assert uneven.farthest_from(np.zeros(1), labels) == 49
    assert even.is_slow
    assert not uneven.is_slow


@every_method
@given(problem=problems())
def test_groups_through_a_tree_are_those_by_looking_at_all(
    name: str, options: dict[str, Any], problem: tuple[Matrix, int]
) -> None:
    x, k = problem
    expected = by_scan(x, k, name, **options).tolist()
    assert through_tree(x, k, name, **options).tolist() == expected


@every_method
@pytest.mark.parametrize("k", [3, 10])
def test_groups_of_many_rows_through_a_tree_are_those_by_looking_at_all(
    name: str, options: dict[str, Any], k: int
) -> None:
    for x in tables(700 if COMPILED else 60):
        expected = by_scan(x, k, name, **options).tolist()
        assert through_tree(x, k, name, **options).tolist() == expected


def test_mdav_through_a_tree_gives_the_same_groups_in_many_small_tables() -> None:
    rng = np.random.default_rng(3)
    for _ in range(CASES):
        n, d, k = int(rng.integers(2, 90)), int(rng.integers(1, 5)), int(rng.integers(2, 8))
        k = min(k, n)
        x = rng.integers(-3, 4, (n, d)) / 2.0
        expected = by_scan(x, k, "mdav")
        assert np.array_equal(through_tree(x, k, "mdav"), expected)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_mdav_through_a_tree_equals_its_slow_twin(k: int) -> None:
    for x in tables(150 if COMPILED else 70):
        assert through_tree(x, k, "mdav_generic").tolist() == oracles.mdav_generic(x, k).tolist()


@pytest.mark.skipif(not COMPILED, reason="takes minutes without compiled kernels")
@pytest.mark.parametrize("k", [3, 10])
def test_mdav_of_20000_rows_is_the_same_through_a_tree(k: int) -> None:
    x = example(20_000)
    assert np.array_equal(mdav(x, k), by_scan(x, k, "mdav"))


def test_a_tree_that_does_not_help_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(4).integers(0, 2, (300, 12)) * 1.0
    expected = by_scan(x, 2, "mdav").tolist()
    monkeypatch.setattr(pool, "FEW_ROWS", 20)
    records = Pool(x)
    searches = []
    while len(records) >= 2:
        records.cut(records.farthest_from(records.centroid()), 2)
        searches.append(type(records._search))
    assert searches[0] is Index
    assert searches[index.GROUPS_ON_TRIAL] is Scan
    assert mdav(x, 2).tolist() == expected


def test_a_tree_that_helps_is_kept_until_few_records_are_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "FEW_ROWS", 1600)
    records = Pool(np.arange(2400.0).reshape(-1, 1))
    while len(records) >= 1602:
        records.cut(records.farthest_from(records.centroid()), 2)
        assert isinstance(records._search, Index)
    for _ in range(2):
        records.cut(records.farthest_from(records.centroid()), 2)
    assert isinstance(records._search, Scan)


@pytest.mark.parametrize("columns", [1, 5, 10])
def test_trees_begin_with_tables_that_are_longer_the_more_columns_there_are(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FEW_ROWS", 40)
    least = pool.shortest_for_trees(columns)
    assert least == {1: 60, 5: 60, 10: 120}[columns]
    x = np.random.default_rng(1).normal(size=(least, columns))
    for rows, search in ((x, Index), (x[1:], Scan)):
        records = Pool(rows)
        records.cut(0, 2)
        assert type(records._search) is search


def test_the_centroid_is_searched_through_the_tree_where_all_records_are_equally_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    angles = np.arange(0.0, 300.0) * np.pi / 2.0
    x = np.round(np.column_stack([np.cos(angles), np.sin(angles)]))
    expected = by_scan(x, 2, "cbfs").tolist()
    monkeypatch.setattr(pool, "FEW_ROWS", 1)
    monkeypatch.setattr(index, "LEAF_COST", 0)
    monkeypatch.setattr(ranking, "LOOKS_PER_ROW", 1)
    assert METHODS["cbfs"].run(x, 2).tolist() == expected


def test_rows_leave_a_tree_one_by_one_or_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FEW_ROWS", 1)
    x = np.arange(40.0).reshape(-1, 1)
    records = Pool(x)
    records.cut(0, 2)
    records.extend(2)
    records.cut_rows(np.array([3, 4]))
    assert records.farthest_from_row(39) == 5
    assert records.distance_to_nearest(5) == 1.0
    records.cut_rows(np.arange(6, 40))
    assert records.distance_to_nearest(5) == float("inf")
    records.cut_rest()
    assert len(records) == 0
    assert records.labels[:6].tolist() == [0, 0, 0, 1, 1, 3]
