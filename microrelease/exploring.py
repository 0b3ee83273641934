"""Tries methods, paths and k on a data frame."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import pyarrow as pa

from algorithms.errors import SpecError
from algorithms.microaggregation import METHODS
from algorithms.table import Table
from algorithms.utility.bound_curve import BoundCurve, ks_between
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec import ReleaseSpec
from microrelease.frames import Frame, like, to_arrow
from microrelease.requests import NOTHING, read_frame, request
from tasks.bound import bound
from tasks.explore.cell import (
    KS_TRIED,
    ORDERINGS_TRIED,
    Cell,
    best,
    bounded,
    choices,
    fitted,
    proven,
)
from tasks.explore.recommendation import recommendation
from tasks.explore.table import rows_of
from tasks.explore.workers import working
from tasks.stage import guarded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Columns(TypedDict, total=False):
    """Roles and kinds of columns, as `mask` takes them."""

    categories: Sequence[str]
    ordered: Mapping[str, Sequence[str]]
    hierarchies: Mapping[str, Mapping[str, Any]]
    dates: Mapping[str, str]
    integers: Sequence[str]
    decimals: Mapping[str, int | str]
    strata: Sequence[str]
    unit: str | None
    weight: str | None
    confidential: Sequence[str]
    identifiers: Sequence[str]
    missing: Mapping[str, str]
    published: Mapping[str, str]
    importance: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """Choices of method, path and k, with their measures.

    Attributes
    ----------
    table : Frame
        One row per choice, of the library of the frame that was explored. ``k`` is the requested
        group size, ``k_found`` the smallest group, ``least_il`` the least possible IL at that k,
        ``gap`` how far the choice is above the optimum at most, in per cent, and ``fault`` the
        reason if it was not measured.
    recommendation : str
        The choice to use, with reasons and with everything that was not tried.
    choice : dict
        The recommended choice as arguments of `mask`; empty if there is none.
    """

    table: Frame
    recommendation: str
    choice: dict[str, Any]
    _cells: tuple[Cell, ...] = field()
    _spec: ReleaseSpec = field()
    _curve: BoundCurve = field()

    @classmethod
    def of(
        cls,
        cells: tuple[Cell, ...],
        spec: ReleaseSpec,
        frame: Frame,
        words: str,
        curve: BoundCurve,
    ) -> Self:
        """Make an exploration of cells, with a table like ``frame``."""
        chosen = best(cells)
        choice = {} if chosen is None else chosen.released.model_dump(exclude_defaults=True)
        return cls(_table(frame, cells), words, choice, cells, spec, curve)

    def __repr__(self) -> str:
        measured = sum(cell.evaluation is not None for cell in self._cells)
        return f"Exploration: {measured} of {len(self._cells)} choices measured\n" + (
            f"  {self.recommendation}"
        )

    @property
    def figure(self) -> "Figure":
        """The risk-utility map."""
        return self.plot()

    def plot(self, kind: Literal["map", "il_by_k"] = "map") -> "Figure":
        """Draw IL against DLD, or IL against k.

        Parameters
        ----------
        kind : {"map", "il_by_k"}
            The risk-utility map with the Pareto front, or a curve of IL by k for each method above
            what no method can reach.

        Raises
        ------
        SpecError
            If it is neither.
        """
        # matplotlib takes a while to import, and only this needs it
        from tasks.explore.pictures import loss_by_k, risk_utility_map

        if kind not in ("map", "il_by_k"):
            raise SpecError(f"kind must be 'map' or 'il_by_k'; got {kind!r}")
        if kind == "map":
            return risk_utility_map(self._cells, self._spec)
        return loss_by_k(self._cells, self._spec, self._curve)


def explore(
    frame: Frame,
    k: int = 5,
    quasi_identifiers: Sequence[str] = (),
    *,
    methods: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    seconds: float = 60.0,
    orderings: Sequence[str] = ORDERINGS_TRIED,
    workers: int = 2,
    ceilings: Mapping[str, float] = NOTHING,
    floors: Mapping[str, float] = NOTHING,
    small_strata: str = "block",
    **columns: Unpack[Columns],
) -> Exploration:
    """Try methods, paths and k on a data frame, and measure each as a release would.

    Parameters
    ----------
    frame : Frame
        As `mask` takes it.
    k : int
        Smallest k that is recommended.
    quasi_identifiers : sequence of str
        The key columns.
    methods : sequence of str, optional
        Methods to try; by default all.
    ks : sequence of int, optional
        Group sizes; by default ``k`` and the larger ones among 2, 3, 4, 5, 7, 10 and 15. One that
        is smaller than ``k`` is drawn and never recommended.
    seconds : float
        The most that one choice may take; compiling does not count.
    orderings : sequence of str
        Paths for the methods that cut one.
    workers : int
        Choices that are tried at the same time, each in a process of its own.
    ceilings, floors : mapping of str to float
        Limits of measures, such as ``{"il": 20.0, "dld": 35.0}``; only choices that meet them are
        recommended.
    small_strata : {"block", "withhold", "merge"}
        What happens to strata of fewer than k records.
    **columns
        Roles and kinds of columns, as `mask` takes them.

    Raises
    ------
    SpecError, DataError
        As `mask` does. A choice that fails or takes too long does not stop the others.

    Examples
    --------
    >>> from microrelease import example
    >>> found = explore(
    ...     example(rows=200)[["employees", "turnover"]],
    ...     quasi_identifiers=["employees", "turnover"],
    ...     methods=["mdav"],
    ...     ks=[5, 10],
    ...     workers=1,
    ... )
    >>> found.table[["method", "k", "admissible"]]
      method   k  admissible
    0   mdav   5        True
    1   mdav  10        True
    >>> found.choice
    {'method': 'mdav', 'k': 5}
    """
    how = {"method": "mdav", "k": k, "small_strata": small_strata}
    spec = request(
        {"quasi_identifiers": quasi_identifiers, **columns},
        how,
        {"ceilings": ceilings, "floors": floors},
    )
    trial = Trial(methods, ks, seconds, orderings, workers)
    wanted = trial.choices(spec)
    table = guarded("explore", lambda: read_frame(to_arrow(frame), spec))()
    cells, curve = guarded("explore", trial.run)(table, spec, wanted)
    chosen = best(cells)
    # a recommendation compares with the choice of the spec, and this one is nobody's
    own = spec.microaggregation if chosen is None else chosen.choice
    words = recommendation(cells, spec.model_copy(update={"microaggregation": own}))
    return Exploration.of(cells, spec, frame, words, curve)


@dataclass(frozen=True)
class Trial:
    """What is tried on a table, and how long; `explore` documents each part."""

    methods: Sequence[str] | None = None
    ks: Sequence[int] | None = None
    seconds: float = 60.0
    orderings: Sequence[str] = ORDERINGS_TRIED
    workers: int = 2

    def __post_init__(self) -> None:
        if not self.seconds > 0.0 or self.workers < 1:
            raise SpecError(
                "seconds must be above 0, and workers at least 1; got "
                f"{self.seconds} and {self.workers}"
            )

    def choices(self, spec: ReleaseSpec) -> list[MicroaggregationSection]:
        """List what is tried; by default all methods, with the k of the spec and larger ones."""
        least = spec.microaggregation.k
        methods = list(METHODS) if self.methods is None else self.methods
        ks = [least, *(k for k in KS_TRIED if k > least)] if self.ks is None else self.ks
        return choices(spec, methods, self.orderings, ks)

    def run(
        self, table: Table, spec: ReleaseSpec, wanted: Sequence[MicroaggregationSection]
    ) -> tuple[tuple[Cell, ...], BoundCurve]:
        """Try each choice in a process of its own, and bound the loss of any method by k."""
        fitting = [fitted(choice, spec, len(table), self.seconds) for choice in wanted]
        with (
            working((table, spec), min(self.workers, len(fitting)), self.seconds) as processes,
            ThreadPoolExecutor(self.workers) as threads,
        ):
            cells = tuple(threads.map(processes.run, fitting))
        ks = ks_between(choice.k for choice in wanted)
        curve = bound.fn(table, spec, ks, proven(cells))
        return bounded(cells, curve), curve


def _table(frame: Frame, cells: Sequence[Cell]) -> Frame:
    """Write the choices as a frame; a cell without a figure is missing."""
    rows = [
        {name: None if value == "" else value for name, value in row.items()}
        for row in rows_of(cells)
    ]
    return like(frame, pa.Table.from_pylist(rows))
