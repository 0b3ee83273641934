"""What a measure is, and how many digits of it may be told."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from algorithms.comparison import Comparison

DECIMALS, DIGITS = 4, 6
"""Most decimals and most significant digits of a figure that was computed from originals."""


@dataclass(frozen=True)
class Estimate:
    """A value that was not computed exactly.

    Attributes
    ----------
    value : float
        The estimate.
    how : str
        How it was computed and how far it may be off, for people.
    """

    value: float
    how: str

    @property
    def note(self) -> str:
        """Say that the value is estimated, and how."""
        return f"Estimated: {self.how}"


@dataclass(frozen=True)
class Certified:
    """A value that is proven, by a proof that depends on the time granted for it.

    Attributes
    ----------
    value : float
        The proven value.
    how : str
        How it was proven, for people.
    """

    value: float
    how: str

    @property
    def note(self) -> str:
        """Say that the value is proven, and how."""
        return f"Proven: {self.how}"


def figure(value: float) -> float:
    """Round a value that was computed from originals as far as it may be written down.

    A figure with all its digits is an exact equation in the originals. Together with the published
    file a few such equations can be solved for a cell, above all where cells are whole numbers.

    Examples
    --------
    >>> figure(16.93258762), figure(1234567.891)
    (16.9326, 1234570.0)
    """
    if value == 0.0 or not math.isfinite(value):
        return value
    places = DIGITS - 1 - math.floor(math.log10(abs(value)))
    # adding zero takes the sign off a zero
    return round(float(value), min(DECIMALS, places)) + 0.0


@dataclass(frozen=True)
class Measure:
    """A figure on a masked file.

    Attributes
    ----------
    name : str
        In specs, manifests and tables.
    title : str
        For people.
    kind : {"risk", "utility"}
        What it tells of.
    unit : str
        Of its values; empty for a plain number.
    better : {"lower", "higher"}
        Which values are wished for, and so whether it can have a ceiling or a floor.
    definition : str
        One sentence or two.
    paper : str
        Key of the paper that defines it, in ``algorithms/references.py``.
    run : callable
        ``run(comparison)``; none where the measure does not apply.
    needs_original : bool
        Whether it takes the originals; if not, anyone who has the published file can compute it.
    worst : float, optional
        The worst value that it can take where every group holds at least ``k`` records; none if
        there is no such value. A limit that tolerates it can never refuse anything.
    over_k : bool
        Whether ``worst`` is to be divided by ``k``.
    """

    name: str
    title: str
    kind: Literal["risk", "utility"]
    unit: str
    better: Literal["lower", "higher"]
    definition: str
    paper: str
    run: "Callable[[Comparison], float | Estimate | Certified | None]"
    needs_original: bool = True
    worst: float | None = None
    over_k: bool = False

    def tolerates_all(self, limit: float, k: int) -> bool:
        """Tell whether a limit can refuse nothing, where every group holds at least ``k``."""
        worst = self.worst_at(k)
        if worst is None:
            return False
        return limit >= worst if self.better == "lower" else limit <= worst

    def worst_at(self, k: int) -> float | None:
        """Give the worst value that it can take where every group holds at least ``k``."""
        return self.worst if self.worst is None or not self.over_k else self.worst / k

    def shown(self, value: float) -> str:
        """Write a value with its unit."""
        number = f"{value:.0f}" if float(value).is_integer() and not self.unit else f"{value:.4f}"
        return f"{number} {self.unit}".strip()
