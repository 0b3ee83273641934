"""The section ``gate``: the limits that a release must meet, and whether a person reviews it."""

import difflib
from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from algorithms.errors import SpecError
from algorithms.measures import MEASURES
from expectations.request.fields import STRICT, Limit, Percentage

MANDATORY = ("il", "dld")
"""Measures that every release must have a ceiling for."""


class Ceilings(BaseModel):
    """The largest values that may be published. There are no defaults: someone must choose.

    A spec without IL or DLD can be checked and explored, and nothing can be released by it. Any
    other measure for which lower is better may be listed too; `microrelease measures` lists them.
    """

    model_config = STRICT | ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Limit] = Field(init=False)

    il: Percentage | None = Field(default=None, title="IL")
    """Ceiling of the information loss, in per cent; a release needs it."""
    dld: Percentage | None = Field(default=None, title="DLD")
    """Ceiling of the distance-linkage disclosure, in per cent; a release needs it."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        _check_measures(self.__pydantic_extra__, "lower", "ceiling")
        return self

    @property
    def all(self) -> dict[str, float]:
        """Every ceiling that is given, by the name of its measure."""
        own = {"il": self.il, "dld": self.dld}
        given = {name: most for name, most in own.items() if most is not None}
        return {**given, **self.__pydantic_extra__}

    @property
    def missing(self) -> tuple[str, ...]:
        """The measures without whose ceilings nothing can be released."""
        return tuple(name for name in MANDATORY if name not in self.all)


class Floors(BaseModel):
    """The smallest values that may be published, of any measure for which higher is better."""

    model_config = STRICT | ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Limit] = Field(init=False)

    @model_validator(mode="after")
    def _known(self) -> Self:
        _check_measures(self.__pydantic_extra__, "higher", "floor")
        return self

    @property
    def all(self) -> dict[str, float]:
        """Every floor, by the name of its measure."""
        return dict(self.__pydantic_extra__)


class ReviewSection(BaseModel):
    """Persons decide after the gate, before anything is published."""

    model_config = STRICT

    hours: float = Field(default=24.0, gt=0, le=24 * 14)
    """How long a run waits for the decision; without a decision nothing is published."""
    reviewers: int = Field(default=1, ge=1, le=5)
    """How many persons must approve, none of them the one who started the run; the first who
    rejects decides."""
    claimed_names: bool = True
    """Whether decisions in the Prefect UI and on the command line count, where anyone can give any
    name; if not, only those in the desk do, where a reviewer has logged in."""


class GateSection(BaseModel):
    """The conditions under which a release is published."""

    model_config = STRICT

    ceilings: Ceilings = Field(default_factory=Ceilings)
    """Largest IL and DLD that may be published, and the same for any other measure."""
    floors: Floors = Field(default_factory=Floors)
    """Smallest l-diversity and the like that may be published; k is a floor already."""
    review: ReviewSection | None = None
    """If given, a release that passes the gate is published only after a reviewer has approved
    it."""


def _check_measures(names: Iterable[str], better: str, limit: str) -> None:
    """Check that limits are set on measures that exist and can have such a limit."""
    for name in names:
        if name not in MEASURES:
            near = difflib.get_close_matches(name, MEASURES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`microrelease measures` lists them"
            raise SpecError(f"no measure is called {name!r}; {hint}")
        if MEASURES[name].better != better or name == "k":
            reason = (
                "set microaggregation.k" if name == "k" else f"{MEASURES[name].better} is better"
            )
            raise SpecError(f"{name!r} cannot have a {limit}: {reason}")
