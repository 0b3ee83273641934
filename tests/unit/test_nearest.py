"""The nearest targets and rows, beside slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.search import nearest as search
from algorithms.search import neighbours as rows
from algorithms.search.boxes import boxes_around
from tests.oracles import search as oracle


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 120),
    d=st.integers(1, 4),
    enough=st.integers(1, 6),
    step=st.sampled_from([1.0, 0.3, 0.0]),
    bounded=st.booleans(),
)
def test_nearest_targets_and_their_ties_are_as_counted(
    seed: int, n: int, d: int, enough: int, step: float, bounded: bool
) -> None:
    rng = np.random.default_rng(seed)
    records = step * rng.integers(-3, 4, (n, d)) + (0.0 if step else rng.normal(size=(n, d)))
    points = records[rng.integers(0, n, 50)] + step / 2 * rng.integers(0, 2, (50, d))
    reach = rng.lognormal(size=50) if bounded else None
    own, labels, counts = search.distinct(records)
    assert (records[own][labels] == records).all()
    assert counts.tolist() == np.bincount(labels).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "LEAF", 8)
        patch.setattr(search, "POINTS", 4)
        targets = search.targets_at(records[own], counts)
        found = search.nearest(points, targets, enough, reach)
    for i, point in enumerate(points):
        within = np.inf if reach is None else float(reach[i])
        expected = oracle.nearest(point, records, enough, within)
        here = found.counts[i] > 0
        assert found.squares[i][here].tolist() == [square for square, _ in expected]
        assert found.counts[i][here].tolist() == [count for _, count in expected]
        assert np.isinf(found.squares[i][~here]).all()
        complete = sum(count for _, count in expected) >= enough
        assert found.reach[i] == (expected[-1][0] if complete else np.inf)


@pytest.mark.parametrize("copies", [1, 30])
def test_neighbours_are_the_nearest_rows(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LEAF", 8)
    monkeypatch.setattr(rows, "PIECE", 2)
    monkeypatch.setattr(rows, "MOST_NEIGHBOURS_HELD", 200)
    x = np.random.default_rng(copies).lognormal(size=(90, 3)).round(1)
    x[:copies] = x[0]
    near = rows.neighbours(x, 5)
    for row, others in enumerate(near):
        assert row not in others or copies > 1
        squares = ((x[others] - x[row]) ** 2).sum(axis=1)
        assert squares == pytest.approx(oracle.nearest_rows(x, row, 5))


def test_every_node_lies_in_its_box() -> None:
    x = np.random.default_rng(0).normal(size=(100, 3))
    boxes = boxes_around(x, 10)
    assert sorted(boxes.rows.tolist()) == list(range(100))
    assert (boxes.columns == x[boxes.rows].T).all()
    assert (boxes.low[:, -1] == x.min(axis=0)).all()
    assert (boxes.high[:, -1] == x.max(axis=0)).all()
    for node, halves in enumerate(boxes.halves, start=boxes.leaves):
        assert boxes.first[node] == boxes.first[halves[0]] < boxes.first[halves[1]]
        assert (boxes.low[:, node] == boxes.low[:, halves].min(axis=1)).all()


def test_without_points_nothing_is_searched() -> None:
    targets = search.targets_at(np.zeros((1, 2)), np.array([3]))
    assert search.nearest(np.empty((0, 2)), targets, 2).squares.shape == (0, 2)
