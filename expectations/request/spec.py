"""The spec: one reviewed YAML file holds everything that changes a result."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from algorithms.errors import SpecError
from algorithms.masking import Plan
from algorithms.measures import MEASURES
from algorithms.utility.certificate import MEASURES as BOUNDS
from expectations.request.faults import DATABASE_SOURCE, FILE_SOURCE
from expectations.request.fields import STRICT
from expectations.request.limits import LOSES_ALL
from expectations.request.periods import last_full
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.compute import ComputeSection
from expectations.request.sections.database import DatabaseSection
from expectations.request.sections.evaluation import EvaluationSection
from expectations.request.sections.gate import GateSection
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.sections.publication import PublicationSection, lies_within
from expectations.request.sections.release import ReleaseSection
from expectations.request.sections.series import LASTING, SeriesSection
from expectations.request.sections.source import SourceSection
from expectations.request.series_rules import (
    ceilings_to_give,
    mandatory_ceilings,
    series_faults,
    series_warnings,
)

PERIOD_MARK = "{period}"
"""Stands in a path for the period of the run."""
ADDRESS = "://"
"""Marks the address of a database, which may hold a password."""


def _kind_of_source(source: Any) -> str:
    keys = source if isinstance(source, dict) else ()
    is_database = isinstance(source, DatabaseSection) or "database" in keys or "query" in keys
    return DATABASE_SOURCE if is_database else FILE_SOURCE


Source = Annotated[
    Annotated[SourceSection, Tag(FILE_SOURCE)] | Annotated[DatabaseSection, Tag(DATABASE_SOURCE)],
    Discriminator(_kind_of_source),
]


class ReleaseSpec(BaseModel):
    """A release: its table, and how that is protected, judged and published."""

    model_config = STRICT | ConfigDict(title="Whole spec")

    release: ReleaseSection
    """The dataset and its period."""
    source: Source
    """The confidential table: a file, or a query on a database."""
    columns: ColumnsSection
    """The role of each column."""
    microaggregation: MicroaggregationSection
    """The method that groups the records, and the size of the groups."""
    series: SeriesSection | None = None
    """How the release is protected together with earlier ones; a spec without it compares them, and
    only warns."""
    gate: GateSection = Field(default_factory=GateSection)
    """The conditions under which a release is published."""
    publication: PublicationSection
    """Where the files go."""
    evaluation: EvaluationSection = Field(default_factory=EvaluationSection)
    """How much work is spent on measuring."""
    compute: ComputeSection = Field(default_factory=ComputeSection)
    """Where the work is done; no choice there changes a result."""

    def at(self, time: datetime) -> Self:
        """Fill in the period of a run that was due at ``time``, wherever the spec depends on it.

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
        source = self.source
        if isinstance(source, SourceSection):
            path = Path(str(source.path).replace(PERIOD_MARK, period))
            source = source.model_copy(update={"path": path})
        return self.model_copy(
            update={"release": release.model_copy(update={"period": period}), "source": source}
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Choices that are allowed but likely mistakes."""
        return (
            *self._columns_apart(),
            *self._ceilings_to_come(),
            *self._limits_that_refuse_nothing(),
            *series_warnings(self.series),
        )

    def _columns_apart(self) -> Iterator[str]:
        columns = len(self.columns.quasi_identifiers)
        if self.microaggregation.each_column and columns > 1:
            yield (
                f"each of {columns} quasi-identifiers is grouped on its own, which does not make "
                "their combinations k-anonymous; expect the gate to refuse"
            )

    def _ceilings_to_come(self) -> Iterator[str]:
        missing = ceilings_to_give(self.gate, self.series)
        if missing:
            yield (
                f"gate.ceilings gives no {' and no '.join(missing)}, so the spec can be checked "
                "and explored, and nothing can be released by it yet"
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
        il = self.gate.ceilings.il
        if il is not None and il >= LOSES_ALL:
            yield (
                f"the ceiling of {il:g} on IL refuses hardly anything: IL has no worst possible "
                f"value, and a file that loses {LOSES_ALL:g} % is no better than publishing the "
                "mean of each column; set it well below that"
            )

    def check_releasable(self) -> None:
        """Check that the spec gives the ceilings without which nothing is released.

        A spec that is only checked or explored need not give them.

        Raises
        ------
        SpecError
            If the ceiling of IL, that of DLD or, for cohorts, that of muted records is missing.
        """
        missing, needed = ceilings_to_give(self.gate, self.series), mandatory_ceilings(self.series)
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            found = (
                f"{' and '.join(missing)} {verb} missing"
                if len(missing) < len(needed)
                else "none are given"
            )
            raise SpecError(
                f"gate.ceilings must give {' and '.join(needed)} before anything can be "
                f"released; {found}: `microrelease explore SPEC` proposes ceilings"
            )

    def check_reason(self) -> None:
        """Check that a revision says why it is published.

        Candidates that older versions sealed do not, so that reading a spec does not ask for it.

        Raises
        ------
        SpecError
            If the reason is missing.
        """
        if self.release.revision and self.release.reason is None:
            raise SpecError(
                "release.reason: a revision must say why the period is published again; it is "
                "missing: give the reason beside the revision"
            )

    def check_repeatable(self) -> None:
        """Check that a release is the same on any machine, however fast it is.

        A spec that is only explored need not be.

        Raises
        ------
        SpecError
            If a budget in seconds would change the published files; the message names each.
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

    @property
    def follows_persons(self) -> bool:
        """Whether persons can be followed from release to release."""
        lasting = self.series is None or self.series.persons == LASTING
        return bool(self.columns.identifiers) and lasting

    @property
    def plan(self) -> Plan:
        """The plan of the masking."""
        return replace(
            self.microaggregation.plan,
            weight_published=self.columns.weight_published,
            cohorts=None if self.series is None else self.series.cohorts,
        )

    @field_validator("source", mode="before")
    @classmethod
    def _is_one_source_without_address(cls, source: Any) -> Any:
        if any(ADDRESS in text for text in _texts(source)):
            raise SpecError(
                f"must not hold an address ({ADDRESS}), which may hold a password; it does (it is "
                "not shown): name a connection in source.database instead"
            )
        if isinstance(source, dict) and {"path", "database"} <= set(source):
            raise SpecError("must be a file (path) or a database; both are given: leave one out")
        return source

    @model_validator(mode="after")
    def _strata_fit(self) -> Self:
        small, columns = self.microaggregation.small_strata, self.columns
        apart = [name for name, policy in columns.missing.items() if policy == "apart"]
        if small != "block" and not columns.strata and not apart:
            raise SpecError(
                f"microaggregation.small_strata: {small} is about strata, or missing values that "
                "stay apart; columns names none"
            )
        if small == "withhold" and "withheld" not in self.gate.ceilings.all:
            raise SpecError(
                "gate.ceilings.withheld: must be given where small strata are withheld, as the "
                "largest share of records that may be left out, in per cent; it is missing"
            )
        if small == "merge" and not set(columns.strata) & set(columns.hierarchies):
            raise SpecError(
                "microaggregation.small_strata: merge needs a hierarchy of a stratum in "
                "columns.hierarchies; there is none"
            )
        if small == "merge" and self.microaggregation.each_column:
            raise SpecError(
                "microaggregation: each_column and small_strata: merge exclude each other"
            )
        return self

    @model_validator(mode="after")
    def _gap_is_proven(self) -> Self:
        columns, how = self.columns, self.microaggregation
        if how.plan.gap is None:
            return self
        reasons = {
            "no bound is proven for records with weights (columns.weight)": columns.weight,
            "no bound is proven for records that are grouped in blocks": how.blocks,
            "calibrated labels (columns.published) are chosen after the search": (
                "calibrated" in columns.published.values()
            ),
            "cohorts (series.method) change the groups after the search": (
                self.series is not None and self.series.cohorts
            ),
            "recut changes the groups after the search": how.recut and how.plan.method.searches,
        }
        found = [words for words, applies in reasons.items() if applies]
        if found:
            key = "options" if how.plan.method.searches else "refine"
            raise SpecError(
                f"microaggregation.{key}.gap: stops a search whose groups are proven to be close "
                f"to the optimum; {', and '.join(found)}: drop gap, and give iterations instead"
            )
        return self

    @model_validator(mode="after")
    def _series_fits(self) -> Self:
        faults = list(series_faults(self.series, self.columns, self.microaggregation, self.gate))
        if faults:
            raise SpecError("\n".join(faults))
        return self

    @model_validator(mode="after")
    def _source_names_columns(self) -> Self:
        source = self.source
        if not isinstance(source, SourceSection):
            return self
        for key, names in (("codes", source.codes), ("missing_codes", tuple(source.missing_codes))):
            strays = [name for name in names if name not in self.columns.all]
            if strays:
                raise SpecError(
                    f"source.{key} must be about columns that have a role; these have none: "
                    f"{', '.join(map(repr, strays))}"
                )
        return self

    @model_validator(mode="after")
    def _source_is_not_public(self) -> Self:
        source = self.source
        if isinstance(source, SourceSection) and lies_within(
            source.path, self.publication.public_folder
        ):
            raise SpecError(
                "source.path must lie outside public_folder; it lies inside: move the file"
            )
        return self

    @model_validator(mode="after")
    def _scratch_is_not_public(self) -> Self:
        scratch, publication = self.compute.scratch_folder, self.publication
        for name in ("public_folder", "register_folder", "staging"):
            if scratch is not None and lies_within(scratch, getattr(publication, name)):
                key = "staging_folder" if name == "staging" else name
                raise SpecError(
                    f"compute.scratch_folder must lie outside {key}; it lies inside: choose another"
                )
        return self


def _texts(part: Any) -> Iterator[str]:
    """Go through the keys and values of a section, except for the text of its query."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _texts(key)
            if key != "query_text":
                yield from _texts(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _texts(value)
    elif isinstance(part, str):
        yield part
