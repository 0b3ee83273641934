"""TFRP-2, two fixed reference points, both stages."""

from algorithms.local_search.dissolve import dissolve_and_split
from algorithms.microaggregation.method import Method
from algorithms.microaggregation.tfrp1 import tfrp1
from algorithms.types import Labels, Matrix


def tfrp2(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` as TFRP-1 does, dissolve groups that fit better elsewhere, and split.

    By decreasing sum of squares, each group is tried: if sending its rows to the nearest other
    centroids lowers the total sum of squares, it is dissolved. Groups of ``2k`` rows or more are
    then split by TFRP-1 [CLH07]_.

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
    Time of TFRP-1 and O(n² d / k) for the second stage, memory O(n d). Deterministic. A
    group of ``4k - 1`` rows takes no more.

    Examples
    --------
    >>> tfrp2(np.array([[0.0], [9.0], [1.0], [8.5]]), k=2)
    array([1, 0, 1, 0])
    """
    return dissolve_and_split(x, tfrp1(x, k), k, split=tfrp1, largest=4 * k - 1)


METHOD = Method(
    run=tfrp2,
    summary=(
        "Groups are formed in turn around the records farthest from two opposite corners of the "
        "data. Groups whose records fit better elsewhere are then dissolved, and large groups are"
        " split."
    ),
    paper="CLH07",
)
