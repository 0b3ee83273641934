"""The measures of one masked file."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algorithms.attributes import WithMissing
from algorithms.comparison import Files, PublishedFiles
from algorithms.errors import ContractError
from algorithms.history import History
from algorithms.measure import Certified, Estimate, Omitted, figure
from algorithms.measures import MEASURES
from algorithms.types import Watch
from algorithms.utility.il import column_losses
from algorithms.utility.labels import label_errors, margin_changes
from algorithms.utility.moments import mean_changes, quantile_changes, variance_ratios
from algorithms.utility.presence import blanked, filled

CLOSE_TO_OPTIMUM = 1.1
"""Ratio to the lower bound below which the distance from the optimum is shown in per cent."""

PUBLIC_MEASURES = frozenset(
    name for name, measure in MEASURES.items() if not measure.needs_original
)
"""Measures that anyone who has the published file can compute."""


@dataclass(frozen=True)
class Evaluation:
    """Utility and risk of a masked file, in figures that may be written to files.

    Figures that were computed from originals are rounded, so that nobody can compute originals from
    figures. Anyone who has the published file can compute the others, so they keep all digits.

    Attributes
    ----------
    measures : dict of str to float
        Every measure that applies, as a figure.
    notes : dict of str to str
        For measures that are estimated, or proven as far as time allowed: how they were computed.
    records, groups : int
        Records, and distinct combinations of published values that are counted into k.
    sizes : dict of int to int
        Number of such combinations by the number of records that share them.
    columns : list of dict
        For each quasi-identifier its IL and, on a number line, the change of its mean and of the
        quantiles that may be shown, in standard deviations, and the ratio of its variances; for
        labels the share of wrong ones and the change of their totals; the shares of filled and of
        blanked values where values may be missing. Empty if only some measures were computed.
    compared : tuple of str, optional
        The earlier releases with which the file was compared; None if persons cannot be followed.
    """

    measures: dict[str, float]
    records: int
    groups: int
    sizes: dict[int, int]
    notes: dict[str, str] = field(default_factory=dict)
    columns: list[dict[str, float]] = field(default_factory=list)
    compared: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        # exact values are in no field, so that code that writes an evaluation writes figures
        self.__dict__["_exact"] = self.measures
        self.__dict__["measures"] = {
            name: value if name in PUBLIC_MEASURES else figure(value)
            for name, value in self.measures.items()
        }

    @property
    def exact(self) -> Mapping[str, float]:
        """The measures with all digits, for the gate only; they must never be written to a file."""
        unrounded: Mapping[str, float] = self.__dict__["_exact"]
        return unrounded

    def __str__(self) -> str:
        measures = self.measures
        return (
            f"IL {measures['il']:.4f} % ({measures['rounding']:.4f} by rounding), DLD "
            f"{measures['dld']:.4f} %, {self.groups} groups of at least {measures['k']:.0f} among "
            f"{self.records} records"
        )

    @property
    def certificate(self) -> str:
        """A sentence that compares IL with its lower bound."""
        measures = self.measures
        loss = f"this file loses {measures['il']:.4f} %"
        if measures["rounding"]:
            loss += f" (of which rounding accounts for {measures['rounding']:.4f} points)"
        if "il_over_bound" not in measures:
            why = self.notes.get("il_bound", "")
            return f"{loss}; {why.removeprefix('Left out: ')}" if why else loss
        ratio = measures["il_over_bound"]
        near = (
            f"within {100.0 * (ratio - 1.0):.2f} % of the optimum"
            if ratio < CLOSE_TO_OPTIMUM
            else f"at most {ratio:.2f} times the optimum"
        )
        proof = self.notes.get("il_bound", "")
        proven = f" (proven {proof.removeprefix('Proven: ')})" if proof else ""
        least = f"no method could lose less than {measures['il_bound']:.4f} %{proven}"
        return f"{least}; {loss}, {near}"


def evaluate(
    files: Files,
    names: Collection[str] | None = None,
    options: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Evaluation:
    """Measure a masked file.

    Parameters
    ----------
    files : Files
        Records before and after.
    names : collection of str, optional
        Measures to compute; by default all that apply.
    options : mapping, optional
        Options of measures, by name; each measure receives the options that it takes.
    watch : callable, optional
        Called after each measure with the number of measures and the share of all that are done.

    Raises
    ------
    ContractError
        If no measure takes an option.

    Examples
    --------
    >>> original, published = np.array([1.0, 3.0, 7.0, 9.0]), np.array([2.0, 2.0, 8.0, 8.0])
    >>> print(evaluate(compare([original], [published], k=2)))
    IL 10.0000 % (0.0000 by rounding), DLD 100.0000 %, 2 groups of at least 2 among 4 records
    """
    known = {option for measure in MEASURES.values() for option in measure.options}
    unknown = sorted(set(options or {}) - known)
    if unknown:
        raise ContractError(f"every option must belong to a measure; unknown: {', '.join(unknown)}")
    measures: dict[str, float] = {}
    notes: dict[str, str] = {}
    chosen = [name for name in MEASURES if names is None or name in names]
    for done, name in enumerate(chosen, start=1):
        measure = MEASURES[name]
        own = {
            option: value for option, value in (options or {}).items() if option in measure.options
        }
        side = files if measure.needs_original else files.released
        value = measure.run(side, **own)
        if isinstance(value, Estimate | Certified):
            measures[name], notes[name] = value.value, value.note
        elif isinstance(value, Omitted):
            notes[name] = value.note
        elif value is not None:
            measures[name] = value
        if watch is not None:
            watch(done, done / len(chosen))
    sizes, counts = np.unique(files.sizes, return_counts=True)
    return Evaluation(
        measures=measures,
        records=files.rows,
        groups=files.sizes.size,
        sizes=dict(zip(sizes.tolist(), counts.tolist(), strict=True)),
        notes=notes,
        columns=_columns(files) if names is None else [],
        compared=_editions(files.history),
    )


def _editions(history: History | None) -> tuple[str, ...] | None:
    return None if history is None else tuple(past.edition for past in history.past)


def evaluate_released(files: PublishedFiles) -> dict[str, float]:
    """Compute the measures that need no original, as anyone who has the published file can.

    Examples
    --------
    >>> column = np.array([2.0, 2.0, 8.0, 8.0])
    >>> evaluate_released(compare([column], [column], k=2).released)
    {'k': 2.0, 'below_k': 0.0, 'reidentified_random': 50.0}
    """
    values = {name: MEASURES[name].run(files) for name in MEASURES if name in PUBLIC_MEASURES}
    return {name: value for name, value in values.items() if isinstance(value, float)}


def _columns(files: Files) -> list[dict[str, float]]:
    """Describe the changes of each key column, by its kind."""
    means, ratios, quantiles = mean_changes(files), variance_ratios(files), quantile_changes(files)
    losses, errors, changes = column_losses(files), label_errors(files), margin_changes(files)
    columns: list[dict[str, float]] = []
    line = 0
    for j, attribute in enumerate(files.original.attributes):
        column = {"il": figure(losses[j])}
        if isinstance(attribute, WithMissing):
            column |= {"filled": figure(filled(files, j)), "blanked": figure(blanked(files, j))}
        if attribute.has_line:
            column |= {
                "mean_change": figure(float(means[line])),
                "variance_ratio": figure(float(ratios[line])),
                **{
                    f"quantile_{percent}_change": figure(float(changed[line]))
                    for percent, changed in quantiles.items()
                },
            }
            line += 1
        else:
            column |= {
                "label_error": figure(errors[j]),
                "margin_change": figure(changes[j]),
            }
        columns.append(column)
    return columns
