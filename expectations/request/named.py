"""The request of a run: a reviewed spec by its name, and how the run tightens it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from algorithms.errors import SpecError
from expectations.request.faults import faults
from expectations.request.fields import (
    STRICT,
    GroupSize,
    Limit,
    MethodName,
    OrderingName,
    Percentage,
    PeriodName,
    Reason,
    Revision,
)
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import SpecFile, read, validated
from expectations.request.spec_folder import read_all, rivalry

SPECS = "MICRORELEASE_SPECS"
"""Environment variable with the folder of reviewed specs."""
METHOD_KEYS = ("ordering", "ordering_options", "options", "recut", "refine")
"""Keys of a spec that belong to its method; another method starts without them."""


class Changes(BaseModel):
    """How one run tightens the spec; fields left empty stay as reviewed."""

    model_config = STRICT

    period: PeriodName | None = None
    """Period to release, such as 2026-Q3."""
    revision: Revision | None = None
    """1 for the first revision of a period that is already published, and so on."""
    reason: Reason | None = None
    """Why a period is published again; the public files repeat it."""
    method: MethodName | None = None
    """Another method; the options in the spec do not apply to it."""
    ordering: OrderingName | None = None
    """Another path, for a method that cuts one; the options in the spec do not apply to it."""
    k: GroupSize | None = Field(default=None, title="k")
    """Each published record stands for at least this many; not less than in the spec."""
    il: Percentage | None = Field(default=None, title="Ceiling of IL")
    """Ceiling of the information loss, in per cent; not higher than in the spec."""
    dld: Percentage | None = Field(default=None, title="Ceiling of DLD")
    """Ceiling of the distance-linkage disclosure, in per cent; not higher than in the spec."""
    ceilings: dict[str, Limit] = Field(default={}, title="Other ceilings")
    """Ceilings of other measures, such as {"pmse": 0.1}; not higher than in the spec."""
    floors: dict[str, Limit] = Field(default={}, title="Floors")
    """Floors of measures, such as {"l_distinct": 2}; not lower than in the spec."""

    @field_validator("ceilings")
    @classmethod
    def _has_no_field(cls, ceilings: dict[str, float]) -> dict[str, float]:
        own_field = [name for name in ("il", "dld") if name in ceilings]
        if own_field:
            raise SpecError(
                "ceilings of il and dld must be given in the fields of those names; found among "
                f"the other ceilings: {' and '.join(own_field)}"
            )
        return ceilings

    @classmethod
    def of(cls, period: str | None) -> Self:
        """Change only the period, as the command line does.

        Raises
        ------
        SpecError
            If it is not a valid name of a period.
        """
        try:
            return cls(period=period)
        except ValidationError as error:
            raise SpecError("\n".join(faults(error))) from None

    def apply(self, content: dict[str, Any]) -> None:
        """Write the changes into the content of a spec."""
        how, gate = content["microaggregation"], content["gate"]
        if self.method not in (None, how["method"]):
            for key in METHOD_KEYS:
                how.pop(key)
        elif self.ordering not in (None, how["ordering"]):
            how.pop("ordering_options")
        for section, keys in (
            (content["release"], ("period", "revision", "reason")),
            (how, ("method", "ordering", "k")),
            (gate["ceilings"], ("il", "dld")),
        ):
            section.update(self.model_dump(include=set(keys), exclude_none=True))
        gate["ceilings"].update(self.ceilings)
        gate["floors"].update(self.floors)


class NamedSpec(BaseModel):
    """A spec in the folder of reviewed specs, and how this run tightens it."""

    model_config = STRICT | ConfigDict(title="Reviewed spec")

    name: str
    """Name of the file, without .yaml."""
    changes: Changes = Field(default_factory=Changes)
    """How this run tightens the spec; fields left empty stay as reviewed."""


@dataclass(frozen=True)
class Change:
    """A value in which a run differs from the reviewed spec.

    Attributes
    ----------
    field : str
        Its path in the spec, such as microaggregation.k.
    reviewed : object
        The value in the reviewed spec; None where it has none.
    used : object
        The value in the run.
    """

    field: str
    reviewed: Any
    used: Any

    def __str__(self) -> str:
        """Write the change as one line for readers."""
        used, reviewed = (
            "none" if value is None else value for value in (self.used, self.reviewed)
        )
        return f"{self.field}: {used} in this run, {reviewed} in the reviewed spec"

    @property
    def fault(self) -> str | None:
        """The fault of a change that loosens the spec; None for any other."""
        if self.field.partition(".")[0] == "series":
            return (
                f"{self.field}: must be as reviewed; the run asks for {self.used}: change the spec "
                "file and have it reviewed"
            )
        if self.field.startswith("gate.ceilings."):
            loosens, direction = self.reviewed is not None and self.used > self.reviewed, "lowered"
        elif self.field.startswith("gate.floors.") or self.field == "microaggregation.k":
            loosens, direction = self.reviewed is not None and self.used < self.reviewed, "raised"
        else:
            return None
        if not loosens:
            return None
        return (
            f"{self.field}: may only be {direction} in a run; the reviewed spec says "
            f"{self.reviewed}, the run asks for {self.used}: change the spec file and have it "
            "reviewed"
        )


@dataclass(frozen=True)
class ResolvedSpec:
    """The spec of one run, and the reviewed file it comes from.

    Attributes
    ----------
    spec : ReleaseSpec
        The spec with the changes and the period of the run.
    file : SpecFile
        The reviewed spec.
    changes : tuple of Change
        Where the run differs from the reviewed spec.
    """

    spec: ReleaseSpec
    file: SpecFile
    changes: tuple[Change, ...]


_spec_path: ContextVar[Path | None] = ContextVar("_spec_path", default=None)
"""File from which runs in this context read their spec; None for the folder of reviewed specs."""


@contextmanager
def spec_from_file(path: Path, changes: Changes | None = None) -> Iterator[NamedSpec]:
    """Make runs in this context read their spec from a file, in any folder.

    Only the command line does so. The parameters of a run cannot: anyone who may start runs on a
    server may name a reviewed spec there, and nothing else.
    """
    token = _spec_path.set(path)
    try:
        yield NamedSpec(name=path.stem, changes=changes or Changes())
    finally:
        _spec_path.reset(token)


def resolve_spec(named: NamedSpec, due: datetime) -> ResolvedSpec:
    """Read a named spec, and apply the changes and the period of a run that was due at a time.

    Raises
    ------
    SpecError, StorageError
        If there is no such spec, it is not valid with its changes, a change loosens it, or another
        spec releases the same dataset.
    """
    path = _spec_path.get()
    file = _reviewed_spec(named.name) if path is None else read(path)
    content = file.spec.model_dump(mode="json")
    named.changes.apply(content)
    used = validated(content)
    changes = tuple(_changes(file.spec.model_dump(mode="json"), used.model_dump(mode="json")))
    loosened = [change.fault for change in changes if change.fault]
    if loosened:
        raise SpecError("\n".join(loosened))
    return ResolvedSpec(used.at(due), file, changes)


def _reviewed_spec(name: str) -> SpecFile:
    """Read a spec in the folder of reviewed specs, if no other releases the same dataset."""
    specs = {path.stem: path for path in sorted(specs_folder().glob("*.yaml"))}
    if name not in specs:
        known = ", ".join(specs) or "none"
        raise SpecError(f"no spec is called {name!r}; there are: {known}")
    file = read(specs[name])
    fault = rivalry(file, reviewed_specs())
    if fault:
        raise SpecError(fault)
    return file


def reviewed_specs() -> list[SpecFile]:
    """Read all reviewed specs except faulty ones, which can release nothing."""
    files, _ = read_all(specs_folder())
    return files


def _changes(reviewed: Any, used: Any, field: str = "") -> Iterator[Change]:
    """Compare two specs value by value."""
    if isinstance(reviewed, dict) and isinstance(used, dict):
        for key in {**reviewed, **used}:
            path = f"{field}.{key}" if field else key
            yield from _changes(reviewed.get(key), used.get(key), path)
    elif reviewed != used:
        yield Change(field, reviewed, used)


def specs_folder() -> Path:
    """Locate the folder of reviewed specs."""
    return Path(os.environ.get(SPECS) or Path(__file__).parents[2] / "deployments" / "specs")
