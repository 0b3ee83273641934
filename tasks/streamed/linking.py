"""Links and bounds of a streamed table: its parts search their own records, then ask each other."""

from dataclasses import dataclass

from algorithms.blocks.links import (
    Covers,
    Search,
)

from tasks.streamed.masking import Scales

OWN = "own"
"""The part of a file in which a part keeps its own results."""


@dataclass(frozen=True, eq=False)
class _Asking:
    """What the steps of one search need to know; its boxes are as confidential as records."""

    scales: Scales
    search: Search
    boxes: Covers | None = None
