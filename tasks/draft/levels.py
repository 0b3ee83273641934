"""Recognises labels that have an order, such as low, medium and high, or classes of size."""

import re
from collections.abc import Sequence

SCALES = tuple(
    tuple(scale.split(", "))
    for scale in (
        "never, rarely, seldom, sometimes, occasionally, often, frequently, usually, always",
        "none, very low, low, medium, moderate, high, very high",
        "none, basic, intermediate, advanced, leading, expert",
        "none, no education, preschool, primary, lower secondary, secondary, upper secondary, "
        "post-secondary, vocational, tertiary, university, bachelor, master, doctorate",
        "strongly disagree, disagree, neutral, neither agree nor disagree, agree, strongly agree",
        "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
        "very bad, bad, fair, good, very good, excellent",
        "very poor, poor, fair, average, good, very good, excellent",
        "xxs, xs, s, m, l, xl, xxl",
        "tiny, micro, small, medium, large, very large, huge",
        "none, mild, moderate, severe, critical",
        "first, second, third, fourth, fifth",
        "bronze, silver, gold, platinum",
        "infant, child, adolescent, adult, elderly",
        "worse, same, better",
    )
)
"""Common scales, the lowest level first."""

FEWEST = 3
"""Two labels have no order worth asking about."""
MOST = 30

BELOW = r"(?:under|less than|below|up to|at most|<=?|≤)"
ABOVE = r"(?:over|more than|above|at least|>=?|≥)"
NUMBERED = re.compile(rf"^\(?({BELOW}|{ABOVE})?\s*(\d+(?:\.\d+)?)(?:$|[\s\-\u2013.):+%a-z€$£])")
"""Labels that begin with a number, or with a bound: `1 - low`, `10-19`, `65+`, `under 10`."""


def order_of(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Put labels into the order of their levels, the lowest first.

    Returns
    -------
    tuple of str or None
        None if they have no order that is known.

    Examples
    --------
    >>> order_of(["High", "Low", "Medium"])
    ('Low', 'Medium', 'High')
    >>> order_of(["10 to 49", "under 10", "50+"])
    ('under 10', '10 to 49', '50+')
    >>> order_of(["North", "South", "West"]) is None
    True
    """
    if not FEWEST <= len(labels) <= MOST:
        return None
    plain = {label: " ".join(re.split(r"[\s_]+", label.casefold().strip())) for label in labels}
    for scale in SCALES:
        if set(plain.values()) <= set(scale):
            return _sorted({label: scale.index(word) for label, word in plain.items()})
    bounds = {label: _bound(word) for label, word in plain.items()}
    return _sorted({label: bound for label, bound in bounds.items() if bound is not None}, labels)


def _sorted(
    places: dict[str, float] | dict[str, int], labels: Sequence[str] | None = None
) -> tuple[str, ...] | None:
    """Sort labels by their places, if each has a place of its own."""
    if labels is not None and len(places) < len(labels):
        return None
    if len(set(places.values())) < len(places):
        return None
    return tuple(sorted(places, key=lambda label: places[label]))


def _bound(label: str) -> float | None:
    found = NUMBERED.match(label)
    if found is None:
        return None
    words, number = found.groups()
    half = 0.0 if words is None else (-0.5 if re.fullmatch(BELOW, words) else 0.5)
    return float(number) + half
