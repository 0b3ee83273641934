"""DBA-2, density-based algorithm, both stages."""

from algorithms.local_search.dissolve import dissolve_and_split
from algorithms.microaggregation.dba1 import dba1
from algorithms.microaggregation.mdav1 import mdav1
from algorithms.microaggregation.method import Method
from algorithms.types import Labels, Matrix


def dba2(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` as DBA-1 does, dissolve groups that fit better elsewhere, and split.

    By decreasing sum of squares, each group is tried: if sending its rows to the nearest other
    centroids lowers the total sum of squares, it is dissolved. Groups of ``2k`` rows or more are
    then split by MDAV-1 [LWHC10]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group, ``1 <= k <= n``.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time of DBA-1 and O(n² d / k) for the second stage, memory O(n d). Deterministic.

    Examples
    --------
    >>> dba2(np.array([[0.0], [9.0], [1.0], [8.5]]), k=2)
    array([1, 0, 1, 0])
    """
    return dissolve_and_split(x, dba1(x, k), k, split=mdav1)


METHOD = Method(
    run=dba2,
    summary=(
        "Groups are formed first where records lie closest together. Groups whose records fit "
        "better elsewhere are then dissolved, and large groups are split."
    ),
    paper="LWHC10",
)
