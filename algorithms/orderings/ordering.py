"""What an ordering is."""

from collections.abc import Callable
from dataclasses import dataclass

from algorithms.types import Matrix, Order


@dataclass(frozen=True)
class Ordering:
    """A way to put records on a path.

    Attributes
    ----------
    run : callable
        ``run(x) -> order``.
    paper : str
        Key of the paper that uses it, in ``docs/references.bib``.
    """

    run: Callable[[Matrix], Order]
    paper: str
