"""Kinds of key columns in files: how each is read, and which rules it must satisfy.

One module per kind. Only kinds that are listed here can be used in a spec.
"""

from collections.abc import Mapping
from typing import Any

from algorithms.attributes import (
    Attribute,
    Category,
    Date,
    Hierarchy,
    Number,
    Ordered,
    WithMissing,
)
from expectations.suites.kinds.category import CategoryKind
from expectations.suites.kinds.date import DateKind
from expectations.suites.kinds.hierarchy import HierarchyKind
from expectations.suites.kinds.kind import Kind
from expectations.suites.kinds.missing import MissingKind
from expectations.suites.kinds.number import NumberKind
from expectations.suites.kinds.ordered import OrderedKind


def kind_of(attribute: Attribute) -> Kind[Any]:
    """Give the kind of a key column."""
    return COLUMN_KINDS[type(attribute)]


COLUMN_KINDS: Mapping[type, Kind[Any]] = {
    Number: NumberKind(),
    Date: DateKind(),
    Ordered: OrderedKind(),
    Category: CategoryKind(),
    Hierarchy: HierarchyKind(),
    WithMissing: MissingKind(kind_of),
}
