"""Masks a data frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from algorithms import masked as groups
from algorithms.comparison import Comparison
from algorithms.errors import ContractError, SpecError
from algorithms.evaluation import Evaluation
from algorithms.measures import MEASURES
from algorithms.profile import profile
from expectations.data_warnings import masking_warnings, table_warnings
from expectations.request.spec import ReleaseSpec
from expectations.tables import arrow_of
from microrelease.frames import Frame, to_arrow, updated
from microrelease.requests import NOTHING, ROW, read_frame, request
from tasks.pipeline import mask_and_measure, plainly
from tasks.stage import guarded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Certificate:
    """How much better any method could do.

    Attributes
    ----------
    lower_bound : float, optional
        IL in per cent below which no method can go; None if none was computed.
    ratio : float, optional
        IL of this table divided by the lower bound; None if there is none.
    sentence : str
        The same in words or, without a bound, the reason.
    """

    lower_bound: float | None
    ratio: float | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False, repr=False)
class Masked:
    """A masked table, with its measures.

    It cannot be pickled, because it keeps originals for `plot`: write `frame` to a file instead.

    Attributes
    ----------
    frame : Frame
        The masked table, of the same library as the original. Rows and columns keep the order of
        the original, and a pandas frame the index of the rows that are left; published files are
        sorted by their content instead. Columns that are published unchanged keep their types.
        Key columns hold what a published file would: numbers, and text for labels and dates.
    measures : mapping of str to float
        All measures that apply, by name; `microrelease measures` explains them.
    certificate : Certificate
        A lower bound on the IL of any method, and how close this table comes to it.
    k : int
        Smallest number of records that share all values that an attacker may know, or of units, if
        the table has units. It is counted, and never below the k that was asked for.
    withheld : int
        Number of records that are left out because their stratum is too small.
    warnings : tuple of str
        Likely mistakes.
    """

    frame: Frame
    measures: Mapping[str, float]
    certificate: Certificate
    k: int
    withheld: int
    warnings: tuple[str, ...]
    _evaluation: Evaluation = field()
    _masked: groups.Masked = field()

    def __repr__(self) -> str:
        evaluation, units = self._evaluation, self._masked.original.units
        lines = [
            f"Masked: {evaluation.records} records in {evaluation.groups} groups, "
            f"k = {self.k}{'' if units is None else ' units'}",
            *(
                f"  {MEASURES[name].title:<34} {self.measures[name]:10.4f} {MEASURES[name].unit}"
                for name in ("il", "dld", "category_error", "one_value")
                if name in self.measures
            ),
            f"  {self.certificate}",
            *([f"  withheld: {self.withheld} records"] if self.withheld else []),
            *(f"  warning: {warning}" for warning in self.warnings),
        ]
        return "\n".join(lines)

    def plot(self, column: str | None = None) -> "Figure":
        """Draw what masking did; no picture shows a value of fewer than k records.

        Parameters
        ----------
        column : str, optional
            A key column, to be drawn before and after. By default the IL of every key column and
            the sizes of the groups are drawn.

        Raises
        ------
        SpecError
            If no key column has this name, or it has too few different values for a picture.
        """
        # matplotlib takes a while to import, and only this needs it
        from tasks.reporting.pictures import density, overview, totals

        names = [attribute.name for attribute in self._masked.original.attributes]
        if column is None:
            losses = [each["il"] for each in self._evaluation.columns]
            return overview(dict(zip(names, losses, strict=True)), self._evaluation.sizes)
        drawn = profile(Comparison(self._masked))
        for number in drawn.columns:
            if number.name == column and number.drawn:
                return density(number)
        for label in drawn.labels:
            if label.name == column:
                return totals(label)
        listed = ", ".join(map(repr, names))
        raise SpecError(
            f"column must be a key column with enough different values for a picture; {column!r} "
            f"is not: choose among {listed}"
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "a Masked must not be written to a file, because it keeps originals for its pictures: "
            "write its frame instead"
        )


def mask(
    frame: Frame,
    k: int = 5,
    quasi_identifiers: Sequence[str] = (),
    method: str = "best",
    *,
    categories: Sequence[str] = (),
    ordered: Mapping[str, Sequence[str]] = NOTHING,
    hierarchies: Mapping[str, Mapping[str, Any]] = NOTHING,
    dates: Mapping[str, str] = NOTHING,
    integers: Sequence[str] = (),
    decimals: Mapping[str, int | str] = NOTHING,
    strata: Sequence[str] = (),
    unit: str | None = None,
    weight: str | None = None,
    confidential: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    missing: Mapping[str, str] = NOTHING,
    published: Mapping[str, str] = NOTHING,
    importance: Mapping[str, float] = NOTHING,
    options: Mapping[str, Any] = NOTHING,
    small_strata: str = "block",
    ordering: str | None = None,
    ordering_options: Mapping[str, Any] = NOTHING,
    refine: Mapping[str, Any] | None = None,
    recut: bool = False,
    blocks: Mapping[str, int] | None = None,
    bound_rounds: int = 0,
    certify_seconds: float = 0.0,
) -> Masked:
    """Mask a data frame, and measure the result as a release would.

    Every column must have one role, as in a spec: a key (``quasi_identifiers``), ``strata``,
    ``weight``, ``confidential``, ``unit`` or ``identifiers``. A column without a role is an error,
    so that it cannot leak by accident. The same data and the same choices give the values that a
    release by a spec file publishes.

    This function judges nothing and publishes nothing: there is no gate, no register and no
    verified folder. `Release` has those.

    Parameters
    ----------
    frame : Frame
        A pandas.DataFrame, a pyarrow.Table, a polars.DataFrame or another table that offers Arrow's
        ``__arrow_c_stream__``.
    k : int
        Smallest group: each published combination of keys, strata and weight belongs to at least
        this many records, or units.
    quasi_identifiers : sequence of str
        The key columns: masked. A number unless one of the next arguments says otherwise.
    method : str
        How records are grouped; `microrelease methods` lists the methods.
    categories : sequence of str
        Keys that hold labels without order.
    ordered : mapping of str to sequence of str
        Keys that hold levels, and all levels, the lowest first.
    hierarchies : mapping of str to mapping
        Keys that hold codes in a tree, as ``{"sector": {"prefixes": [1]}}`` or ``{"sector":
        {"file": "sectors.csv"}}``; strata that may be merged along one.
    dates : mapping of str to {"day", "month", "year"}
        Keys that hold dates, and what is published of them.
    integers : sequence of str
        Keys that are whole numbers and stay whole.
    decimals : mapping of str to int or "all"
        Number of published decimals; by default as many as the frame has.
    strata : sequence of str
        Columns that stay unchanged, and that no group crosses.
    unit : str, optional
        The person, household or company to which several records may belong; k then counts these.
    weight : str, optional
        Sampling weight; the result holds its average in each group.
    confidential : sequence of str
        Columns that stay unchanged and do not count into k: attackers are held not to know them.
    identifiers : sequence of str
        Columns that are left out; unique and never missing.
    missing : mapping of str to {"refuse", "state", "blank", "fill", "apart"}
        Treatment of missing values of a key; by default they are refused.
    published : mapping of str to str
        What a group publishes of labels ("mode", "majority", "calibrated") or codes ("nearest",
        "leaf", "common").
    importance : mapping of str to float
        How much a key weighs in distances; by default 1.
    options : mapping of str to object
        Options of the method, such as ``{"iterations": 10_000}`` or ``{"seconds": 5.0}`` for
        ``best``.
    small_strata : {"block", "withhold", "merge"}
        What happens to strata of fewer than k records.
    ordering, ordering_options : str and mapping, optional
        Path for a method that cuts one.
    refine : mapping, optional
        Improve the groups by the search of ``best``, with its options.
    recut : bool
        Cut the groups again along the path through them.
    blocks : mapping, optional
        Cut sets of more than ``rows`` records into blocks that are grouped one by one, and mend
        their borders in ``seams`` rounds, as ``{"rows": 40_000, "seams": 1}``; by default only
        tables of more than 2,000,000 records are cut.
    bound_rounds, certify_seconds : int and float
        Work spent on a stronger lower bound, for the certificate.

    Returns
    -------
    Masked

    Raises
    ------
    SpecError
        If the arguments do not fit together; the message names them by their path in a spec.
    DataError
        If the frame breaks a rule, with the sentence that the command line gives.
    RefusedError
        If strata are too small.

    Examples
    --------
    >>> from microrelease import example
    >>> frame = example(rows=300)[["company", "sector", "employees", "profit"]]
    >>> masked = mask(
    ...     frame,
    ...     k=5,
    ...     quasi_identifiers=["sector", "employees"],
    ...     hierarchies={"sector": {"prefixes": [1]}},
    ...     integers=["employees"],
    ...     confidential=["profit"],
    ...     identifiers=["company"],
    ...     method="mdav",
    ... )
    >>> masked.frame.columns.to_list()
    ['sector', 'employees', 'profit']
    >>> sizes = masked.frame.groupby(["sector", "employees"]).size()
    >>> bool(sizes.min() >= 5)
    True
    >>> round(masked.measures["il"], 1)
    21.0
    """
    spec = request(
        columns={
            "quasi_identifiers": quasi_identifiers,
            "categories": categories,
            "ordered": ordered,
            "hierarchies": hierarchies,
            "dates": dates,
            "integers": integers,
            "decimals": decimals,
            "strata": strata,
            "unit": unit,
            "weight": weight,
            "confidential": confidential,
            "identifiers": identifiers,
            "missing": missing,
            "published": published,
            "importance": importance,
        },
        microaggregation={
            "method": method,
            "k": k,
            "options": options,
            "small_strata": small_strata,
            "ordering": ordering,
            "ordering_options": ordering_options,
            "refine": refine,
            "recut": recut,
            "blocks": blocks,
        },
        evaluation={"bound_rounds": bound_rounds, "certify_seconds": certify_seconds},
    )
    return guarded("mask", _mask)(frame, spec)


def _mask(frame: Frame, spec: ReleaseSpec) -> Masked:
    columns, k = spec.columns, spec.microaggregation.k
    original = to_arrow(frame)
    table = read_frame(original, spec)
    files, evaluation = mask_and_measure(table, spec, plainly)
    masked = files.masked
    rows = np.asarray(masked.published.carried[ROW])
    unchanged = [name for name in columns.untouched if name not in _merged(masked)]
    names = [name for name in original.column_names if name in columns.public]
    measures = evaluation.measures
    counted = int(measures.get("k_units", measures["k"]))
    if counted < k:
        raise ContractError(f"each combination must have at least k={k} records; one has {counted}")
    return Masked(
        frame=updated(frame, original, arrow_of(masked.published, columns, names), rows, unchanged),
        measures=MappingProxyType(measures),
        certificate=Certificate(
            measures.get("il_bound"), measures.get("il_over_bound"), evaluation.certificate
        ),
        k=counted,
        withheld=0 if masked.withheld is None else len(masked.withheld),
        warnings=(*table_warnings(table, k), *masking_warnings(masked)),
        _evaluation=evaluation,
        _masked=masked,
    )


def _merged(masked: groups.Masked) -> set[str]:
    """Name the strata of which some are published as wider ones."""
    strata = masked.published.strata if masked.merged else ()
    return {stratum.name for stratum in strata if stratum.tree is not None}
