"""The contract of a kind of key column."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

import pyarrow as pa

from algorithms.attributes import Attribute, Values
from expectations.suites.rules import Rule

Declared = TypeVar("Declared", bound=Attribute, contravariant=True)


class Kind(Protocol[Declared]):
    """How columns of one kind are read from a file, and checked before and after masking."""

    def input_rules(self, attribute: Declared) -> Iterator[Rule]:
        """List the rules that the column must satisfy in the source."""

    def read(self, attribute: Declared, column: pa.ChunkedArray) -> tuple[Attribute, Values]:
        """Read a column that satisfies the input rules.

        Returns
        -------
        attribute : Attribute
            The declared attribute, with details from the source, such as the number of decimals.
        values : Values
            One per record.
        """

    def output_rules(self, attribute: Declared) -> Iterator[Rule]:
        """List the rules that the column must satisfy in the published table."""
