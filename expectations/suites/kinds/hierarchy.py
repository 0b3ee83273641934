"""Codes in files."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from algorithms.attributes import Hierarchy, Values
from algorithms.attributes.tree import ListedPaths
from expectations.labels import grow_tree
from expectations.suites.require import rule

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

MOST_NODES = 5_000
"""Codes and groups of codes; more would make distances slow to compute."""


class HierarchyKind:
    """Columns of codes in a tree; Great Expectations is imported when rules are listed."""

    def input_rules(self, attribute: Hierarchy) -> "Iterator[Expectation]":
        """Require codes that have a place in the tree, and none that could be taken for a group."""
        from expectations.suites import custom

        name = attribute.name
        if isinstance(attribute.paths, ListedPaths):
            yield custom.ExpectColumnValuesToStandInHierarchy(
                column=name,
                codes=list(attribute.paths.paths),
                meta=rule(f"{name!r} must stand in its hierarchy", "does not", "do not"),
            )
        yield custom.ExpectColumnValuesNotToNameGroups(
            column=name,
            prefixes=list(getattr(attribute.paths, "prefixes", ())),
            paths=dict(getattr(attribute.paths, "paths", {})),
            meta=rule(
                f"{name!r} must not hold the name of a group of codes, from which published groups "
                "could not be told apart",
                "is one",
                "are such names",
            ),
        )
        yield custom.ExpectColumnToHaveFewLabels(
            column=name,
            most=MOST_NODES,
            meta=rule(
                f"{name!r} must have at most {MOST_NODES:,} codes",
                "is beyond that",
                "are beyond that",
            ),
        )

    def read(self, attribute: Hierarchy, column: pa.ChunkedArray) -> tuple[Hierarchy, Values]:
        """Read codes as nodes of the tree of the column."""
        tree, codes = grow_tree(column, attribute.paths)
        return replace(attribute, tree=tree), codes

    def output_rules(self, attribute: Hierarchy) -> "Iterator[Expectation]":
        """Require codes of the source and groups above them."""
        from expectations.suites import custom

        yield custom.ExpectColumnValuesToBeInLevels(
            column=attribute.name,
            levels=sorted(set(attribute.tree.names)),
            meta=rule(f"{attribute.name!r} must hold codes of the source and groups of them only"),
        )
