"""Who hides whom: the persons that an attacker cannot tell apart by their earlier groups."""

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Integers, Labels


def cover_lists(seen: Labels) -> tuple[Integers, Integers]:
    """List the records that cover each record.

    One record covers another if its person was visible in the same group as the other's person in
    every earlier release in which that one was visible. A record covers itself.

    Parameters
    ----------
    seen : Labels of shape (n, m)
        Group of each record's person in each earlier release; negative where it was not visible.

    Returns
    -------
    starts : Integers of shape (n + 1,)
        Where the list of each record begins and ends. It is empty for a person who was never
        visible, whom every record covers.
    coverers : Integers
        The lists, one after the other; each in the order of rows.

    Examples
    --------
    >>> starts, coverers = cover_lists(np.array([[4], [4], [-1]]))
    >>> starts, coverers
    (array([0, 2, 4, 4]), array([0, 1, 0, 1]))
    """
    n, m = seen.shape
    counts = np.zeros(n, dtype=np.int64)
    last = np.full(n, -1)
    for t in range(m):
        last[seen[:, t] >= 0] = t
    searches = []
    for t in range(m):
        rows = np.flatnonzero(last == t)
        order = np.argsort(seen[:, t], kind="stable")
        groups = seen[order, t]
        first = np.searchsorted(groups, seen[rows, t], "left")
        after = np.searchsorted(groups, seen[rows, t], "right")
        counts[rows] = _agreeing(seen, rows, order, first, after, counts, counts[:0])
        searches.append((rows, order, first, after))
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    coverers = np.empty(starts[-1], dtype=np.int64)
    for rows, order, first, after in searches:
        _agreeing(seen, rows, order, first, after, starts, coverers)
    return starts, coverers


@kernel
def _agreeing(
    seen: Labels,
    rows: Integers,
    order: Integers,
    first: Integers,
    after: Integers,
    starts: Integers,
    coverers: Integers,
) -> Integers:
    """Count the records that cover each of some rows, and list them where there is room."""
    counts = np.zeros(rows.size, dtype=np.int64)
    for entry in range(rows.size):
        row = rows[entry]
        for place in range(first[entry], after[entry]):
            other = order[place]
            agrees = True
            for t in range(seen.shape[1]):
                if seen[row, t] >= 0 and seen[other, t] != seen[row, t]:
                    agrees = False
                    break
            if agrees:
                if coverers.size > 0:
                    coverers[starts[row] + counts[entry]] = other
                counts[entry] += 1
    return counts
