"""What a method is."""

from collections.abc import Callable
from dataclasses import dataclass

from algorithms.errors import ContractError
from algorithms.types import Labels


@dataclass(frozen=True)
class Method:
    """A way to group records.

    Attributes
    ----------
    run : callable
        ``run(x, k, *, options) -> labels``. Its keyword-only parameters are the method's options.
    summary : str
        What it does, in a sentence or two for people who use the data; printed on public pages.
    paper : str
        Key of the paper that describes it, in ``algorithms/references.py``.
    along_path : bool
        Whether it reads the records in the order in which they come, and so needs an ordering.
    as_published : bool
        Whether it weighs what rounding will lose: ``run(x, k, grid, *, options) -> labels``.
    searches : bool
        Whether it searches until its budget is spent, and tells how far it is:
        ``run(x, k, grid, watch, *, options) -> labels``. It reads no path.

    Raises
    ------
    ContractError
        If a method is said to read a path and to search: a search starts from groups.
    """

    run: Callable[..., Labels]
    summary: str
    paper: str
    along_path: bool = False
    as_published: bool = False
    searches: bool = False

    def __post_init__(self) -> None:
        if self.along_path and self.searches:
            raise ContractError(
                f"a method reads a path or searches, never both; {self.run.__name__} says both"
            )
