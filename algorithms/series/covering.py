"""Who hides whom: the persons that an attacker cannot tell apart by their earlier groups."""

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Integers, Labels, Mask


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


def covered(labels: Labels, seen: Labels, k: int, units: Labels | None = None) -> Mask:
    """Find the largest set of records that can be visible.

    Each of them shares its group with visible records of at least ``k`` units that cover it, itself
    included.

    Parameters
    ----------
    labels : Labels of shape (n,)
        Group of each record.
    seen : Labels of shape (n, m)
        Group of each record's person in each earlier release; negative where it was not visible.
    k : int
        Smallest number of candidates.
    units : Labels of shape (n,), optional
        Unit of each record; by default each record is a unit of its own.

    Examples
    --------
    >>> covered(np.array([0, 0, 0]), np.array([[0], [0], [1]]), k=2)
    array([ True,  True, False])
    """
    starts, coverers = cover_lists(seen)
    own = np.arange(len(labels)) if units is None else np.unique(units, return_inverse=True)[1]
    shown = np.ones(len(labels), dtype=bool)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels))
    while _hide(labels, order, ends, starts, coverers, own.reshape(-1), k, shown):
        pass
    return shown


@kernel
def _hide(
    labels: Labels,
    order: Integers,
    ends: Integers,
    starts: Integers,
    coverers: Integers,
    units: Integers,
    k: int,
    shown: Mask,
) -> bool:
    """Hide the records that too few visible ones cover; return whether there were any."""
    met = np.full(units.size, -1)
    hidden = False
    for row in range(labels.size):
        if not shown[row]:
            continue
        count = 0
        group = labels[row]
        free = starts[row] == starts[row + 1]
        begin = starts[row]
        end = starts[row + 1]
        if free:
            begin = ends[group - 1] if group > 0 else 0
            end = ends[group]
        for place in range(begin, end):
            other = order[place] if free else coverers[place]
            if labels[other] == group and shown[other] and met[units[other]] != row:
                met[units[other]] = row
                count += 1
        if count < k:
            shown[row] = False
            hidden = True
    return hidden
