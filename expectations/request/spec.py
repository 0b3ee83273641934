"""Of the request: one reviewed YAML file says everything that changes a result."""

import codecs
import difflib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from algorithms.attributes import Attribute, Number
from algorithms.errors import SpecError
from algorithms.masking import Plan
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.utility.certificate import MEASURES as BOUNDS
from expectations.request.faults import SLUG, faults
from expectations.request.fields import (
    STRICT,
    GroupSize,
    MethodName,
    OrderingName,
    Percentage,
    PeriodName,
    Revision,
)
from expectations.request.options import options_of
from expectations.request.periods import Every, check_zone, last_full

REVISION_MARK = "-revision-"
PERIOD_MARK = "{period}"
"""Stands in a path for the period of the run."""


def folder_name(period: str, revision: int) -> str:
    """Name the folder of a period in the folder of its dataset."""
    return f"{period}{REVISION_MARK}{revision}" if revision else period


class Release(BaseModel):
    """What is released."""

    model_config = STRICT

    name: str = Field(pattern=SLUG, max_length=100)
    """Short name of the dataset, in lower case, digits and dashes; it names the public folder."""
    period: PeriodName | None = None
    """Period the data are about, such as 2026-Q3; by default it follows from `every`."""
    every: Every | None = None
    """A run without a period releases the last full month, quarter or year before the time that it
    was scheduled for, however late it runs."""
    time_zone: Annotated[str, AfterValidator(check_zone)] = "UTC"
    """Where months begin, as in Europe/Madrid; should be that of the schedule."""
    title: str = Field(min_length=1, max_length=200)
    """Name of the dataset for people."""
    licence: str = Field(min_length=1, max_length=100)
    """Terms under which the public files may be used, as an SPDX name such as CC-BY-4.0."""
    revision: Revision = 0
    """0 for the first publication of a period, 1 for its first revision, and so on."""
    formerly: str | None = Field(default=None, max_length=255)
    """Name of the file that this spec stood in before, such as old-name.yaml, if the file was
    renamed: a dataset is released from one spec file only."""

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
    def _some_period(self) -> Self:
        if self.period is None and self.every is None:
            raise SpecError(
                "period must be given, or every (month, quarter or year), from which it follows"
            )
        return self

    @property
    def folder(self) -> Path:
        """Where this release stands inside the public folder."""
        return Path(self.name) / folder_name(str(self.period), self.revision)


NOT_OF_FILES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
"""Codecs of names and of source code, which Python lists among the character encodings."""


class Source(BaseModel):
    """The confidential table."""

    model_config = STRICT

    path: Path
    """A CSV or Parquet file; a relative path is taken from the folder of the spec, and {period} in
    it stands for the period."""
    format: Literal["csv", "parquet"] | None = None
    """Format of the file, if its ending (.csv, .parquet) does not tell."""
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """Character between two fields of a CSV file."""
    decimal: Literal[".", ","] = "."
    """Decimal mark in a CSV file."""
    encoding: str = "utf-8"
    """Character encoding of a CSV file."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.format is None and self.path.suffix.lower() not in {".csv", ".parquet"}:
            raise SpecError(
                "path must end in .csv or .parquet, or format must say which it is; "
                f"got a path that ends in {self.path.suffix!r}"
            )
        if "\0" in str(self.path):
            raise SpecError("path must be the name of a file; it holds a NUL character")
        if not self.delimiter.isascii() or self.delimiter in '\0\r\n"':
            raise SpecError(
                "delimiter must be an ASCII character other than a quote or a line end; got "
                f"{self.delimiter!r}"
            )
        if self.delimiter == self.decimal:
            raise SpecError(f"delimiter and decimal must differ; both are {self.decimal!r}")
        return self

    @field_validator("encoding")
    @classmethod
    def _encodes_files(cls, encoding: str) -> str:
        try:
            "".encode(encoding)
            known = codecs.lookup(encoding).name not in NOT_OF_FILES
        except (LookupError, ValueError):
            known = False
        if not known:
            raise SpecError(
                "must be a character encoding of files, such as utf-8, latin-1 or cp1252; got "
                f"{encoding!r}"
            )
        return encoding

    @property
    def kind(self) -> str:
        """Format of the file, given or told by its ending."""
        return self.format or self.path.suffix.lower().removeprefix(".")


class Columns(BaseModel):
    """The role of each column; a column of the file that has none is an error, not a leak."""

    model_config = STRICT

    identifiers: tuple[str, ...] = ()
    """Never published."""
    quasi_identifiers: tuple[str, ...] = Field(min_length=1)
    """Numeric, microaggregated: published records agree on them in groups of at least k."""
    confidential: tuple[str, ...] = ()
    """Published as they are; what an attacker would want to learn."""
    other: tuple[str, ...] = ()
    """Published as they are; of no use to an attacker."""
    integers: tuple[str, ...] = ()
    """Quasi-identifiers that are whole numbers and stay whole numbers."""
    decimals: dict[str, Annotated[int, Field(ge=0, le=15, strict=True)]] = {}
    """How many decimals are published of quasi-identifiers that are not whole; by default as many
    as the source has."""

    @model_validator(mode="after")
    def _one_role_each(self) -> Self:
        times = Counter(self.all)
        twice = [name for name, count in times.items() if count > 1]
        if twice:
            raise SpecError(f"each column must have one role; listed twice: {_quoted(twice)}")
        strangers = [name for name in self.integers if name not in self.quasi_identifiers]
        if strangers:
            raise SpecError(
                "integers must be quasi-identifiers (other columns are published as they are); "
                f"these are not: {_quoted(strangers)}"
            )
        rounded = [
            name
            for name in self.decimals
            if name in self.integers or name not in self.quasi_identifiers
        ]
        if rounded:
            raise SpecError(
                "decimals are of quasi-identifiers that are not integers; these are not: "
                f"{_quoted(rounded)}"
            )
        if "" in times:
            raise SpecError("a column must have a name; one of the names listed is empty")
        return self

    @property
    def all(self) -> tuple[str, ...]:
        """Every column, by role."""
        return self.identifiers + self.published

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of the public files, in their order there."""
        return self.other + self.quasi_identifiers + self.confidential

    @property
    def untouched(self) -> tuple[str, ...]:
        """The columns that are published as they are."""
        return self.other + self.confidential

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The kind of each quasi-identifier, as declared."""
        return tuple(
            Number(name, places=0, whole=True)
            if name in self.integers
            else Number(name, places=self.decimals.get(name))
            for name in self.quasi_identifiers
        )

    def role_of(self, column: str) -> str:
        """Name the role of a published column, for people who use the data."""
        if column in self.quasi_identifiers:
            return "quasi-identifier"
        return "confidential" if column in self.confidential else "other"


class Microaggregation(BaseModel):
    """Which method groups the records, and how coarsely."""

    model_config = STRICT

    method: MethodName
    """Name of the method; `microrelease methods` lists them."""
    k: GroupSize = Field(title="k")
    """Each published record stands for at least this many."""
    ordering: OrderingName | None = None
    """Path for a method that cuts one, and for no other."""
    ordering_options: dict[str, Any] = {}
    """The ordering's own options; `microrelease methods` lists them."""
    options: dict[str, Any] = {}
    """The method's own options; `microrelease methods` lists them."""
    recut: bool = Field(default=False, strict=True)
    """Cut the groups of a method that reads no path anew, along the path through them, so that what
    will be published loses least."""
    refine: dict[str, Any] | None = None
    """Improve the groups of the method by the search of `best`, with its options; `{}` for the
    defaults."""
    each_column: bool = Field(default=False, strict=True)
    """Group each quasi-identifier on its own. This does not protect their combinations: with more
    than one of them the gate refuses what is not k-anonymous, which is nearly everything."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        method = METHODS[self.method]
        if method.reads_path != (self.ordering is not None):
            need = "reads a path: name an" if method.reads_path else "reads no path: drop the"
            raise SpecError(f"method {self.method!r} {need} ordering")
        if self.recut and method.reads_path:
            raise SpecError(f"method {self.method!r} cuts a path already: drop recut")
        _check_options("method", self.method, method.run, self.options)
        if self.refine is not None:
            if method.searches:
                raise SpecError(f"method {self.method!r} refines its groups already: drop refine")
            _check_options("refinement", "refine", METHODS["best"].run, self.refine)
        if self.ordering is not None:
            run = ORDERINGS[self.ordering].run
            _check_options("ordering", self.ordering, run, self.ordering_options)
        elif self.ordering_options:
            raise SpecError("ordering_options need an ordering; there is none")
        return self

    @property
    def plan(self) -> Plan:
        """How the table is to be masked, with the algorithms themselves in place of their names."""
        return Plan(
            k=self.k,
            method=METHODS[self.method],
            options=self.options,
            ordering=None if self.ordering is None else ORDERINGS[self.ordering],
            ordering_options=self.ordering_options,
            recut=self.recut,
            refine=self.refine,
            each_column=self.each_column,
        )


Limit = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Ceilings(BaseModel):
    """The most that is tolerated. There are no defaults: someone must choose.

    Any other measure of which less is better may be listed, too; `microrelease measures` lists
    them.
    """

    model_config = STRICT | ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Limit] = Field(init=False)

    il: Percentage = Field(title="IL")
    """Ceiling of the information loss, in per cent."""
    dld: Percentage = Field(title="DLD")
    """Ceiling of the distance-linkage disclosure, in per cent."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        _check_measures(self.__pydantic_extra__, "lower", "ceiling")
        return self

    @property
    def all(self) -> dict[str, float]:
        """Every ceiling, by the name of its measure."""
        return {"il": self.il, "dld": self.dld, **self.__pydantic_extra__}


class Floors(BaseModel):
    """The least that is tolerated, of any measure of which more is better."""

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


class Review(BaseModel):
    """A person decides after the gate, before anything is published."""

    model_config = STRICT

    hours: float = Field(default=24.0, gt=0, le=24 * 14)
    """How long a run waits for the decision; without one nothing is published."""


class Gate(BaseModel):
    """What must hold before anything is published."""

    model_config = STRICT

    ceilings: Ceilings
    """Largest IL and DLD that may be published, and of any other measure."""
    floors: Floors = Field(default_factory=Floors)
    """Smallest l-diversity and the like that may be published; k is a floor already."""
    review: Review | None = None
    """If given, what passed the gate is published only when a reviewer has approved it."""


class Evaluation(BaseModel):
    """How much is spent on measuring."""

    model_config = STRICT

    bound_rounds: int = Field(default=0, ge=0, le=100_000, strict=True)
    """Rounds spent on a stronger bound on what any method must lose; 0 for the plain one. 400 take
    seconds on thousands of records."""
    certify_seconds: float = Field(default=0.0, ge=0.0, strict=True, allow_inf_nan=False)
    """Seconds spent on a bound close to the optimum, for tables of up to 5,000 records; 0 for none.
    How close it gets depends on the machine."""


class Publication(BaseModel):
    """Where the files go. Relative paths are taken from the folder of the spec."""

    model_config = STRICT

    public_folder: Path
    """Folder of the public files: one folder per dataset in it, and one per period in that."""
    register_folder: Path
    """Folder of the internal register; never inside the public one."""
    staging_folder: Path | None = None
    """Where a release is put together before it appears, on the same file system as the public
    folder; by default a folder beside that one."""

    @model_validator(mode="after")
    def _apart(self) -> Self:
        self.check_apart()
        return self

    def check_apart(self) -> None:
        """See that no folder lies inside another, as links lead now.

        Raises
        ------
        SpecError
            If one does.
        """
        places = {
            "public_folder": self.public_folder,
            "register_folder": self.register_folder,
            "staging_folder": self.staging,
        }
        for inner, outer in (
            ("register_folder", "public_folder"),
            ("public_folder", "register_folder"),
            ("staging_folder", "public_folder"),
            ("staging_folder", "register_folder"),
        ):
            if _within(places[inner], places[outer]):
                raise SpecError(f"{inner} must lie outside {outer}; it lies inside")

    @property
    def staging(self) -> Path:
        """Where a release is put together before it appears, given or by default."""
        return self.staging_folder or self.public_folder.with_name(
            f".{self.public_folder.name}.staging"
        )


class ReleaseSpec(BaseModel):
    """A release: what is released, from which table, how it is protected, judged and published."""

    model_config = STRICT | ConfigDict(title="Whole spec")

    release: Release
    """What is released."""
    source: Source
    """The confidential table."""
    columns: Columns
    """The role of each column."""
    microaggregation: Microaggregation
    """Which method groups the records, and how coarsely."""
    gate: Gate
    """What must hold before anything is published."""
    publication: Publication
    """Where the files go."""
    evaluation: Evaluation = Field(default_factory=Evaluation)
    """How much is spent on measuring."""

    def at(self, time: datetime) -> Self:
        """Settle the period of a run that was due at ``time``, in every place that depends on it.

        Parameters
        ----------
        time : datetime
            With its zone.
        """
        release = self.release
        period = release.period
        if period is None:
            assert release.every is not None
            period = last_full(release.every, time, release.time_zone)
        path = Path(str(self.source.path).replace(PERIOD_MARK, period))
        return self.model_copy(
            update={
                "release": release.model_copy(update={"period": period}),
                "source": self.source.model_copy(update={"path": path}),
            }
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed but likely a mistake."""
        return (*self._columns_apart(), *self._limits_that_refuse_nothing())

    def _columns_apart(self) -> Iterator[str]:
        columns = len(self.columns.quasi_identifiers)
        if self.microaggregation.each_column and columns > 1:
            yield (
                f"each of {columns} quasi-identifiers is grouped on its own, which does not make "
                "their combinations k-anonymous; expect the gate to refuse"
            )

    def _limits_that_refuse_nothing(self) -> Iterator[str]:
        k = self.microaggregation.k
        for kind, limits in (("ceiling", self.gate.ceilings), ("floor", self.gate.floors)):
            for name, limit in limits.all.items():
                measure = MEASURES[name]
                if measure.tolerates_all(limit, k):
                    side = "below" if kind == "ceiling" else "above"
                    yield (
                        f"the {kind} of {limit:g} on {measure.title} can never refuse: with groups "
                        f"of at least k={k} the worst possible value is {measure.worst_at(k):.4g}; "
                        f"set it {side} that"
                    )

    def check_repeatable(self) -> None:
        """See that a release is the same on any machine, however fast it is.

        A spec that is only explored need not be.

        Raises
        ------
        SpecError
            If a budget in seconds would decide what is published; the message names each.
        """
        how = self.microaggregation
        faults = [
            f"microaggregation.{key}.seconds: a release must not depend on the speed of the "
            "machine, and a budget in seconds does: give iterations instead"
            for key in ("options", "ordering_options", "refine")
            if (getattr(how, key) or {}).get("seconds") is not None
        ]
        if self.evaluation.certify_seconds:
            faults += [
                f"gate.ceilings.{measure.name}: a limit must not depend on the speed of the "
                "machine, and evaluation.certify_seconds makes this one depend on it: give "
                "evaluation.bound_rounds instead, or drop the limit"
                for measure in BOUNDS
                if measure.name in self.gate.ceilings.all
            ]
        if faults:
            raise SpecError("\n".join(faults))

    @model_validator(mode="after")
    def _source_is_not_public(self) -> Self:
        if _within(self.source.path, self.publication.public_folder):
            raise SpecError("source.path must lie outside public_folder; it lies inside")
        return self


def _check_measures(names: Iterable[str], better: str, limit: str) -> None:
    """See that limits are of measures that exist and can have such a limit."""
    for name in names:
        if name not in MEASURES:
            near = difflib.get_close_matches(name, MEASURES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`microrelease measures` lists them"
            raise SpecError(f"no measure is called {name!r}; {hint}")
        if MEASURES[name].better != better or name == "k":
            other = (
                "set microaggregation.k" if name == "k" else f"{MEASURES[name].better} is better"
            )
            raise SpecError(f"{name!r} cannot have a {limit}: {other}")


def _check_options(kind: str, name: str, run: Callable[..., Any], options: dict[str, Any]) -> None:
    """Hold options against the signature of the algorithm that would take them."""
    model = options_of(run)
    try:
        model.model_validate(options)
    except ValidationError as error:
        known = ", ".join(model.model_fields) or "none"
        found = "; ".join(faults(error, f"the options of {name!r} are: {known}"))
        raise SpecError(f"options of {kind} {name!r} do not fit: {found}") from None


def _within(path: Path, folder: Path) -> bool:
    """Tell whether a path lies in a folder, wherever links lead."""
    # unlike Path.resolve, this gives an answer for links that lead in a circle, too
    real, outer = (Path(os.path.realpath(each)) for each in (path, folder))
    return real == outer or outer in real.parents


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
