"""Measures, and the number of digits that may be published."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
        """A sentence on how the value was estimated."""
        return f"Estimated: {self.how}"


@dataclass(frozen=True)
class Certified:
    """A value that is proven, by a proof that depends on the rounds or time granted for it.

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
        """A sentence on how the value was proven."""
        return f"Proven: {self.how}"


@dataclass(frozen=True)
class Omitted:
    """A measure that could be expected and is left out.

    Attributes
    ----------
    why : str
        The reason, for people.
    """

    why: str

    @property
    def note(self) -> str:
        """A sentence on why there is no value."""
        return f"Left out: {self.why}"


def figure(value: float) -> float:
    """Round a value that was computed from originals to the digits that may be written.

    A figure with all its digits is an exact equation in the originals. Together with the published
    file a few such equations can be solved for a cell, above all where cells are whole numbers.

    Examples
    --------
    >>> figure(16.93258762), figure(1234567.891)
    (16.9326, 1234570.0)
    """
    if value == 0.0 or not math.isfinite(value):
        # adding zero takes the sign off a zero
        return value + 0.0
    places = DIGITS - 1 - math.floor(math.log10(abs(value)))
    return round(float(value), min(DECIMALS, places)) + 0.0


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure on a masked file.

    Attributes
    ----------
    name : str
        Name in specs, manifests and tables.
    title : str
        Name in reports and messages.
    kind : {"risk", "utility"}
        Whether it measures risk or utility.
    unit : str
        Unit of its values; empty for a plain number.
    better : {"lower", "higher"}
        Which values are better: lower ones can have a ceiling, higher ones a floor.
    definition : str
        One or two sentences.
    paper : str
        Key of the paper that defines it, in ``algorithms/references.py``.
    run : callable
        ``run(comparison, *, options)`` or, if it needs no original, ``run(released, *, options)``;
        it returns None if the measure does not apply. Its keyword-only parameters are the measure's
        options.
    needs_original : bool
        Whether it needs the originals. If not, it receives the published file only, and anyone who
        has that file can compute it.
    least, most : float
        Range of its values, if every group holds at least ``k`` records.
    over_k : bool
        Whether ``most`` is divided by ``k``.
    """

    name: str
    title: str
    kind: Literal["risk", "utility"]
    unit: str
    better: Literal["lower", "higher"]
    definition: str
    paper: str
    run: Callable[..., "float | Estimate | Certified | Omitted | None"]
    needs_original: bool = True
    least: float = 0.0
    most: float = math.inf
    over_k: bool = False

    @cached_property
    def options(self) -> tuple[str, ...]:
        """Names of the options that it takes."""
        parameters = inspect.signature(self.run).parameters.values()
        return tuple(entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY)

    def range_at(self, k: int) -> tuple[float, float]:
        """Give the range of its values if every group holds at least ``k`` records."""
        return self.least, self.most / k if self.over_k else self.most

    def worst_at(self, k: int) -> float:
        """Give its worst possible value if every group holds at least ``k`` records."""
        return self.range_at(k)[1 if self.better == "lower" else 0]

    def tolerates_all(self, limit: float, k: int) -> bool:
        """Check whether a limit allows every value that groups of at least ``k`` can have."""
        worst = self.worst_at(k)
        return limit >= worst if self.better == "lower" else limit <= worst

    def shown(self, value: float) -> str:
        """Write a value with its unit."""
        number = f"{value:.0f}" if float(value).is_integer() and not self.unit else f"{value:.4f}"
        return f"{number} {self.unit}".strip()
