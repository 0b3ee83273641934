"""Disclosure of confidential values by a group: l-diversity and t-closeness."""

from collections.abc import Callable
from functools import partial

import numpy as np

from algorithms.comparison import PublishedFiles
from algorithms.jit import kernel
from algorithms.measure import Measure
from algorithms.table import Codes, combinations
from algorithms.types import Integers, Labels, Matrix


def distinct_values(codes: Codes, classes: Labels) -> float:
    """Count the distinct values in the class that has the fewest [MKG07]_."""
    of_pair, _, _ = _pairs(codes, classes)
    return float(np.bincount(of_pair).min())


def entropy_values(codes: Codes, classes: Labels) -> float:
    """Compute the exponential of the smallest entropy of values in a class [MKG07]_."""
    of_pair, _, counts = _pairs(codes, classes)
    shares = counts / np.bincount(classes)[of_pair]
    entropy = np.bincount(of_pair, weights=-shares * np.log(shares))
    return float(np.exp(entropy.min()))


def equal_distance(codes: Codes, classes: Labels) -> float:
    """Measure the largest distance between the values of a class and all values [LLV07]_.

    Any two different values are equally far apart.
    """
    of_pair, values, counts = _pairs(codes, classes)
    shares = counts / np.bincount(classes)[of_pair]
    overall = (np.bincount(codes.values) / len(codes.values))[values]
    surplus = np.bincount(of_pair, weights=np.maximum(shares - overall, 0.0))
    return float(surplus.max())


def _pairs(codes: Codes, classes: Labels) -> tuple[Labels, Integers, Integers]:
    """Give the class, the value and the number of records of each pair of class and value."""
    base = int(codes.values.max()) + 1
    pairs, counts = np.unique(classes * base + codes.values, return_counts=True)
    return pairs // base, pairs % base, counts


def ordered_distance(codes: Codes, classes: Labels) -> float | None:
    """Measure how far the values of a class must move to be distributed as all values [LLV07]_.

    The first and the last of all distinct values are a distance of 1 apart.
    """
    if not codes.ordered:
        return None
    overall = np.cumsum(np.bincount(codes.values)) / len(codes.values)
    order = np.lexsort((codes.values, classes))
    ends = np.cumsum(np.bincount(classes))
    largest = farthest_class(
        codes.values[order], ends, overall, np.concatenate([[0.0], np.cumsum(overall)])
    )
    return float(largest) / max(overall.size - 1, 1)


@kernel
def farthest_class(values: Integers, ends: Labels, overall: Matrix, sums: Matrix) -> float:
    """Find the largest area between the distribution of a class and the overall one.

    ``values`` are sorted within classes, ``overall`` is the share of records up to each value, and
    ``sums`` are its cumulative sums. Between two values of a class, the share of the class is
    constant and the overall share crosses it once.
    """
    largest = 0.0
    start = 0
    for end in ends:
        area = sums[values[start]]  # the class has no records below its first value
        for i in range(start, end):
            low = values[i]
            high = values[i + 1] if i + 1 < end else overall.size
            share = (i + 1 - start) / (end - start)
            cross = min(max(np.searchsorted(overall, share), low), high)
            area += share * (cross - low) - (sums[cross] - sums[low])
            area += (sums[high] - sums[cross]) - share * (high - cross)
        largest = max(largest, area)
        start = end
    return largest


def _worst(
    measure: Callable[[Codes, Labels], float | None],
    choose: Callable[[list[float]], float],
    files: PublishedFiles,
) -> float | None:
    """Take the worst value of all confidential columns; None if the measure applies to none.

    Muted records show no value, so that they are left out.
    """
    columns = (files.confidential(name) for name in files.confidential_names)
    classes = files.classes
    if files.silent is not None:
        shown = np.flatnonzero(~files.silent)
        if not shown.size:
            return None
        classes = combinations([classes[shown]])
        columns = (codes.take(shown) for codes in columns)
    values = [measure(codes, classes) for codes in columns]
    known = [value for value in values if value is not None]
    return choose(known) if known else None


MEASURES = (
    Measure(
        name="l_distinct",
        title="distinct l-diversity",
        kind="risk",
        unit="",
        better="higher",
        definition=(
            "Smallest number of distinct values of a confidential column among records that share "
            "all published values that are counted into k."
        ),
        paper="MKG07",
        run=partial(_worst, distinct_values, min),
        needs_original=False,
        least=1.0,
    ),
    Measure(
        name="l_entropy",
        title="entropy l-diversity",
        kind="risk",
        unit="",
        better="higher",
        definition=(
            "Exponential of the smallest entropy of a confidential column among records that "
            "share all published values that are counted into k."
        ),
        paper="MKG07",
        run=partial(_worst, entropy_values, min),
        needs_original=False,
        least=1.0,
    ),
    Measure(
        name="t_equal",
        title="t-closeness, equal distance",
        kind="risk",
        unit="",
        better="lower",
        definition=(
            "Largest distance between the distribution of a confidential column in a group and in "
            "the whole table, where any two different values are equally far apart."
        ),
        paper="LLV07",
        run=partial(_worst, equal_distance, max),
        needs_original=False,
        most=1.0,
    ),
    Measure(
        name="t_ordered",
        title="t-closeness, ordered distance",
        kind="risk",
        unit="",
        better="lower",
        definition=(
            "Largest distance between the distribution of a confidential numeric column in a "
            "group and in the whole table, where the distance between two values is the "
            "difference of their ranks among the distinct values."
        ),
        paper="LLV07",
        run=partial(_worst, ordered_distance, max),
        needs_original=False,
        most=1.0,
    ),
)
