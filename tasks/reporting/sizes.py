"""How many groups there are of each size."""

from collections.abc import Mapping

from tasks.reporting import page
from tasks.reporting.page import Html

MOST_ROWS = 20


def size_table(sizes: Mapping[int, int]) -> Html:
    """Write the histogram of group sizes, as a table with bars.

    Parameters
    ----------
    sizes : mapping of int to int
        How many groups there are of each size.
    """
    ranges = ranges_of(sizes)
    most = max(count for _, count, _ in ranges)
    rows = [
        (label, f"{count:,}", f"{records:,}", page.bar(count / most))
        for label, count, records in ranges
    ]
    return page.table(
        ["Records in the group", "Groups", "Records", "Share of groups"],
        rows,
        caption="Records that share all published quasi-identifiers form a group",
        numbers=(0, 1, 2),
    )


def ranges_of(sizes: Mapping[int, int]) -> list[tuple[str, int, int]]:
    """Count groups and records by size or, if there are too many sizes, by ranges that double.

    Examples
    --------
    >>> ranges_of({3: 10, 4: 1})
    [('3', 10, 30), ('4', 1, 4)]
    """
    if len(sizes) <= MOST_ROWS:
        bounds = [(size, size) for size in sorted(sizes)]
    else:
        bounds = []
        start = min(sizes)
        while start <= max(sizes):
            bounds.append((start, 2 * start - 1))
            start *= 2
    found = []
    for first, last in bounds:
        inside = {size: count for size, count in sizes.items() if first <= size <= last}
        label = str(first) if first == last else f"{first} to {last}"
        records = sum(size * count for size, count in inside.items())
        found.append((label, sum(inside.values()), records))
    return found
