"""The section ``series``: how a release is protected together with the earlier ones."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from algorithms.errors import SpecError
from algorithms.history import Links
from algorithms.series.cohorts import Cohorts
from expectations.request.faults import SLUG
from expectations.request.fields import STRICT, PeriodName, Reason

FRESH, COHORTS = "fresh", "cohorts"
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
    leaving: Annotated[float, Field(ge=0.0, le=0.5)] = 0.1
    """For `cohorts`: share of a group that is expected to leave it, or to drift away from it, from
    one release to the next. More of it makes groups larger at first, and mutes fewer later."""
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
    def _fits_together(self) -> Self:
        faults = [*self._persons_at_fault(), *self._method_at_fault()]
        if faults:
            raise SpecError("; ".join(faults))
        return self

    def _persons_at_fault(self) -> Iterator[str]:
        if (self.persons == NEW_EACH_PERIOD) != (self.reason is not None):
            yield f"persons: {NEW_EACH_PERIOD} and reason must be given together; one is missing"
        about_lasting = {
            "method": self.method == COHORTS,
            "window": self.window is not None,
            "links": self.links != "perfect",
            "population": self.population is not None,
            "stable": bool(self.stable),
            "start": self.start is not None,
        }
        given = [key for key, is_given in about_lasting.items() if is_given]
        if self.persons == NEW_EACH_PERIOD and given:
            yield (
                f"{', '.join(given)}: {'this is' if len(given) == 1 else 'these are'} about "
                f"persons who last; persons: {NEW_EACH_PERIOD} says that there are none: drop one "
                "of them"
            )

    def _method_at_fault(self) -> Iterator[str]:
        fields = type(self).model_fields
        about_cohorts = ("il_over_fresh", "leaving")
        given = [key for key in about_cohorts if getattr(self, key) != fields[key].default]
        if self.method != COHORTS and given:
            yield f"{', '.join(given)}: about method: cohorts; the method is {self.method}"

    @property
    def cohorts(self) -> Cohorts | None:
        """How groups last; None if every release is grouped afresh."""
        if self.method == FRESH:
            return None
        return Cohorts(il_over_fresh=self.il_over_fresh, leaving=self.leaving)
