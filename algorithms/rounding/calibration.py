"""One label per group, chosen so that labels keep their totals.

The most frequent label of a group loses least, but frequent labels then gain records and rare ones
lose them. If some groups publish another of their labels, totals are nearly the original ones.

Labels are the nodes of a graph. An edge is the flip of one group from a label to another; its
length is the loss per record. Groups are flipped along shortest paths from labels with a surplus to
labels with a deficit. As in a minimum-cost flow, no other choice with the same totals then loses
less, whatever the sizes of the groups. Differences smaller than a group are evened out by
exchanges: one group is flipped, and a smaller one is flipped back.
"""

from typing import NamedTuple

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Labels, Mask, Matrix

CLASSES = 64
"""Most classes of group sizes."""

CLASSES_TO_MEDIAN = 8
"""Classes that span the median size, unless sizes are few whole numbers."""

KNOWN = 16
"""Best flips that are known for each pair of labels and each class."""

LONGEST = 6
"""Most flips or exchanges in one repair."""

PATIENCE = 64
"""Failed repairs in a row after which the search ends."""

TINY = 1e-9
"""Smaller differences are rounding errors: of losses per record, and of totals per group size."""


class Choice(NamedTuple):
    """A choice of labels that is being repaired, and the best flips of each kind.

    Attributes
    ----------
    counts : Matrix of shape (labels, groups)
        Number of records with each label in each group.
    sizes : Matrix of shape (groups,)
        Number of records in each group.
    classes : Labels of shape (groups,)
        Class of each size; the sizes of a class are nearly or exactly equal.
    amounts : Matrix of shape (classes,)
        Size that stands for a class; equal steps lead from class to class.
    chosen : Labels of shape (groups,)
        Label of each group.
    surplus : Matrix of shape (labels,)
        Published total of each label minus the wanted total.
    flips : Labels of shape (labels, labels, classes, KNOWN)
        Groups that lose least per record if flipped from the first label to the second, the best
        first.
    lengths : Matrix of shape (labels, labels, classes, KNOWN)
        What these flips lose per record.
    known : Labels of shape (labels, labels, classes)
        How many flips are known.
    more : Mask of shape (labels, labels, classes)
        Whether there are more than those known, none of which is better.
    """

    counts: Matrix
    sizes: Matrix
    classes: Labels
    amounts: Matrix
    chosen: Labels
    surplus: Matrix
    flips: Labels
    lengths: Matrix
    known: Labels
    more: Mask


def calibrated(counts: Matrix, sizes: Matrix, totals: Matrix) -> Labels:
    """Choose one label per group so that labels keep their totals, at the least loss.

    Parameters
    ----------
    counts : Matrix of shape (groups, labels)
        Number of records with each label in each group, or the sum of their weights.
    sizes : Matrix of shape (groups,)
        Number of records in each group, or the sum of their weights; positive.
    totals : Matrix of shape (labels,)
        Wanted number of records with each label, usually ``counts.sum(axis=0)``.

    Returns
    -------
    Labels of shape (groups,)
        Label that each group publishes.

    Notes
    -----
    A group that publishes a label loses its records with other labels. The first choice is the most
    frequent label of each group; ties go to the label with the smallest total, then to the first.

    Paths are applied while they reduce the sum of absolute differences from the wanted totals.
    Exchanges, and flips of single groups, are then applied while they reduce the loss plus that
    sum: a difference of one record counts as one lost record. The last few differences would cost
    several records each.

    Whole sizes within a range of 64 are distinguished exactly. Others, such as sums of weights, are
    put into classes as wide as an eighth of the median size; totals come as close as that allows.
    Ties go to the first group and the first label, so that the result is the same on any machine.

    Time O(groups labels) in the beginning, O(labels²) or so for each flip, and O(groups) now and
    then; memory O(groups labels).

    Examples
    --------
    >>> counts = np.array([[2.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    >>> calibrated(counts, counts.sum(axis=1), counts.sum(axis=0))
    array([1, 0, 0])
    """
    classes, amounts, width = _classes_of(sizes)
    choice = _first_choice(counts, sizes, totals, classes, amounts)
    _list_flips(choice)
    _flip_along_paths(choice)
    _even_out(choice, width, PATIENCE)
    return choice.chosen


def _first_choice(
    counts: Matrix, sizes: Matrix, totals: Matrix, classes: Labels, amounts: Matrix
) -> Choice:
    """Choose the mode of each group, the rarest label of those that are equally frequent."""
    rarest_first = np.argsort(totals, kind="stable")
    chosen = rarest_first[counts[:, rarest_first].argmax(axis=1)]
    labels = totals.size
    surplus = -totals.astype(np.float64)
    np.add.at(surplus, chosen, sizes)
    return Choice(
        counts=np.ascontiguousarray(counts.T),
        sizes=np.ascontiguousarray(sizes),
        classes=classes,
        amounts=amounts,
        chosen=chosen,
        surplus=surplus,
        flips=np.zeros((labels, labels, amounts.size, KNOWN), dtype=np.int64),
        lengths=np.zeros((labels, labels, amounts.size, KNOWN)),
        known=np.zeros((labels, labels, amounts.size), dtype=np.int64),
        more=np.zeros((labels, labels, amounts.size), dtype=np.bool_),
    )


def _classes_of(sizes: Matrix) -> tuple[Labels, Matrix, float]:
    """Put sizes into classes: one for each whole number if there are few, else of equal width."""
    least, largest = sizes.min(), sizes.max()
    if (sizes == np.rint(sizes)).all() and largest - least < CLASSES:
        width = 1.0
    else:
        width = np.sort(sizes)[sizes.size // 2] / CLASSES_TO_MEDIAN
    steps = np.minimum((sizes - least) // width, CLASSES - 1).astype(np.int64)
    middle = 0.0 if width == 1.0 else width / 2.0
    return steps, least + middle + width * np.arange(steps.max() + 1), width


@kernel
def _list_flips(choice: Choice) -> None:
    """List the best flips for each pair of labels and each class."""
    for group in range(choice.sizes.size):
        for to in range(choice.surplus.size):
            if to != choice.chosen[group]:
                _add(choice, group, to)


@kernel
def _add(choice: Choice, group: int, to: int) -> None:
    """Insert the flip of a group into its list, unless all flips in a full list are better."""
    start, size_class = choice.chosen[group], choice.classes[group]
    flips = choice.flips[start, to, size_class]
    lengths = choice.lengths[start, to, size_class]
    known = choice.known[start, to, size_class]
    more = choice.more[start, to, size_class]
    length = (choice.counts[start, group] - choice.counts[to, group]) / choice.sizes[group]
    if more or known == flips.size:
        last = known - 1
        if length > lengths[last] or (length == lengths[last] and group > flips[last]):
            choice.more[start, to, size_class] = True
            return
    if known == flips.size:
        choice.more[start, to, size_class] = True
        known -= 1
    place = known
    while place > 0 and (
        length < lengths[place - 1] or (length == lengths[place - 1] and group < flips[place - 1])
    ):
        lengths[place] = lengths[place - 1]
        flips[place] = flips[place - 1]
        place -= 1
    lengths[place] = length
    flips[place] = group
    choice.known[start, to, size_class] = known + 1


@kernel
def _remove(choice: Choice, group: int, to: int) -> None:
    """Remove the flip of a group from its list, and fill the list again if it becomes empty."""
    start, size_class = choice.chosen[group], choice.classes[group]
    flips = choice.flips[start, to, size_class]
    lengths = choice.lengths[start, to, size_class]
    known = choice.known[start, to, size_class]
    kept = 0
    for place in range(known):
        if flips[place] != group:
            flips[kept] = flips[place]
            lengths[kept] = lengths[place]
            kept += 1
    choice.known[start, to, size_class] = kept
    if kept == 0 and choice.more[start, to, size_class]:
        choice.more[start, to, size_class] = False
        for other in range(choice.sizes.size):
            if (
                choice.chosen[other] == start
                and choice.classes[other] == size_class
                and other != group
            ):
                _add(choice, other, to)


@kernel
def _flip(choice: Choice, group: int, to: int) -> None:
    """Flip a group to another label."""
    start = choice.chosen[group]
    for label in range(choice.surplus.size):
        if label != start:
            _remove(choice, group, label)
    choice.surplus[start] -= choice.sizes[group]
    choice.surplus[to] += choice.sizes[group]
    choice.chosen[group] = to
    for label in range(choice.surplus.size):
        if label != to:
            _add(choice, group, label)


@kernel
def _best_flip(choice: Choice, start: int, to: int) -> tuple[float, int]:
    """Find the flip that loses least per record, of any class; infinity if there is none."""
    length, best = np.inf, -1
    for size_class in range(choice.amounts.size):
        if choice.known[start, to, size_class] > 0:
            other = choice.lengths[start, to, size_class, 0]
            if other < length:
                length, best = other, choice.flips[start, to, size_class, 0]
    return length, best


@kernel
def _shorten(edges: Matrix, distances: Matrix, previous: Labels, longest: int) -> int:
    """Find shortest walks of at most ``longest`` edges, and return the number of rounds needed.

    On entry ``distances`` holds the lengths of empty walks, on return those of the shortest walks.
    ``previous[r]`` is the label before each in its shortest walk of up to ``r + 1`` edges, or -1 if
    the walk of up to ``r`` edges is as short.
    """
    labels = distances.size
    before = np.empty(labels)
    for edge in range(longest):
        before[:] = distances
        previous[edge] = -1
        for start in range(labels):
            if before[start] < np.inf:
                for to in range(labels):
                    length = before[start] + edges[start, to]
                    if length < distances[to] - TINY:
                        distances[to] = length
                        previous[edge, to] = start
        if previous[edge].max() < 0:
            return edge
    return longest


@kernel
def _walk(previous: Labels, rounds: int, end: int, walk: Labels) -> int:
    """List the labels of the shortest walk backwards from its end, and return their number."""
    walk[0] = end
    count = 1
    for edge in range(rounds - 1, -1, -1):
        label = previous[edge, walk[count - 1]]
        if label >= 0:
            walk[count] = label
            count += 1
    return count


@kernel
def _deviation(surplus: Matrix) -> float:
    """Add up the differences from the wanted totals."""
    total = 0.0
    for value in surplus:
        total += abs(value)
    return total


@kernel
def _flip_along_paths(choice: Choice) -> None:
    """Flip groups along shortest paths from labels with a surplus to labels with a deficit."""
    labels = choice.surplus.size
    edges = np.full((labels, labels), np.inf)
    for label in range(labels):
        _measure_flips(choice, label, edges)
    walk = np.empty(labels + 1, dtype=np.int64)
    tolerance = TINY * choice.sizes.max()
    sources = choice.surplus > tolerance
    while sources.any():
        count = _shortest_path(choice, edges, sources, tolerance, walk)
        for place in range(1, count):
            _flip(choice, _best_flip(choice, walk[place], walk[place - 1])[1], walk[place - 1])
        for label in walk[:count]:
            _measure_flips(choice, label, edges)
            sources[label] = choice.surplus[label] > tolerance


@kernel
def _measure_flips(choice: Choice, start: int, edges: Matrix) -> None:
    """Find what the best flips from a label lose per record."""
    for to in range(choice.surplus.size):
        edges[start, to] = _best_flip(choice, start, to)[0]


@kernel
def _shortest_path(
    choice: Choice, edges: Matrix, sources: Mask, tolerance: float, walk: Labels
) -> int:
    """Find the shortest path that reduces the differences, and return its number of labels.

    If no path does, return 0 and exclude their first labels from ``sources``: a label whose surplus
    is smaller than a group can block the paths of others.
    """
    labels = choice.surplus.size
    previous = np.empty((labels, labels), dtype=np.int64)
    distances = np.where(sources, 0.0, np.inf)
    rounds = _shorten(edges, distances, previous, labels)
    distances[choice.surplus >= -tolerance] = np.inf
    blocked = np.zeros(labels, dtype=np.bool_)
    while distances.min() < np.inf:
        end = int(distances.argmin())
        distances[end] = np.inf
        count = _walk(previous, rounds, end, walk)
        after = choice.surplus.copy()
        for place in range(1, count):
            size = choice.sizes[_best_flip(choice, walk[place], walk[place - 1])[1]]
            after[walk[place]] -= size
            after[walk[place - 1]] += size
        if _deviation(after) < _deviation(choice.surplus) - tolerance:
            return count
        blocked[walk[count - 1]] = True
    for label in range(labels):
        sources[label] = sources[label] and blocked.any() and not blocked[label]
    return 0


@kernel
def _even_out(choice: Choice, width: float, patience: int) -> None:
    """Apply the best repair, again and again, while one reduces the loss plus the differences.

    A repair moves the same number of records along each edge of a walk through the labels: by flips
    of groups of one class, or by exchanges of two groups whose classes are some steps apart. The
    kind of a repair is that class, or the number of classes plus that number of steps minus 1.
    """
    labels, kinds = choice.surplus.size, 2 * choice.amounts.size - 1
    edges = np.full((kinds, labels, labels), np.inf)
    for label in range(labels):
        _price_transfers(choice, label, edges)
    walk = np.empty(LONGEST + 1, dtype=np.int64)
    journal = np.empty((LONGEST, 2), dtype=np.int64)
    failed = np.zeros((kinds, labels), dtype=np.bool_)
    failures = 0
    worth = width / 64.0
    while failures < patience:
        kind, count = _best_repair(choice, edges, failed, worth, walk)
        if count == 0:
            return
        before = _deviation(choice.surplus)
        loss = 0.0
        for place in range(count - 1, 0, -1):
            loss += _transfer(choice, walk[place], walk[place - 1], kind, journal[place - 1])
        if loss + _deviation(choice.surplus) < before - worth:
            failures = 0
            failed[:] = False
            for place in range(count):
                _price_transfers(choice, walk[place], edges)
        else:
            # two transfers may have counted on the same group, and sizes in a class may differ
            failures += 1
            failed[kind, walk[0]] = True
            for place in range(1, count):
                _undo(choice, walk[place], walk[place - 1], journal[place - 1])


@kernel
def _best_repair(
    choice: Choice, edges: Matrix, failed: Mask, worth: float, walk: Labels
) -> tuple[int, int]:
    """Find the repair that reduces loss plus differences most; return its kind and its length."""
    labels, classes = choice.surplus.size, choice.amounts.size
    previous = np.empty((LONGEST, labels), dtype=np.int64)
    best, best_kind, count = -worth, 0, 0
    for kind in range(edges.shape[0]):
        amount = choice.amounts[kind % classes]
        if kind >= classes:
            amount = choice.amounts[kind - classes + 1] - choice.amounts[0]
        distances = np.abs(choice.surplus - amount) - np.abs(choice.surplus)
        rounds = _shorten(edges[kind], distances, previous, LONGEST)
        distances += np.abs(choice.surplus + amount) - np.abs(choice.surplus)
        for end in range(labels):
            if distances[end] < best and not failed[kind, end]:
                best, best_kind = distances[end], kind
                count = _walk(previous, rounds, end, walk)
    return best_kind, count


@kernel
def _price_transfers(choice: Choice, label: int, edges: Matrix) -> None:
    """Compute the loss of the best transfer of each kind from a label and to it."""
    classes = choice.amounts.size
    for other in range(choice.surplus.size):
        if other != label:
            for kind in range(edges.shape[0]):
                if kind < classes:
                    edges[kind, label, other] = _loss(choice, label, other, kind)
                    edges[kind, other, label] = _loss(choice, other, label, kind)
                else:
                    steps = kind - classes + 1
                    edges[kind, label, other] = _best_exchange(choice, label, other, steps)[0]
                    edges[kind, other, label] = _best_exchange(choice, other, label, steps)[0]


@kernel
def _loss(choice: Choice, start: int, to: int, size_class: int) -> float:
    """Compute what the best flip of a class loses; infinity if there is none."""
    if choice.known[start, to, size_class] == 0:
        return np.inf
    group = choice.flips[start, to, size_class, 0]
    loss: float = choice.counts[start, group] - choice.counts[to, group]
    return loss


@kernel
def _best_exchange(choice: Choice, start: int, to: int, steps: int) -> tuple[float, int]:
    """Find the best exchange of a group for one that is ``steps`` classes smaller, if any."""
    loss, best = np.inf, -1
    for size_class in range(steps, choice.amounts.size):
        other = _loss(choice, start, to, size_class) + _loss(choice, to, start, size_class - steps)
        if other < loss:
            loss, best = other, size_class
    return loss, best


@kernel
def _transfer(choice: Choice, start: int, to: int, kind: int, journal: Labels) -> float:
    """Apply the best transfer of a kind, if any; return its loss, infinity if there is none.

    The flipped groups are entered in the journal.
    """
    classes = choice.amounts.size
    journal[:] = -1
    if kind < classes:
        loss = _loss(choice, start, to, kind)
        if loss < np.inf:
            journal[0] = choice.flips[start, to, kind, 0]
    else:
        loss, size_class = _best_exchange(choice, start, to, kind - classes + 1)
        if size_class >= 0:
            journal[0] = choice.flips[start, to, size_class, 0]
            journal[1] = choice.flips[to, start, size_class - (kind - classes + 1), 0]
    if journal[0] >= 0:
        _flip(choice, journal[0], to)
    if journal[1] >= 0:
        _flip(choice, journal[1], start)
    return loss


@kernel
def _undo(choice: Choice, start: int, to: int, journal: Labels) -> None:
    """Undo a transfer."""
    if journal[1] >= 0:
        _flip(choice, journal[1], to)
    if journal[0] >= 0:
        _flip(choice, journal[0], start)
