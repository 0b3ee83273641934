"""Ordering along a path through the groups of MD."""

from algorithms.microaggregation.md import form_groups
from algorithms.orderings.groups import path_through
from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order


def md(x: Matrix, k: int, *, chain: bool = False) -> Order:
    """Order the records through the groups that MD forms of ``k`` records each.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Size of the groups.
    chain : bool
        Whether to go from group to group by nearest centroid, and inside each by nearest point. If
        not, groups come as they are formed, each with its seed first and the others by distance.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    Notes
    -----
    With ``mhm``, this is MD-MHM [DMMS06]_. Records that are too few for a group come last
    or, with ``chain``, as a group of their own. Of two seeds the higher row goes first.

    Examples
    --------
    >>> md(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([1, 3, 0, 2])
    """
    return path_through(x, form_groups(x, k, "higher"), chain=chain)


ORDERING = Ordering(
    run=md,
    summary=(
        "The path leads through groups of similar records, formed two at a time around the "
        "records farthest from each other."
    ),
    paper="DMMS06",
    for_groups=True,
)
