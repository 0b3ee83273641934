"""The section ``series``: how a release is protected together with the earlier ones."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from algorithms.errors import SpecError
from algorithms.history import Links
from algorithms.series.cohorts import Cohorts
from expectations.request.faults import SLUG
from expectations.request.fields import STRICT, PeriodName, Reason

LASTING, NEW_EACH_PERIOD = "lasting", "new each period"


class StartSection(BaseModel):
    """A decision to compare releases from a period on only."""

    model_config = STRICT

    period: PeriodName
    """First period that is compared; earlier releases are not, whatever they give away."""
    reason: Reason
    """Why; every later report repeats it."""


class SeriesSection(BaseModel):
    """How a release is protected together with the earlier releases of the same persons."""

    model_config = STRICT

    method: Literal["fresh", "cohorts"] = "fresh"
    """`cohorts` keeps groups together from release to release and mutes records that could be
    followed; `fresh` groups every release on its own."""
    window: Annotated[int, Field(ge=2, strict=True)] | None = None
    """Number of releases, the new one included, over which an attacker can follow a record; by
    default all."""
    il_over_fresh: Annotated[float, Field(ge=1.0, le=10.0)] = 1.25
    """For `cohorts`: largest IL, as a multiple of the IL of fresh groups of MDAV."""
    leaving: Annotated[float, Field(ge=0.0, le=0.5)] | None = None
    """For `cohorts`: share of persons that is expected to leave from one release to the next; by
    default estimated from the earlier releases."""
    links: Links = "perfect"
    """Whether an attacker can follow every record from release to release (`perfect`), or only
    those that matching published values finds (`measured`)."""
    persons: Literal["lasting", "new each period"] = "lasting"
    """`new each period` declares that no person is in two releases, so that there is nothing to
    compare; it needs a reason."""
    reason: Reason | None = None
    """Why no person is in two releases; every report repeats it."""
    population: Annotated[str, Field(pattern=SLUG, max_length=100)] | None = None
    """Name of the persons, if several datasets with one register are about the same ones; by
    default the name of the dataset."""
    stable: tuple[str, ...] = ()
    """Confidential or other columns whose values hardly change for a person; `l_across` counts
    the values of them that comparing releases leaves."""
    start: StartSection | None = None
    """From which period on releases are compared, if earlier ones cannot be."""

    @model_validator(mode="after")
    def _reasons_are_given(self) -> Self:
        if (self.persons == NEW_EACH_PERIOD) != (self.reason is not None):
            raise SpecError(
                f"persons: {NEW_EACH_PERIOD} and reason must be given together; one is missing"
            )
        if self.persons == NEW_EACH_PERIOD and (self.method == "cohorts" or self.window):
            raise SpecError(
                f"method: cohorts and window are about persons who last; persons: "
                f"{NEW_EACH_PERIOD} says that there are none: drop one of them"
            )
        return self

    @property
    def cohorts(self) -> Cohorts | None:
        """How groups last; None if every release is grouped afresh."""
        if self.method == "fresh":
            return None
        return Cohorts(il_over_fresh=self.il_over_fresh, leaving=self.leaving)
