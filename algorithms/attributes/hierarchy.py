"""Codes in a tree: codes are the closer, the further their paths from the root agree."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from algorithms.attributes.attribute import MISSING, Coordinates, Values, group_means
from algorithms.attributes.tree import Paths, PrefixPaths, Tree
from algorithms.rounding.grid import Grid
from algorithms.types import Matrix, Partition

NodeRule = Literal["nearest", "leaf", "common"]

ONLY_CODES = PrefixPaths(())
"""No groups but that of all codes."""


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A column of codes, as nodes of a tree.

    Two codes are the farther apart, the more levels their paths differ on; all levels count alike.

    Attributes
    ----------
    name : str
        Name of the column.
    tree : Tree
        The codes of the table and the groups above them.
    published : {"nearest", "leaf", "common"}
        What a group publishes: the node nearest to its average, which is the deepest one that holds
        more than half of its records; the code nearest to its average; or the deepest node above
        all of its codes, which is never wrong.
    paths : Paths
        How codes are put into a tree.

    Examples
    --------
    >>> tree = Tree.of([("I", "I21", code) for code in ("I21.0", "I21.1", "I21.4")])
    >>> icd = Hierarchy("icd", tree)
    >>> codes = np.array([tree.leaves[code] for code in ("I21.0", "I21.1", "I21.4")])
    >>> icd.write(icd.represent(codes, Partition(np.zeros(3, dtype=np.int64), k=3)))
    array(['I21', 'I21', 'I21'], dtype=object)
    """

    name: str
    tree: Tree
    published: NodeRule = "nearest"
    paths: Paths = ONLY_CODES

    has_line: ClassVar[bool] = False

    def scale(self, values: Values) -> "HierarchyCoordinates":
        """Fit the distances in the tree to a table; missing is apart on every level."""
        nodes, levels = len(self.tree.names), self.tree.levels
        missing = int((values == MISSING).sum())
        present = values[values >= 0]
        counts = np.zeros(nodes, dtype=np.int64)
        for level in range(levels):
            on_level = self.tree.ancestors[present, level]
            counts += np.bincount(on_level[on_level >= 0], minlength=nodes)
        n = len(values)
        same = sum(int(count) ** 2 for count in counts[1:]) + levels * missing**2
        differing_pairs = levels * n * n - same
        squared = n * (n - 1) / differing_pairs if differing_pairs else 1.0 / levels
        return HierarchyCoordinates(self.tree, math.sqrt(squared), counts[1:] / n, missing / n)

    def represent(
        self,
        values: Values,
        groups: Partition,
        weights: Matrix | None = None,
        scale: Coordinates | None = None,  # noqa: ARG002 - counts decide
    ) -> Values:
        """Replace each code by the node that its group publishes."""
        own = np.ones(len(values)) if weights is None or self.published == "common" else weights
        size = np.bincount(groups.labels, weights=own)[groups.labels]
        counts = np.stack([self._shared(values, level, groups, own) for level in self._levels], 1)
        if self.published == "leaf":
            return self._leaf(values, counts.sum(axis=1), groups)
        least = size if self.published == "common" else size / 2.0
        enough = counts == least[:, None] if self.published == "common" else counts > least[:, None]
        published = np.zeros(groups.sizes.size, dtype=np.int64)
        for level in self._levels:
            chosen = enough[:, level] & (self.tree.ancestors[values, level] >= 0)
            published[groups.labels[chosen]] = self.tree.ancestors[values[chosen], level]
        result: Values = published[groups.labels]
        return result

    def numbers(self, values: Values) -> None:  # noqa: ARG002
        """Give nothing: a tree has no number line."""
        return

    def write(self, values: Values) -> Values:
        """Give the names of nodes."""
        return np.array(self.tree.names, dtype=object)[np.maximum(values, 0)]

    @property
    def _levels(self) -> range:
        return range(self.tree.levels)

    def _shared(self, values: Values, level: int, groups: Partition, own: Matrix) -> Matrix:
        """Weigh the records of each record's group that stand under its node of a level."""
        nodes = self.tree.ancestors[values, level]
        cells, place = np.unique(
            groups.labels * len(self.tree.names) + np.maximum(nodes, 0), return_inverse=True
        )
        del cells
        shared: Matrix = np.where(nodes >= 0, np.bincount(place, weights=own)[place], 0.0)
        return shared

    def _leaf(self, values: Values, score: Matrix, groups: Partition) -> Values:
        """Choose the code of each group that shares most nodes with the others.

        Ties go to the code that is rarer in the table, then to the first.
        """
        rarity = np.bincount(values)[values]
        order = np.lexsort((values, rarity, -score, groups.labels))
        first = order[np.searchsorted(groups.labels[order], np.arange(groups.sizes.size))]
        published: Values = values[first][groups.labels]
        return published


@dataclass(frozen=True, eq=False)
class HierarchyCoordinates:
    """One coordinate per node below the root: ``unit`` on the path to a code, 0 elsewhere.

    If values are missing, there is one coordinate more, as far away as all levels together.
    """

    tree: Tree
    unit: float
    shares: Matrix
    missing: float

    one_label: ClassVar[bool] = False

    @property
    def grid(self) -> Grid:
        """Zero or one unit in each coordinate."""
        steps = self._units
        return Grid(np.zeros(steps.size), steps, np.ones(steps.size, dtype=bool))

    @property
    def centre(self) -> Matrix:
        """The share of records under each node, in units."""
        shares = self.shares if not self.missing else np.append(self.shares, self.missing)
        centre: Matrix = self._units * shares
        return centre

    def embed(self, values: Values) -> Matrix:
        """Put one unit into the coordinates of all nodes on the path; the root has none."""
        units = self._units
        x = np.zeros((len(values), units.size), order="F")
        known = np.flatnonzero(values >= 0)
        for level in range(self.tree.levels):
            nodes = self.tree.ancestors[values[known], level]
            on_path = nodes >= 0
            x[known[on_path], nodes[on_path] - 1] = self.unit
        if self.missing:
            x[values == MISSING, -1] = units[-1]
        return x

    def average(self, values: Values, groups: Partition, weights: Matrix | None = None) -> Matrix:
        """Give the share of each node in each record's group, in units."""
        return group_means(self.embed(values), groups, weights)

    @property
    def _units(self) -> Matrix:
        units = np.full(self.shares.size, self.unit)
        return np.append(units, math.sqrt(self.tree.levels) * self.unit) if self.missing else units
