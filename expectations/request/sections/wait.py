"""The key ``source.wait``: how long a run waits for its source."""

from typing import Annotated

from pydantic import BaseModel, Field

from expectations.request.fields import STRICT


class WaitSection(BaseModel):
    """How long a run waits for a source that is not there yet, instead of failing at once."""

    model_config = STRICT

    hours: float = Field(gt=0, le=24 * 14)
    """The longest wait, counted from the time at which the run was due."""
    rows: Annotated[int, Field(ge=1, strict=True)] | None = None
    """Least number of rows that a query must give; by default 1. A file is complete when it no
    longer grows, and takes no number of rows."""
