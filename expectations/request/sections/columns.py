"""The section ``columns``: the role of each column, and the kind of each quasi-identifier."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from algorithms.attributes import Attribute, Category, Date, Number, Ordered, WithMissing
from algorithms.attributes.category import LabelRule
from algorithms.attributes.date import DateUnit
from algorithms.attributes.hierarchy import Hierarchy, NodeRule
from algorithms.attributes.missing import MissingPolicy
from algorithms.attributes.tree import ListedPaths, Paths, PrefixPaths, Tree, faults_of
from algorithms.errors import SpecError
from algorithms.masking import WeightRule
from expectations.request.fields import STRICT

LABEL_RULES: tuple[str, ...] = ("mode", "majority", "calibrated")
NODE_RULES: tuple[str, ...] = ("nearest", "leaf", "common")
MOST_PLACES = 15
"""Decimals that every real number of moderate size keeps."""


def _text(level: object) -> str:
    """Refuse a level that YAML reads as something else than text."""
    if isinstance(level, str):
        return level
    found = {bool: str(level).lower(), type(None): "nothing"}.get(type(level), "a number")
    raise SpecError(f"a level must be text, and YAML reads this one as {found}: quote it")


def _places(places: object) -> object:
    """Refuse what is no number of decimals in one sentence."""
    if places == "all" or (type(places) is int and 0 <= places <= MOST_PLACES):
        return places
    got = f"; got {places!r}" if isinstance(places, str | int | float) else ""
    raise SpecError(f"must be a whole number from 0 to {MOST_PLACES}, or all{got}")


Level = Annotated[str, BeforeValidator(_text), Field(min_length=1)]
Places = Annotated[int | Literal["all"], BeforeValidator(_places)]


class HierarchySection(BaseModel):
    """The tree of a column's codes: by their first characters, or by a file."""

    model_config = STRICT

    prefixes: tuple[Annotated[int, Field(ge=1, strict=True)], ...] = ()
    """Lengths of the prefixes that name groups of codes: with [1, 3] the code I21.4 stands under
    I21, and that under I."""
    file: Path | None = None
    """CSV file without a header, one line per code: the code, its parent, and so on to the top; a
    relative path is taken from the folder of the spec."""
    sha256: str = ""
    """Fingerprint of the file; filled in when the spec is read."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The lines of the file; filled in when the spec is read."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.prefixes) == bool(self.file or self.rows):
            raise SpecError("a hierarchy must be given by prefixes or by a file, one of them")
        if list(self.prefixes) != sorted(set(self.prefixes)):
            raise SpecError(f"prefixes must grow from one to the next; got {list(self.prefixes)}")
        faults = list(faults_of(self.rows)) if self.rows else []
        if faults:
            raise SpecError("; ".join(faults))
        return self

    @property
    def paths(self) -> Paths:
        """The rule that gives the path to a code; a top level that all codes share is left out."""
        if self.prefixes:
            return PrefixPaths(self.prefixes)
        shared = len({row[-1] for row in self.rows}) == 1 and len(self.rows[0]) > 1
        return ListedPaths(
            {row[0]: tuple(reversed(row[:-1] if shared else row)) for row in self.rows}
        )


class ColumnsSection(BaseModel):
    """The role of each column; a column of the file that has none is an error, not a leak."""

    model_config = STRICT

    identifiers: tuple[str, ...] = ()
    """Never published; different for every record."""
    unit: str | None = None
    """Never published: the person, household or company to which several records may belong; k then
    counts these instead of records."""
    dropped: dict[str, Annotated[str, Field(min_length=1)]] = {}
    """Never published, although no identifiers; each with the reason."""
    strata: tuple[str, ...] = ()
    """Published unchanged; groups never cross them, and k holds in each combination of them."""
    quasi_identifiers: tuple[str, ...] = Field(min_length=1)
    """Microaggregated: published records share their values in groups of at least k."""
    weight: str | None = None
    """The sampling weight of each record."""
    weight_published: WeightRule = "averaged"
    """Whether the weight is published as the average of its group, never, or as it is; a published
    weight counts into k."""
    confidential: tuple[str, ...] = ()
    """Published unchanged; the values an attacker would want to learn, and does not know."""
    other: tuple[str, ...] = ()
    """Published unchanged although an attacker may know them: they count into k, and groups do not
    heed them, so that the gate refuses almost every table; choose another role."""
    integers: tuple[str, ...] = ()
    """Quasi-identifiers that are whole numbers and stay whole numbers."""
    decimals: dict[str, Places] = {}
    """Number of decimals published for each quasi-identifier that is not whole, or all; by default
    as many as the source has."""
    categories: tuple[str, ...] = ()
    """Quasi-identifiers that hold labels without order."""
    ordered: dict[str, tuple[Level, ...]] = {}
    """Quasi-identifiers that hold levels, and all levels, the lowest first."""
    hierarchies: dict[str, HierarchySection] = {}
    """Quasi-identifiers that hold codes in a tree, and strata that may be merged along one."""
    dates: dict[str, DateUnit] = {}
    """Quasi-identifiers that hold dates, and whether days, months or years are published."""
    missing: dict[str, Literal[MissingPolicy, "refuse"]] = {}
    """How missing values of a quasi-identifier are treated; by default they are refused."""
    published: dict[str, Literal[LabelRule, NodeRule]] = {}
    """What a group publishes of its labels (mode, majority, calibrated) or codes (nearest, leaf,
    common)."""
    importance: dict[str, Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]] = {}
    """How much a quasi-identifier weighs in distances; by default 1."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        faults = [*self._roles_at_fault(), *self._kinds_at_fault(), *self._rules_at_fault()]
        if faults:
            raise SpecError("; ".join(faults))
        return self

    def _roles_at_fault(self) -> Iterator[str]:
        counts = Counter(self.all)
        repeated = [name for name, count in counts.items() if count > 1]
        if repeated:
            yield f"each column must have one role; listed more than once: {_quoted(repeated)}"
        if "" in counts:
            yield "a column must have a name; one of the listed names is empty"
        if self.weight is None and self.weight_published != "averaged":
            yield "weight_published needs a weight; the spec names none"

    def _kinds_at_fault(self) -> Iterator[str]:
        kinds = self._kinds
        for kind, names in kinds.items():
            keys = self.quasi_identifiers
            allowed = keys + self.strata if kind == "hierarchies" else keys
            strays = [name for name in names if name not in allowed]
            if strays and kind == "decimals":
                yield (
                    "decimals must be given only for quasi-identifiers that are not integers; "
                    f"these are not: {_quoted(strays)}"
                )
            elif strays:
                roles = (
                    "quasi-identifiers or strata" if kind == "hierarchies" else "quasi-identifiers"
                )
                yield (
                    f"{kind} must be {roles} (other columns are published unchanged); these are "
                    f"not: {_quoted(strays)}"
                )
        owners: dict[str, list[str]] = {}
        for kind, names in kinds.items():
            for name in names:
                owners.setdefault(name, []).append(kind)
        twice = [f"{name!r} ({', '.join(of)})" for name, of in owners.items() if len(of) > 1]
        if twice:
            yield f"each quasi-identifier must have one kind; listed twice: {', '.join(twice)}"
        for name, levels in self.ordered.items():
            if len(levels) < 2 or len(set(levels)) < len(levels):
                yield (
                    f"the levels of {name!r} must be at least two, all different; "
                    f"{len(levels)} are listed, {len(set(levels))} of them different"
                )

    def _rules_at_fault(self) -> Iterator[str]:
        for key in ("missing", "importance"):
            strays = [name for name in getattr(self, key) if name not in self.quasi_identifiers]
            if strays:
                yield f"{key} is about quasi-identifiers; these are not: {_quoted(strays)}"
        for name, rule in self.published.items():
            if name in self.categories:
                choices = LABEL_RULES
            elif name in self.hierarchies and name in self.quasi_identifiers:
                choices = NODE_RULES
            else:
                yield (
                    f"published is about categories and hierarchies among the quasi-identifiers; "
                    f"{name!r} is neither"
                )
                continue
            if rule not in choices:
                yield f"published.{name} must be {', '.join(choices)}; got {rule!r}"

    @property
    def _kinds(self) -> dict[str, tuple[str, ...]]:
        return {
            "integers": self.integers,
            "decimals": tuple(self.decimals),
            "categories": self.categories,
            "ordered": tuple(self.ordered),
            "hierarchies": tuple(self.hierarchies),
            "dates": tuple(self.dates),
        }

    @property
    def all(self) -> tuple[str, ...]:
        """Every column, by role."""
        unit = () if self.unit is None else (self.unit,)
        unpublished = (
            () if self.weight is None or self.weight_published != "never" else (self.weight,)
        )
        return self.identifiers + unit + tuple(self.dropped) + unpublished + self.public

    @property
    def public(self) -> tuple[str, ...]:
        """The columns of the public files, in their order there."""
        return self.known + self.confidential

    @property
    def known(self) -> tuple[str, ...]:
        """The public columns that an attacker may know, in their order there: they count into k."""
        weight = () if self.weight is None or self.weight_published == "never" else (self.weight,)
        return self.strata + self.other + self.quasi_identifiers + weight

    @property
    def untouched(self) -> tuple[str, ...]:
        """The columns that are published unchanged."""
        return self.strata + self.other + self.confidential

    @property
    def muted(self) -> tuple[str, ...]:
        """The columns that are empty in muted records."""
        return self.other + self.confidential

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that must be read as numbers."""
        labelled = {*self.categories, *self.ordered, *self.hierarchies, *self.dates}
        keys = tuple(name for name in self.quasi_identifiers if name not in labelled)
        return keys if self.weight is None else (*keys, self.weight)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The kind of each quasi-identifier, as declared."""
        return tuple(map(self._attribute, self.quasi_identifiers))

    def _attribute(self, name: str) -> Attribute:
        kind = self._present(name)
        policy = self.missing.get(name, "refuse")
        return kind if policy == "refuse" else WithMissing(kind, policy)

    def _present(self, name: str) -> Attribute:
        rule = self.published.get(name)
        if name in self.integers:
            return Number(name, places=0, whole=True)
        if name in self.dates:
            return Date(name, self.dates[name])
        if name in self.ordered:
            return Ordered(name, self.ordered[name])
        if name in self.categories:
            # labels are known when the source is read
            return Category(name, (), cast("LabelRule", rule or "mode"), name not in self.missing)
        if name in self.hierarchies:
            paths = self.hierarchies[name].paths
            return Hierarchy(name, Tree.of([]), cast("NodeRule", rule or "nearest"), paths)
        places = self.decimals.get(name)
        return Number(name, places=None if places == "all" else places, all_digits=places == "all")

    def role_of(self, column: str) -> str:
        """Name the role of a published column, for people who use the data."""
        roles = {
            "quasi-identifier": self.quasi_identifiers,
            "stratum": self.strata,
            "confidential": self.confidential,
            "weight": (self.weight,),
        }
        return next((role for role, names in roles.items() if column in names), "other")


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
