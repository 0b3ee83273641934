"""Columns in which values may be missing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from algorithms.attributes import MISSING, Attribute, Number, Values, WithMissing, is_missing
from algorithms.errors import DataError
from expectations.suites.kinds.kind import Kind
from expectations.suites.rules import Rule


class MissingKind:
    """Applies the rules of a kind to the values that are there; missing cells break none."""

    def __init__(self, kind_of: Callable[[Attribute], Kind[Any]]) -> None:
        self._kind_of = kind_of

    def input_rules(self, attribute: WithMissing) -> Iterator[Rule]:
        """List the rules of the kind of the values that are there."""
        return self._kind_of(attribute.present).input_rules(attribute.present)

    def read(self, attribute: WithMissing, column: pa.ChunkedArray) -> tuple[WithMissing, Values]:
        """Read the values that are there."""
        missing = np.asarray(column.is_null().to_numpy(), dtype=bool)
        present = attribute.present
        if missing.all():
            real = isinstance(present, Number) and not present.whole
            return attribute, np.full(len(missing), np.nan if real else MISSING)
        present, values = self._kind_of(present).read(present, column.drop_null())
        if is_missing(values).any():
            raise DataError(
                f"{attribute.name!r} must be above -2**63, which stands for a missing value; "
                f"{int(is_missing(values).sum())} are not"
            )
        everything = np.full(len(missing), np.nan if values.dtype.kind == "f" else MISSING)
        everything[~missing] = values
        return replace(attribute, present=present), everything

    def output_rules(self, attribute: WithMissing) -> Iterator[Rule]:
        """List the rules of the kind of the values that are there."""
        return self._kind_of(attribute.present).output_rules(attribute.present)
