"""Trees of codes: each code stands under wider and wider groups of codes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from algorithms.types import Integers

ROOT = "*"
"""The name of the group of all codes."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes, numbered from the root on; all leaves stand on the last level.

    Attributes
    ----------
    names : tuple of str
        Name of each node; the first is the root.
    ancestors : Integers of shape (nodes, levels)
        The node of each level above a node, or itself; -1 on the levels below it.
    """

    names: tuple[str, ...]
    ancestors: Integers

    @classmethod
    def of(cls, paths: Sequence[Sequence[str]]) -> "Tree":
        """Build a tree from the path to each leaf, from its widest group to the leaf itself.

        Examples
        --------
        >>> tree = Tree.of([("I", "I21", "I21.4"), ("I", "I25", "I25.1")])
        >>> tree.names
        ('*', 'I', 'I21', 'I25', 'I21.4', 'I25.1')
        >>> tree.ancestors[5]
        array([1, 3, 5])
        """
        levels = len(paths[0]) if paths else 1
        names, lines = [ROOT], [[-1] * levels]
        numbers: dict[tuple[str, ...], int] = {(): 0}
        for level in range(levels):
            for path in sorted({tuple(path[: level + 1]) for path in paths}):
                numbers[path] = len(names)
                names.append(path[-1])
                line = [numbers[path[: above + 1]] for above in range(level + 1)]
                lines.append(line + [-1] * (levels - level - 1))
        return cls(tuple(names), np.array(lines, dtype=np.int64))

    @property
    def levels(self) -> int:
        """Number of levels below the root."""
        return int(self.ancestors.shape[1])

    @property
    def leaves(self) -> dict[str, int]:
        """Number of each leaf, by its name."""
        return {self.names[i]: int(i) for i in np.flatnonzero(self.ancestors[:, -1] >= 0)}

    @property
    def depth(self) -> Integers:
        """Level of each node; 0 for the root."""
        depth: Integers = (self.ancestors >= 0).sum(axis=1)
        return depth

    @property
    def parents(self) -> Integers:
        """The node above each node; the root is above itself."""
        rows = np.arange(len(self.names))
        above = np.concatenate([np.zeros((len(rows), 2), dtype=np.int64), self.ancestors], axis=1)
        parents: Integers = above[rows, self.depth]
        return parents

    def clashes(self) -> set[str]:
        """Name the codes that could be taken for a group of codes: it has the same name.

        A group that holds nothing but the code of its own name is that code.

        Examples
        --------
        >>> Tree.of([("I", "I"), ("I", "I21"), ("J", "J")]).clashes()
        {'I'}
        """
        leaves = self.leaves
        lines = self.ancestors[list(leaves.values())]
        found = set()
        for node in np.flatnonzero(self.ancestors[:, -1] < 0):
            name = self.names[node]
            if name in leaves:
                under = (lines == node).any(axis=1) if node else np.ones(len(lines), dtype=bool)
                if under.sum() > 1 or node not in self.ancestors[leaves[name]]:
                    found.add(name)
        return found


class Paths(Protocol):
    """A rule that gives the path to a code."""

    def to(self, code: str) -> tuple[str, ...] | None:
        """Give the path from the widest group of a code to the code; None if it has no place."""


@dataclass(frozen=True)
class PrefixPaths:
    """Groups of codes are named by their first characters.

    Examples
    --------
    >>> PrefixPaths((1, 3)).to("I21.4")
    ('I', 'I21', 'I21.4')
    """

    prefixes: tuple[int, ...]

    def to(self, code: str) -> tuple[str, ...] | None:
        """Cut the code at each prefix."""
        return (*(code[:length] for length in self.prefixes), code)


@dataclass(frozen=True)
class ListedPaths:
    """The path to each code is listed."""

    paths: Mapping[str, Sequence[str]]

    def to(self, code: str) -> tuple[str, ...] | None:
        """Look the code up."""
        path = self.paths.get(code)
        return None if path is None else tuple(path)


def faults_of(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Check rows that lead from a code to its widest group.

    Yields
    ------
    str
        Each fault, with counts.

    Examples
    --------
    >>> list(faults_of([("a", "A"), ("a", "B")]))
    ['a code must have one parent; 1 has two or more']
    """
    lengths = {len(row) for row in rows}
    if not rows or lengths == {0}:
        yield "it must have at least one row; it is empty"
        return
    if len(lengths) > 1:
        yield (
            "every row must have as many names as the others; rows have "
            f"{min(lengths)} to {max(lengths)}: repeat a name to fill a level"
        )
    blank = sum(not name for row in rows for name in row)
    if blank:
        yield f"every level must have a name; {blank} are empty"
    parents: dict[str, set[str]] = {}
    for row in rows:
        for child, parent in pairwise(row):
            if child != parent:
                parents.setdefault(child, set()).add(parent)
    several = sum(len(above) > 1 for above in parents.values())
    if several:
        have = "has" if several == 1 else "have"
        yield f"a code must have one parent; {several} {have} two or more"
    elif _has_cycle({child: next(iter(above)) for child, above in parents.items()}):
        yield "no code may stand above itself; there is a cycle"


def _has_cycle(parents: Mapping[str, str]) -> bool:
    checked: set[str] = set()
    for start in parents:
        line: list[str] = []
        node: str | None = start
        while node is not None and node not in checked:
            checked.add(node)
            line.append(node)
            node = parents.get(node)
        if node in line:
            return True
    return False
