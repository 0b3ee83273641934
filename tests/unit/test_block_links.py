"""Linkage and bounds by blocks are those of the whole table, to the last digit."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.blocks import links
from algorithms.blocks.running import Arrays, Function, in_order
from algorithms.bounds.distances import neighbour_bound
from algorithms.search.linkage import distance_linkage, expected_links, known_tally
from algorithms.types import Labels, Matrix


def shuffled_elsewhere(
    name: str, function: Function, given: Any, blocks: list[Arrays]
) -> list[Arrays]:
    """Run blocks in another order, on copies as another process would see them."""
    results = {}
    for number in reversed(range(len(blocks))):
        call = pickle.loads(pickle.dumps((function, given, dict(blocks[number]))))
        results[number] = dict(in_order(name, call[0], call[1], [call[2]])[0])
    return [results[number] for number in range(len(blocks))]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Matrix, Matrix, Labels, int]:
    """Draw records with copies and ties, groups of at least k, and 1 to 20 blocks of groups."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    groups, blocks = draw(st.integers(1, 30)), draw(st.integers(1, 20))
    labels = np.repeat(np.arange(groups), k + rng.integers(0, 3, groups))
    centres = rng.integers(-3, 4, (groups, d)).astype(np.float64)
    x = centres[labels] + rng.integers(-1, 2, (labels.size, d)) * draw(
        st.sampled_from([0.0, 0.5, 1.0, 1.0 / 3.0])
    )
    after = np.column_stack([np.bincount(labels, column) / np.bincount(labels) for column in x.T])
    if draw(st.booleans()):
        after = np.rint(after)
    own = np.unique(rng.integers(0, blocks, groups), return_inverse=True)[1]
    if draw(st.booleans()):
        own = np.sort(own)
    return x, after[labels], own[labels], k


def cut(x: Matrix, after: Matrix, block: Labels) -> list[Arrays]:
    return [
        {"x": x[block == number], "after": after[block == number]}
        for number in range(int(block.max()) + 1)
    ]


@pytest.mark.parametrize("run", [in_order, shuffled_elsewhere])
@given(table=tables())
def test_figures_by_blocks_are_those_of_the_whole_table(
    run: links.Run, table: tuple[Matrix, Matrix, Labels, int]
) -> None:
    x, after, block, k = table
    blocks = cut(x, after, block)
    assert links.linkage_by_blocks(run, blocks) == distance_linkage(x, after)
    assert links.known_by_blocks(run, blocks) == expected_links([known_tally(x, after)])
    assert links.bound_by_blocks(run, blocks, k) == neighbour_bound(x, k)


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_few_points_ask_other_blocks(scale: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.lognormal(size=(600, 3)) * scale
    order = np.argsort(x[:, 0])
    block = np.empty(len(x), dtype=np.int64)
    block[order] = np.arange(len(x)) // 100
    blocks = cut(x, x + 1e-6 * scale, block)
    linked = [
        {**each, "number": np.array(number)}
        for number, each in enumerate(in_order("link", links.link_block, links.LINKAGE, blocks))
    ]
    asked = in_order("ask", links.ask_others, links.Covers.of(linked), linked)
    assert 0 < sum(each["point"].size for each in asked) < len(x)
    assert all((each["asked"] != number).all() for number, each in enumerate(asked))
    assert links.linkage_by_blocks(in_order, blocks) == distance_linkage(x, x + 1e-6 * scale)


def test_a_table_of_fewer_than_k_records_has_no_bound() -> None:
    x = np.arange(3.0)[:, np.newaxis]
    blocks = cut(x, x, np.array([0, 0, 1]))
    assert links.bound_by_blocks(in_order, blocks, 4) == 0.0
    assert links.bound_by_blocks(in_order, blocks, 1) == 0.0


def test_exact_sums_do_not_depend_on_the_cut() -> None:
    values = np.random.default_rng(2).lognormal(sigma=8.0, size=1000)
    parts = [links._exact_parts(part) for part in np.array_split(values, 7)]
    assert np.concatenate(parts).size < 7 * 8
    assert links.math.fsum(np.concatenate(parts)) == links.math.fsum(values)
