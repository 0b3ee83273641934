"""How a function is run on many blocks: one after the other, or wherever a caller chooses."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
"""Named arrays: the input or the output of one block."""

Function = Callable[[Any, Arrays], Arrays]
"""A pure function of choices that all blocks share, and of the arrays of one block.

It is defined in a module, so that another process can import it.
"""


class Run(Protocol):
    """Runs a function on many blocks."""

    def __call__(
        self, name: str, function: Function, given: Any, blocks: Sequence[Arrays]
    ) -> list[Arrays]:
        """Give the results in the order of the blocks; ``name`` is shown if one fails."""


def in_order(
    name: str,  # noqa: ARG001 - errors of this process have a place of their own
    function: Function,
    given: Any,
    blocks: Sequence[Arrays],
) -> list[Arrays]:
    """Run a function on one block after the other, in this process.

    Examples
    --------
    >>> import numpy as np
    >>> in_order("double", lambda factor, block: {"x": factor * block["x"]}, 2, [{"x": np.ones(1)}])
    [{'x': array([2.])}]
    """
    return [function(given, block) for block in blocks]
