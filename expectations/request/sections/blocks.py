"""The key ``microaggregation.blocks``: how a large table is cut into blocks."""

from pydantic import BaseModel, Field

from algorithms.blocks.cuts import Blocks
from expectations.request.fields import STRICT

DEFAULT = Blocks()


class BlocksSection(BaseModel):
    """How sets of many records are cut into blocks, which are grouped one by one."""

    model_config = STRICT

    rows: int = Field(default=DEFAULT.rows, ge=100, strict=True)
    """About the largest number of records in a block; smaller sets are not cut."""
    seams: int = Field(default=DEFAULT.seams, ge=0, le=10, strict=True)
    """Rounds in which the table is cut elsewhere, and records move between groups across the
    former borders where that reduces the loss."""

    @property
    def blocks(self) -> Blocks:
        """The blocks of the plan."""
        return Blocks(self.rows, self.seams)
