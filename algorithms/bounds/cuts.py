"""Inequalities that every partition meets, and fractions of groups may not."""

from typing import NamedTuple

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Integers, Labels, Matrix

Cut = tuple[int, tuple[tuple[int, int], ...]]
"""A denominator, and rows with their numerators, each less than the denominator.

If each row counts as its numerator over the denominator, a group counts as the sum over its rows,
rounded down. The groups of a partition hold each row once; together they count at most as much as
all rows, rounded down. Three rows that count as one half each are a subset-row cut: at most one
group holds two of them or more.
"""


class Cuts(NamedTuple):
    """Cuts with their prices, as arrays for kernels.

    Attributes
    ----------
    starts : Labels of shape (n + 1,)
        Where the entries of each row begin.
    numbers, parts : Labels
        The cuts that each row is in, and its numerators.
    denominators : Labels
        That of each cut.
    prices : Matrix
        What a group pays for each cut, times what it counts as; never negative.
    """

    starts: Labels
    numbers: Labels
    parts: Labels
    denominators: Labels
    prices: Matrix


def limit(cut: Cut) -> int:
    """Compute what all groups of a partition may count as."""
    denominator, parts = cut
    return sum(part for _, part in parts) // denominator


def flattened(cuts: list[Cut]) -> tuple[Labels, Labels, Labels]:
    """List the cut, the row and the numerator of each entry."""
    entries = [(i, row, part) for i, (_, parts) in enumerate(cuts) for row, part in parts]
    numbers, rows, parts = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return numbers, rows, parts


def cut_arrays(n: int, prices: dict[Cut, float]) -> Cuts:
    """Put cuts with positive prices into arrays."""
    paid = {cut: price for cut, price in prices.items() if price > 0.0}
    numbers, rows, parts = flattened(list(paid))
    order = np.argsort(rows, kind="stable")
    return Cuts(
        np.searchsorted(rows[order], np.arange(n + 1)),
        numbers[order],
        parts[order],
        np.array([denominator for denominator, _ in paid], dtype=np.int64),
        np.array(list(paid.values()), dtype=np.float64),
    )


@kernel
def local_parts(cuts: Cuts, rows: Labels) -> tuple[Integers, Labels, Matrix]:
    """Choose the cuts that some of a few rows pay for.

    Returns
    -------
    parts : Integers of shape (cuts, rows)
        Their numerators.
    denominators : Labels
    prices : Matrix
    """
    places = np.zeros(cuts.prices.size, dtype=np.int64)
    for row in rows:
        for entry in range(cuts.starts[row], cuts.starts[row + 1]):
            places[cuts.numbers[entry]] += cuts.parts[entry]
    count = 0
    denominators = np.empty(places.size, dtype=np.int64)
    prices = np.empty(places.size)
    for cut in range(places.size):
        if places[cut] >= cuts.denominators[cut]:
            denominators[count] = cuts.denominators[cut]
            prices[count] = cuts.prices[cut]
            places[cut] = count
            count += 1
        else:
            places[cut] = -1
    parts = np.zeros((count, rows.size), dtype=np.int64)
    for i in range(rows.size):
        for entry in range(cuts.starts[rows[i]], cuts.starts[rows[i] + 1]):
            place = places[cuts.numbers[entry]]
            if place >= 0:
                parts[place, i] = cuts.parts[entry]
    return parts, denominators[:count], prices[:count]


@kernel
def spread(
    parts: Integers,
    denominators: Labels,
    prices: Matrix,
    held: Labels,
    rows: Labels,
    length: int,
    wanted: int,
    shares: Matrix,
) -> None:
    """Share what cuts cost a set of rows that grows among the rows that may join it.

    Any ``wanted`` of these rows or fewer cost at least the sum of their shares; a single row, if
    one is wanted, costs its share.
    """
    for a in range(length):
        shares[rows[a]] = 0.0
    for cut in range(prices.size):
        missing = denominators[cut] - held[cut] % denominators[cut]
        count = 0
        for a in range(length):
            if parts[cut, rows[a]] >= missing:
                count += 1
        if count:
            share = prices[cut] / min(count, wanted)
            for a in range(length):
                if parts[cut, rows[a]] >= missing:
                    shares[rows[a]] += share
