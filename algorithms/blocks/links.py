"""Links and bounds of a table that lies in blocks: the same figures as those of the whole table.

Each block first searches among its own records. A point asks another block only if that block may
hold records within the point's reach, which is the distance of the last record that it needs; the
other block then answers for records within that reach only. Figures are those of the whole table,
to the last digit: distances are summed alike everywhere, ties are counted across blocks, and sums
over records are exact, so that no order of records or blocks has any effect.

A block is a mapping of two arrays, ``x`` with original and ``after`` with published records, in
coordinates. A search has four steps, each a function that a `Run` runs on all blocks::

    link_block      among the block's own records; also boxes that cover its targets
    ask_others      which points ask which other blocks, by the boxes of all blocks
    answer_block    the questions of other blocks
    linkage_figures, known_figures, bound_figures
                    the answers of other blocks merged with its own, as figures

Between the steps arrays only move from block to block: `questions_to` selects those that one block
asks another, and answers go back in the order of the questions.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.blocks.running import Arrays, Function, Run
from algorithms.bounds.distances import costs_of
from algorithms.jit import kernel
from algorithms.search.boxes import boxes_around
from algorithms.search.linkage import (
    Linkage,
    expected_links,
    link_tallies,
    linkage_of,
    squared_distances,
    tally_of_known,
)
from algorithms.search.nearest import Nearest, added, distinct, nearest, targets_at
from algorithms.types import Labels, Mask, Matrix

TOGETHER = 64
"""Points that are tested together before each of them is."""

COVERS = 48
"""Most boxes that cover the targets of a block, for other blocks to test before they ask."""


@dataclass(frozen=True)
class Search:
    """What the points of a search are, and what they look for.

    Attributes
    ----------
    points, targets : {"x", "after"}
        Whether points and targets are original or published records.
    enough : int
        Number of records that each point looks for.
    """

    points: Literal["x", "after"]
    targets: Literal["x", "after"]
    enough: int


LINKAGE = Search("after", "x", 2)
"""Published points look for the two nearest originals."""

KNOWN = Search("x", "after", 1)
"""Originals look for the nearest published record."""


def among_originals(k: int) -> Search:
    """Let originals look for the ``k`` nearest originals, themselves included."""
    return Search("x", "x", k)


@dataclass(frozen=True, eq=False)
class Covers:
    """The boxes that cover the targets of all blocks.

    Attributes
    ----------
    low, high : Matrix of shape (m, d)
        Corners of the boxes.
    block : Labels of shape (m,)
        The block of each box, in ascending order.
    """

    low: Matrix
    high: Matrix
    block: Labels

    @classmethod
    def of(cls, linked: Sequence[Arrays]) -> "Covers":
        """Collect the boxes of all blocks, from the results of `link_block`."""
        return cls(
            np.concatenate([block["low"] for block in linked]),
            np.concatenate([block["high"] for block in linked]),
            np.repeat(np.arange(len(linked)), [len(block["low"]) for block in linked]),
        )


def link_block(search: Search, block: Arrays) -> Arrays:
    """Search among the block's own records.

    Returns
    -------
    Arrays
        The distinct ``points``, the ``squares`` and ``counts`` of their nearest targets, and boxes
        from ``low`` to ``high`` that cover the block's targets.
    """
    rows, _, _ = distinct(block[search.points])
    points = block[search.points][rows]
    rows, _, counts = distinct(block[search.targets])
    targets = block[search.targets][rows]
    found = nearest(points, targets_at(targets, counts), search.enough)
    boxes = boxes_around(targets, -(-len(targets) // COVERS))
    return {
        "points": points,
        "squares": found.squares,
        "counts": found.counts,
        "low": boxes.low[:, : boxes.leaves].T,
        "high": boxes.high[:, : boxes.leaves].T,
    }


def ask_others(covers: Covers, linked: Arrays) -> Arrays:
    """Select the points that may have targets within reach in other blocks.

    Parameters
    ----------
    covers : Covers
        The boxes of all blocks.
    linked : Arrays
        The result of `link_block`, and the ``number`` of the block.

    Returns
    -------
    Arrays
        For each question the block that is ``asked``, in ascending order, the number of the
        ``point`` in the block that asks, its coordinates ``at`` and its ``reach``.
    """
    points, reach = linked["points"], Nearest(linked["squares"], linked["counts"]).reach
    others = covers.block != linked["number"]
    blocks, place = np.unique(covers.block[others], return_inverse=True)
    # points that lie together are tested together first
    leaves = boxes_around(points, TOGETHER)
    within = reach[leaves.rows]
    reached = np.zeros((blocks.size, len(points)), dtype=bool)
    _mark_reached(
        leaves.columns, within, leaves.starts, leaves.low, leaves.high,
        np.maximum.reduceat(within, leaves.starts[:-1]),
        covers.low[others], covers.high[others], place.reshape(-1), reached,
    )  # fmt: skip
    asked, at = np.nonzero(reached)
    point = leaves.rows[at]
    return {"asked": blocks[asked], "point": point, "at": points[point], "reach": reach[point]}


@kernel
def _mark_reached(
    columns: Matrix,
    reach: Matrix,
    starts: Labels,
    leaf_low: Matrix,
    leaf_high: Matrix,
    farthest: Matrix,
    low: Matrix,
    high: Matrix,
    place: Labels,
    reached: Mask,
) -> None:
    """Mark the points that reach a box of a block, leaf by leaf of points and box by box."""
    for leaf in range(farthest.size):
        for box in range(place.size):
            apart = 0.0
            for j in range(low.shape[1]):
                gap = max(
                    max(low[box, j] - leaf_high[j, leaf], leaf_low[j, leaf] - high[box, j]), 0.0
                )
                apart += gap * gap
            if apart <= farthest[leaf]:
                row = reached[place[box]]
                for i in range(starts[leaf], starts[leaf + 1]):
                    if not row[i]:
                        total = 0.0
                        for j in range(low.shape[1]):
                            gap = max(
                                max(low[box, j] - columns[j, i], columns[j, i] - high[box, j]), 0.0
                            )
                            total += gap * gap
                        row[i] = total <= reach[i]


def questions_to(block: int, asked: Arrays) -> Arrays:
    """Select the questions that one block asks another: ``point``, ``at`` and ``reach``."""
    first, last = np.searchsorted(asked["asked"], [block, block + 1])
    return {name: asked[name][first:last] for name in ("point", "at", "reach")}


def answer_block(search: Search, block: Arrays) -> Arrays:
    """Answer questions of other blocks: the ``squares`` and ``counts`` within their reach.

    The block holds its targets, and the questions ``at`` with their ``reach``.
    """
    (found,) = answers(search, block, [block])
    return {"squares": found.squares, "counts": found.counts}


def answers(search: Search, block: Arrays, asked: Iterable[Arrays]) -> Iterator[Nearest]:
    """Answer several sets of questions, one after the other."""
    rows, _, counts = distinct(block[search.targets])
    targets = targets_at(block[search.targets][rows], counts)
    for questions in asked:
        yield nearest(questions["at"], targets, search.enough, questions["reach"])


def linkage_figures(_search: Search, block: Arrays) -> Arrays:
    """Count the records that are linked to their own original.

    The block holds its records, ``squares`` and ``counts`` of its own search, and the answers of
    other blocks as ``answers`` and ``answer_counts`` with the ``point`` that asked.
    """
    _, of_record, _ = distinct(block["after"])
    own = squared_distances(block["x"], block["after"])
    closest, second, records = link_tallies(own, of_record, _merged(block))
    return {"closest": closest, "second": second, "records": np.array(records)}


def known_figures(_search: Search, block: Arrays) -> Arrays:
    """Count the originals that are linked to their own published record."""
    _, of_record, _ = distinct(block["x"])
    found = _merged(block)
    every = Nearest(found.squares[of_record], found.counts[of_record])
    return {"linked": tally_of_known(squared_distances(block["x"], block["after"]), every)}


def bound_figures(_search: Search, block: Arrays) -> Arrays:
    """Add up the costs of the neighbour bound, exactly."""
    _, _, copies = distinct(block["x"])
    return {"parts": _exact_parts(np.repeat(costs_of(_merged(block)), copies))}


def _merged(block: Arrays) -> Nearest:
    own = Nearest(block["squares"], block["counts"])
    return added(own, block["point"], Nearest(block["answers"], block["answer_counts"]))


def _exact_parts(values: Matrix) -> Matrix:
    """Write the exact sum of values as a sum of few numbers."""
    left, parts = values.tolist(), []
    while part := math.fsum(left):
        parts.append(part)
        left.append(-part)
    return np.array(parts)


def linkage_by_blocks(run: Run, blocks: Sequence[Arrays]) -> Linkage:
    """Measure the linkage of a table that lies in blocks, as `distance_linkage` does.

    No published group may be cut by blocks, or some questions are asked twice.
    """
    figures = _searched(run, LINKAGE, linkage_figures, blocks)
    return linkage_of([(each["closest"], each["second"], int(each["records"])) for each in figures])


def known_by_blocks(run: Run, blocks: Sequence[Arrays]) -> float:
    """Give the expected number of originals that are linked to their own published record."""
    figures = _searched(run, KNOWN, known_figures, blocks)
    return expected_links([each["linked"] for each in figures])


def bound_by_blocks(run: Run, blocks: Sequence[Arrays], k: int) -> float:
    """Bound the SSE of any partition of a table that lies in blocks, as `neighbour_bound` does."""
    if k == 1 or sum(len(block["x"]) for block in blocks) < k:
        return 0.0
    figures = _searched(run, among_originals(k), bound_figures, blocks)
    return math.fsum(np.concatenate([each["parts"] for each in figures]).tolist()) / (2 * k)


def _searched(
    run: Run, search: Search, figures: Function, blocks: Sequence[Arrays]
) -> list[Arrays]:
    """Take the blocks through the four steps of a search."""
    linked = [
        {**block, "number": np.array(number)}
        for number, block in enumerate(run("link", link_block, search, blocks))
    ]
    asked = run("ask", ask_others, Covers.of(linked), linked)
    everyone = range(len(blocks))
    answered: list[Arrays] = []
    for number, block in enumerate(blocks):
        questions = [questions_to(number, asked[asker]) for asker in everyone]
        answered.append(
            {
                search.targets: block[search.targets],
                "at": np.concatenate([each["at"] for each in questions]),
                "reach": np.concatenate([each["reach"] for each in questions]),
            }
        )
    answers = run("answer", answer_block, search, answered)
    return run("merge", figures, search, returned(blocks, linked, asked, answers))


def returned(
    blocks: Sequence[Arrays],
    linked: Sequence[Arrays],
    asked: Sequence[Arrays],
    answers: Sequence[Arrays],
) -> list[Arrays]:
    """Bring answers back to the blocks that asked, as the last step of a search needs them."""
    counts = np.array(
        [np.bincount(each["asked"], minlength=len(blocks)) for each in asked], dtype=np.int64
    )
    # a block's answers lie in the order of the blocks that asked it
    ends = counts.cumsum(axis=0)
    back: list[Arrays] = []
    for asker, block in enumerate(blocks):
        own = [slice(ends[asker, b] - counts[asker, b], ends[asker, b]) for b in range(len(blocks))]
        back.append(
            {
                **block,
                "squares": linked[asker]["squares"],
                "counts": linked[asker]["counts"],
                "point": asked[asker]["point"],
                "answers": np.concatenate(
                    [answer["squares"][rows] for answer, rows in zip(answers, own, strict=True)]
                ),
                "answer_counts": np.concatenate(
                    [answer["counts"][rows] for answer, rows in zip(answers, own, strict=True)]
                ),
            }
        )
    return back
