"""The section ``release``: which dataset, for which period."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, field_validator, model_validator

from algorithms.errors import SpecError
from expectations.request.faults import SLUG
from expectations.request.fields import STRICT, PeriodName, Reason, Revision
from expectations.request.periods import Every, check_period, check_zone

REVISION_MARK = "-revision-"


def folder_name(period: str, revision: int) -> str:
    """Name the folder of a period inside the folder of its dataset."""
    return f"{period}{REVISION_MARK}{revision}" if revision else period


class ReleaseSection(BaseModel):
    """The dataset and its period."""

    model_config = STRICT

    name: str = Field(pattern=SLUG, max_length=100)
    """Short name of the dataset, in lower case, digits and dashes; it names the public folder."""
    period: PeriodName | None = None
    """Period that the data describe, such as 2026-Q3; by default it follows from `every`."""
    every: Every | None = None
    """A run without a period releases the last full month, quarter or year before the time that it
    was scheduled for, however late it runs."""
    time_zone: Annotated[str, AfterValidator(check_zone)] = "UTC"
    """Time zone in which months begin, such as Europe/Madrid; use that of the schedule."""
    title: str = Field(min_length=1, max_length=200)
    """Name of the dataset for readers."""
    licence: str = Field(min_length=1, max_length=100)
    """Terms under which the public files may be used, as an SPDX name such as CC-BY-4.0."""
    revision: Revision = 0
    """0 for the first publication of a period, 1 for its first revision, and so on."""
    reason: Reason | None = None
    """Why the period is published again; a revision needs it, and the public files repeat it."""
    formerly: str | None = Field(default=None, max_length=255)
    """Previous name of this spec file, such as old-name.yaml, if it was renamed: a dataset is
    released from one spec file only."""

    @field_validator("period", mode="before")
    @classmethod
    def _written_as_number(cls, period: object) -> object:
        # YAML reads an unquoted 2026 as a number
        return str(period) if type(period) is int else period

    @field_validator("period")
    @classmethod
    def _no_revision_mark(cls, period: str | None) -> str | None:
        if period is not None and REVISION_MARK in period:
            raise SpecError(f"a period must not contain {REVISION_MARK!r}; set revision instead")
        return period

    @model_validator(mode="after")
    def _only_revisions_have_reasons(self) -> Self:
        if self.reason is not None and not self.revision:
            raise SpecError("reason is about a revision; revision is 0: drop the reason")
        return self

    @model_validator(mode="after")
    def _has_a_period(self) -> Self:
        if self.period is None and self.every is None:
            raise SpecError(
                "period or every must be given; both are missing: give a period, or set every to "
                "month, quarter or year"
            )
        if self.period is not None and self.every is not None:
            check_period(self.every, self.period)
        return self

    @property
    def folder(self) -> Path:
        """Folder of this release inside the public folder."""
        return Path(self.name) / folder_name(str(self.period), self.revision)
