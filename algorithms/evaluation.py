"""The measures of one masked file."""

from dataclasses import dataclass

import numpy as np

from algorithms.errors import ContractError
from algorithms.risk.dld import distance_linkage
from algorithms.standardisation import scale_of
from algorithms.types import Matrix
from algorithms.utility.il import information_loss


@dataclass(frozen=True)
class Evaluation:
    """What a masked file lost, and what an attacker could still link.

    Attributes
    ----------
    il, dld : float
        Information loss and distance-linkage disclosure, in per cent.
    rounding : float
        The part of the information loss that is due to rounding alone.
    sse, sst : float
        Within-group and total sum of squares, in standardised units.
    records, groups, smallest : int
        Records, distinct combinations of published quasi-identifiers, and records in the rarest.
    sizes : dict of int to int
        How many groups there are of each size.
    """

    il: float
    dld: float
    rounding: float
    sse: float
    sst: float
    records: int
    groups: int
    smallest: int
    sizes: dict[int, int]

    def __str__(self) -> str:
        return (
            f"IL {self.il:.4f} % ({self.rounding:.4f} by rounding), DLD {self.dld:.4f} %, "
            f"{self.groups} groups of at least {self.smallest} among {self.records} records"
        )


def evaluate(original: Matrix, published: Matrix, unrounded: Matrix) -> Evaluation:
    """Compare the values that will be published with the original ones.

    Parameters
    ----------
    original, published, unrounded : Matrix of shape (n, d)
        The same records before, after, and after but for rounding, in their own units.

    Examples
    --------
    >>> original = np.array([[1.0], [3.0], [7.0], [9.0]])
    >>> published = np.array([[2.0], [2.0], [8.0], [8.0]])
    >>> print(evaluate(original, published, published))
    IL 10.0000 % (0.0000 by rounding), DLD 100.0000 %, 2 groups of at least 2 among 4 records
    """
    if not original.shape == published.shape == unrounded.shape:
        raise ContractError(
            f"original and published values must have one shape; got {original.shape}, "
            f"{published.shape} and {unrounded.shape}"
        )
    scale = scale_of(original)
    before, after = scale.apply(original), scale.apply(published)
    il, sse, sst = information_loss(before, after)
    without_rounding, _, _ = information_loss(before, scale.apply(unrounded))
    _, counts = np.unique(published, axis=0, return_counts=True)
    sizes, how_many = np.unique(counts, return_counts=True)
    return Evaluation(
        il=il,
        dld=distance_linkage(before, after),
        rounding=il - without_rounding,
        sse=sse,
        sst=sst,
        records=len(original),
        groups=counts.size,
        smallest=int(counts.min()),
        sizes=dict(zip(sizes.tolist(), how_many.tolist(), strict=True)),
    )
