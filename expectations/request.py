"""Of a run: a spec by its name, and what the run changes of it."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from algorithms.errors import SpecError
from expectations.faults import SLUG, faults
from expectations.fields import (
    STRICT,
    GroupSize,
    MethodName,
    OrderingName,
    Percentage,
    PeriodName,
    Revision,
)
from expectations.spec import ReleaseSpec
from expectations.spec_file import load

SPECS = "MICRORELEASE_SPECS"
"""Environment variable with the folder of the specs that can be called by name."""


class Changes(BaseModel):
    """What one run changes of the spec; what is left empty stays as it was reviewed."""

    model_config = STRICT

    period: PeriodName | None = None
    """Period to release, such as 2026-Q3."""
    revision: Revision | None = None
    """1 to replace a period that is published already, and so on."""
    method: MethodName | None = None
    """Another method; it takes none of the options of the spec."""
    ordering: OrderingName | None = None
    """Path for a method that cuts one."""
    k: GroupSize | None = Field(default=None, title="k")
    """Each published record stands for at least this many."""
    il: Percentage | None = Field(default=None, title="Ceiling of IL")
    """Ceiling of the information loss, in per cent."""
    dld: Percentage | None = Field(default=None, title="Ceiling of DLD")
    """Ceiling of the distance-linkage disclosure, in per cent."""

    @classmethod
    def of(cls, period: str | None) -> Self:
        """Change the period only, as the command line does.

        Raises
        ------
        SpecError
            If it cannot be the name of a period.
        """
        try:
            return cls(period=period)
        except ValidationError as error:
            raise SpecError("\n".join(faults(error))) from None

    def apply(self, content: dict[str, Any]) -> None:
        """Write the changes into the content of a spec."""
        if self.method is not None:
            for key in ("ordering", "ordering_options", "options", "recut"):
                content["microaggregation"].pop(key, None)
        for section, keys in (
            (content["release"], ("period", "revision")),
            (content["microaggregation"], ("method", "ordering", "k")),
            (content["gate"]["ceilings"], ("il", "dld")),
        ):
            section.update(self.model_dump(include=set(keys), exclude_none=True))


class NamedSpec(BaseModel):
    """A spec in the folder of reviewed specs, and what this run changes of it."""

    model_config = STRICT | ConfigDict(title="Reviewed spec")

    name: str = Field(pattern=SLUG)
    """Name of the file, without .yaml."""
    changes: Changes = Field(default_factory=Changes)
    """What this run changes; what is left empty stays as it was reviewed."""


Request = ReleaseSpec | NamedSpec


def settle(request: Request, due: datetime) -> ReleaseSpec:
    """Give the spec of a run that was due at some time, with its period.

    Raises
    ------
    SpecError, StorageError
        If there is no such spec, or it is not valid with its changes.
    """
    if isinstance(request, ReleaseSpec):
        return request.at(due)
    path = specs_folder() / f"{request.name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in path.parent.glob("*.yaml"))) or "none"
        raise SpecError(f"no spec is called {request.name!r}; there are: {known}")
    return load(path, request.changes.apply).at(due)


def specs_folder() -> Path:
    """Tell where the reviewed specs are."""
    return Path(os.environ.get(SPECS) or Path(__file__).parents[1] / "deployments" / "specs")
