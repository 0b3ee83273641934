"""What a measure is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from algorithms.comparison import Comparison


@dataclass(frozen=True)
class Estimate:
    """A value that was not computed exactly.

    Attributes
    ----------
    value : float
        The estimate.
    how : str
        How it was found and how far it may be off, for people.
    """

    value: float
    how: str


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
        Key of the paper that defines it, in ``docs/references.bib``.
    run : callable
        ``run(comparison)``; none where the measure does not apply.
    needs_original : bool
        Whether it takes the originals; if not, anyone who has the published file can compute it.
    """

    name: str
    title: str
    kind: Literal["risk", "utility"]
    unit: str
    better: Literal["lower", "higher"]
    definition: str
    paper: str
    run: "Callable[[Comparison], float | Estimate | None]"
    needs_original: bool = True

    def shown(self, value: float) -> str:
        """Write a value with its unit."""
        number = f"{value:.0f}" if float(value).is_integer() and not self.unit else f"{value:.4f}"
        return f"{number} {self.unit}".strip()
