"""What a method is."""

from collections.abc import Callable
from dataclasses import dataclass

from algorithms.types import Labels


@dataclass(frozen=True)
class Method:
    """A way to group records.

    Attributes
    ----------
    run : callable
        ``run(x, k, *, options) -> labels``. Its keyword-only parameters are the method's options.
    paper : str
        Key of the paper that describes it, in ``docs/references.bib``.
    along_path : bool
        Whether it reads the records in the order in which they come, and so needs an ordering.
    as_published : bool
        Whether it weighs what rounding will lose: ``run(x, k, grid, *, options) -> labels``.
    searches : bool
        Whether it searches until its budget is spent, and tells how far it is:
        ``run(x, k, grid, watch, *, options) -> labels``.
    """

    run: Callable[..., Labels]
    paper: str
    along_path: bool = False
    as_published: bool = False
    searches: bool = False
