"""Kinds of key columns in files: how each is read, and which rules it must satisfy.

One module per kind. Only kinds that are listed here can be used in a spec.
"""

from collections.abc import Mapping
from typing import Any

from algorithms.attributes import Attribute, Number
from expectations.suites.kinds.kind import Kind
from expectations.suites.kinds.number import NumberKind

COLUMN_KINDS: Mapping[type, Kind[Any]] = {Number: NumberKind()}


def kind_of(attribute: Attribute) -> Kind[Any]:
    """Give the kind of a key column."""
    return COLUMN_KINDS[type(attribute)]
