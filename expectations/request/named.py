"""Of a run: a reviewed spec by its name, and how the run tightens it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from algorithms.errors import SpecError
from expectations.request.faults import faults
from expectations.request.fields import (
    STRICT,
    GroupSize,
    MethodName,
    OrderingName,
    Percentage,
    PeriodName,
    Revision,
)
from expectations.request.spec import Limit, ReleaseSpec
from expectations.request.spec_file import SpecFile, read, validated
from expectations.request.spec_folder import read_all

SPECS = "MICRORELEASE_SPECS"
"""Environment variable with the folder of the specs that can be called by name."""
METHOD_KEYS = ("ordering", "ordering_options", "options", "recut", "refine")
"""Keys of a spec that belong to its method, and that another method does not take over."""


class Changes(BaseModel):
    """How one run tightens the spec; what is left empty stays as it was reviewed."""

    model_config = STRICT

    period: PeriodName | None = None
    """Period to release, such as 2026-Q3."""
    revision: Revision | None = None
    """1 to replace a period that is published already, and so on."""
    method: MethodName | None = None
    """Another method; it takes none of the options of the spec."""
    ordering: OrderingName | None = None
    """Path for a method that cuts one; it takes none of the options of the spec."""
    k: GroupSize | None = Field(default=None, title="k")
    """Each published record stands for at least this many; not less than the spec says."""
    il: Percentage | None = Field(default=None, title="Ceiling of IL")
    """Ceiling of the information loss, in per cent; not higher than the spec says."""
    dld: Percentage | None = Field(default=None, title="Ceiling of DLD")
    """Ceiling of the distance-linkage disclosure, in per cent; not higher than the spec says."""
    ceilings: dict[str, Limit] = Field(default={}, title="Other ceilings")
    """Ceilings of other measures, such as {"pmse": 0.1}; not higher than the spec says."""
    floors: dict[str, Limit] = Field(default={}, title="Floors")
    """Floors of measures, such as {"l_distinct": 2}; not lower than the spec says."""

    @field_validator("ceilings")
    @classmethod
    def _has_no_field(cls, ceilings: dict[str, float]) -> dict[str, float]:
        twice = [name for name in ("il", "dld") if name in ceilings]
        if twice:
            raise SpecError(f"{' and '.join(twice)} must be given in a field of its own")
        return ceilings

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
        how, gate = content["microaggregation"], content["gate"]
        if self.method not in (None, how["method"]):
            for key in METHOD_KEYS:
                how.pop(key)
        elif self.ordering not in (None, how["ordering"]):
            how.pop("ordering_options")
        for section, keys in (
            (content["release"], ("period", "revision")),
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
    """How this run tightens the spec; what is left empty stays as it was reviewed."""


@dataclass(frozen=True)
class Change:
    """A value of which a run departs from the reviewed spec.

    Attributes
    ----------
    field : str
        Its path in the spec, such as microaggregation.k.
    reviewed : object
        What the reviewed spec says; None where it says nothing.
    used : object
        What the run uses.
    """

    field: str
    reviewed: Any
    used: Any

    def __str__(self) -> str:
        """Say the change for people."""
        used, reviewed = (
            "none" if value is None else value for value in (self.used, self.reviewed)
        )
        return f"{self.field}: {used} in this run, {reviewed} in the reviewed spec"

    @property
    def fault(self) -> str | None:
        """Say what is wrong with a change that loosens the spec."""
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
class Settled:
    """The spec of one run, and how it came about.

    Attributes
    ----------
    spec : ReleaseSpec
        The spec with its changes and its period.
    file : SpecFile
        The reviewed spec.
    changes : tuple of Change
        Where the run departs from the reviewed spec.
    """

    spec: ReleaseSpec
    file: SpecFile
    changes: tuple[Change, ...]

    @property
    def record(self) -> dict[str, Any]:
        """What the manifest says of the reviewed spec."""
        return {
            "spec_file": {"name": self.file.name, "sha256": self.file.sha256},
            "changes": [asdict(change) for change in self.changes],
        }


_at_hand: ContextVar[Path | None] = ContextVar("_at_hand", default=None)


@contextmanager
def at_hand(path: Path, changes: Changes | None = None) -> Iterator[NamedSpec]:
    """Have runs of this process read a spec from its file, wherever that lies.

    The command line does so. The parameters of a run cannot: whoever may start runs on a server
    may name a reviewed spec there, and nothing else.
    """
    token = _at_hand.set(path)
    try:
        yield NamedSpec(name=path.stem, changes=changes or Changes())
    finally:
        _at_hand.reset(token)


def settle(request: NamedSpec, due: datetime) -> Settled:
    """Give the spec of a run that was due at some time, with its changes and its period.

    Raises
    ------
    SpecError, StorageError
        If there is no such spec, it is not valid with its changes, a change loosens it, or another
        spec releases the same dataset.
    """
    path = _at_hand.get()
    file = _in_folder(request.name) if path is None else read(path)
    content = file.spec.model_dump(mode="json")
    request.changes.apply(content)
    used = validated(content)
    changes = tuple(_changes(file.spec.model_dump(mode="json"), used.model_dump(mode="json")))
    loosened = [change.fault for change in changes if change.fault]
    if loosened:
        raise SpecError("\n".join(loosened))
    return Settled(used.at(due), file, changes)


def _in_folder(name: str) -> SpecFile:
    """Read a spec of the folder of reviewed specs, if its dataset is its own."""
    specs = {path.stem: path for path in sorted(specs_folder().glob("*.yaml"))}
    if name not in specs:
        known = ", ".join(specs) or "none"
        raise SpecError(f"no spec is called {name!r}; there are: {known}")
    file = read(specs[name])
    for rival in reviewed_specs():
        if rival.name != file.name and _dataset(rival.spec) & _dataset(file.spec):
            raise SpecError(
                f"a dataset must have one spec; {file.name} and {rival.name} both release "
                f"{file.spec.release.name!r}: remove one of them, or give it another release.name"
            )
    return file


def reviewed_specs() -> list[SpecFile]:
    """Read all reviewed specs but those that are faulty, which can release nothing."""
    files, _ = read_all(specs_folder())
    return files


def _dataset(spec: ReleaseSpec) -> set[str]:
    """Name what two specs must not have in common: the dataset, and where it is published."""
    name = spec.release.name
    return {name, os.path.realpath(spec.publication.public_folder / name)}


def _changes(reviewed: Any, used: Any, field: str = "") -> Iterator[Change]:
    """Compare two specs value by value."""
    if isinstance(reviewed, dict) and isinstance(used, dict):
        for key in {**reviewed, **used}:
            path = f"{field}.{key}" if field else key
            yield from _changes(reviewed.get(key), used.get(key), path)
    elif reviewed != used:
        yield Change(field, reviewed, used)


def specs_folder() -> Path:
    """Tell where the reviewed specs are."""
    return Path(os.environ.get(SPECS) or Path(__file__).parents[2] / "deployments" / "specs")
