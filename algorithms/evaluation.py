"""The measures of one masked file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from algorithms.comparison import Codes, Comparison
from algorithms.measure import Estimate
from algorithms.measures import MEASURES
from algorithms.types import Matrix
from algorithms.utility.moments import SHARES, mean_changes, quantile_changes, variance_ratios

NEAR = 1.1
"""Ratio to the proven least below which the distance from the optimum is told in per cent."""


@dataclass(frozen=True)
class Evaluation:
    """What a masked file lost, and what an attacker could still learn.

    Attributes
    ----------
    measures : dict of str to float
        Every measure that applies.
    notes : dict of str to str
        How measures were found that are not exact.
    records, groups : int
        Records, and distinct combinations of published quasi-identifiers.
    sizes : dict of int to int
        How many such combinations stand in so many records.
    columns : list of dict
        For each quasi-identifier the change of its mean and of its quantiles, in standard
        deviations, and the ratio of its variances.
    """

    measures: dict[str, float]
    records: int
    groups: int
    sizes: dict[int, int]
    notes: dict[str, str] = field(default_factory=dict)
    columns: list[dict[str, float]] = field(default_factory=list)

    def __str__(self) -> str:
        found = self.measures
        return (
            f"IL {found['il']:.4f} % ({found['rounding']:.4f} by rounding), DLD "
            f"{found['dld']:.4f} %, {self.groups} groups of at least {found['k']:.0f} among "
            f"{self.records} records"
        )

    @property
    def certificate(self) -> str:
        """How much better any method could do, in words."""
        found = self.measures
        rounding = f"; rounding averages makes {found['rounding']:.4f} of it"
        said = f"this file loses {found['il']:.4f} %"
        if "il_over_bound" not in found:
            return said + (rounding if found["rounding"] else "")
        ratio = found["il_over_bound"]
        near = (
            f"within {100.0 * (ratio - 1.0):.2f} % of the optimum"
            if ratio < NEAR
            else f"at most {ratio:.2f} times the optimum"
        )
        return f"no method could lose less than {found['il_bound']:.4f} %; {said}, {near}" + (
            rounding if found["rounding"] else ""
        )


def evaluate(files: Comparison) -> Evaluation:
    """Measure everything that applies.

    Examples
    --------
    >>> original = np.array([[1.0], [3.0], [7.0], [9.0]])
    >>> published = np.array([[2.0], [2.0], [8.0], [8.0]])
    >>> print(evaluate(Comparison(original, published, published, k=2)))
    IL 10.0000 % (0.0000 by rounding), DLD 100.0000 %, 2 groups of at least 2 among 4 records
    """
    measures: dict[str, float] = {}
    notes: dict[str, str] = {}
    for name, measure in MEASURES.items():
        found = measure.run(files)
        if isinstance(found, Estimate):
            measures[name], notes[name] = found.value, found.how
        elif found is not None:
            measures[name] = found
    sizes, how_many = np.unique(files.sizes, return_counts=True)
    return Evaluation(
        measures=measures,
        records=len(files.published),
        groups=files.sizes.size,
        sizes=dict(zip(sizes.tolist(), how_many.tolist(), strict=True)),
        notes=notes,
        columns=_columns(files),
    )


def evaluate_published(
    published: Matrix, k: int, confidential: Mapping[str, Codes]
) -> dict[str, float]:
    """Measure what needs no original, as anyone can who has the published file.

    Examples
    --------
    >>> evaluate_published(np.array([[2.0], [2.0], [8.0], [8.0]]), 2, {})
    {'k': 2.0, 'below_k': 0.0, 'reidentified_random': 50.0}
    """
    files = Comparison(published, published, published, k, confidential)
    found = {
        name: measure.run(files) for name, measure in MEASURES.items() if not measure.needs_original
    }
    return {name: value for name, value in found.items() if isinstance(value, float)}


def _columns(files: Comparison) -> list[dict[str, float]]:
    means, ratios, quantiles = mean_changes(files), variance_ratios(files), quantile_changes(files)
    return [
        {
            "mean_change": float(means[j]),
            "variance_ratio": float(ratios[j]),
            **{
                f"quantile_{100 * share:.0f}_change": float(quantiles[i, j])
                for i, share in enumerate(SHARES)
            },
        }
        for j in range(len(means))
    ]
