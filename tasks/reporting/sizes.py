"""Number of groups of each size."""

from collections.abc import Mapping
from dataclasses import dataclass

MOST_ROWS = 20


@dataclass(frozen=True)
class SizeRange:
    """The groups of one size, or of a range of sizes.

    Attributes
    ----------
    label : str
        The size or the range.
    groups, records : int
        How many groups there are, and how many records they hold.
    percent : float
        Groups in per cent of the range with the most groups.
    """

    label: str
    groups: int
    records: int
    percent: float


def size_ranges(sizes: Mapping[int, int]) -> list[SizeRange]:
    """Count groups and records by size or, if there are too many sizes, by ranges that double.

    Parameters
    ----------
    sizes : mapping of int to int
        How many groups there are of each size.

    Examples
    --------
    >>> for size in size_ranges({3: 10, 4: 1}):
    ...     print(size)
    SizeRange(label='3', groups=10, records=30, percent=100.0)
    SizeRange(label='4', groups=1, records=4, percent=10.0)
    """
    bounds = _bounds(sizes)
    ranges = [[size for size in sizes if first <= size <= last] for first, last in bounds]
    groups = [sum(sizes[size] for size in inside) for inside in ranges]
    records = [sum(size * sizes[size] for size in inside) for inside in ranges]
    labels = [str(a) if a == b else f"{a} to {b}" for a, b in bounds]
    percents = [100.0 * count / max(groups) for count in groups]
    return [SizeRange(*row) for row in zip(labels, groups, records, percents, strict=True)]


def _bounds(sizes: Mapping[int, int]) -> list[tuple[int, int]]:
    if len(sizes) <= MOST_ROWS:
        return [(size, size) for size in sorted(sizes)]
    bounds = []
    start = min(sizes)
    while start <= max(sizes):
        bounds.append((start, 2 * start - 1))
        start *= 2
    return bounds
