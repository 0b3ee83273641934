"""The contract of an ordering."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from algorithms.types import Matrix, Order


@dataclass(frozen=True)
class Ordering:
    """A way to put records on a path.

    Attributes
    ----------
    run : callable
        ``run(x, *, options) -> order`` or, if it depends on the size of the groups that the path
        will be cut into, ``run(x, k, *, options) -> order``. Its keyword-only parameters are the
        ordering's options.
    summary : str
        One or two sentences for people who use the data; printed on public pages.
    paper : str
        Key of the paper that uses it, in ``algorithms/references.py``.
    for_groups : bool
        Whether it depends on ``k``.
    """

    run: Callable[..., Order]
    summary: str
    paper: str
    for_groups: bool = False

    def path(self, x: Matrix, k: int, **options: Any) -> Order:
        """Put the rows of ``x`` on a path that is to be cut into groups of ``k`` or more."""
        return self.run(x, k, **options) if self.for_groups else self.run(x, **options)
