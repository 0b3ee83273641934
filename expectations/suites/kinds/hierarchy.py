"""Codes in files."""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from algorithms.attributes import Hierarchy, Values
from algorithms.attributes.tree import ListedPaths
from expectations.labels import grow_tree
from expectations.suites.rules import Rule, rule

MOST_NODES = 5_000
"""Codes and groups of codes; more would make distances slow to compute."""


class HierarchyKind:
    """Columns of codes in a tree."""

    def input_rules(self, attribute: Hierarchy) -> Iterator[Rule]:
        """Require codes that have a place in the tree, and none that could be taken for a group."""
        name = attribute.name
        if isinstance(attribute.paths, ListedPaths):
            yield rule(
                "ExpectColumnValuesToStandInHierarchy",
                f"{name!r} must stand in its hierarchy",
                "does not",
                "do not",
                column=name,
                codes=list(attribute.paths.paths),
            )
        yield rule(
            "ExpectColumnValuesNotToNameGroups",
            f"{name!r} must not hold the name of a group of codes, from which published groups "
            "could not be told apart",
            "is one",
            "are such names",
            column=name,
            prefixes=list(getattr(attribute.paths, "prefixes", ())),
            paths=dict(getattr(attribute.paths, "paths", {})),
        )
        yield rule(
            "ExpectColumnToHaveFewLabels",
            f"{name!r} must have at most {MOST_NODES:,} codes",
            "is beyond that",
            "are beyond that",
            column=name,
            most=MOST_NODES,
        )

    def read(self, attribute: Hierarchy, column: pa.ChunkedArray) -> tuple[Hierarchy, Values]:
        """Read codes as nodes of the tree of the column."""
        tree, codes = grow_tree(column, attribute.paths)
        return replace(attribute, tree=tree), codes

    def output_rules(self, attribute: Hierarchy) -> Iterator[Rule]:
        """Require codes of the source and groups above them."""
        yield rule(
            "ExpectColumnValuesToBeInLevels",
            f"{attribute.name!r} must hold codes of the source and groups of them only",
            column=attribute.name,
            levels=sorted(set(attribute.tree.names)),
        )
