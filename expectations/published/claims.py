"""Reads the description of a published folder, in every format that was ever written.

Format 1 is that of version 0.1.0, which wrote no number.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from algorithms.errors import IntegrityError

FORMAT = 2
"""The format that is written."""

SMALLEST_K = 2
IDENTITY = (
    "period", "revision", "rows", "k", "method", "ordering", "ordering_options", "options",
    "recut", "refine", "each_column",
)  # fmt: skip
"""Claims that make a release, beside its data, its columns and its figures."""

EXACT, ROUNDED = 1e-9, 1e-4
"""How far figures may differ that are written with all digits, and with few."""

FIGURES = ("il_percent", "il_rounding_percent", "dld_percent")


@dataclass(frozen=True)
class Resource:
    """One data file, as the description has it."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Claims:
    """Everything that a published folder says of itself.

    Attributes
    ----------
    format : int
        Number of the format it is written in.
    identity : mapping
        Name, title, version, licences and the claims listed in ``IDENTITY``.
    resources : tuple of Resource
        The data files.
    types, roles : mapping of str to str
        Type and role of each column, in the order of the columns.
    k : int
        Each combination of quasi-identifiers stands in at least so many rows.
    rows : int
        How many rows there are.
    measures : mapping of str to float
        Measures that anyone can recompute from the folder.
    figures : mapping of str to float
        Measures that need the originals.
    """

    format: int
    identity: Mapping[str, Any]
    resources: tuple[Resource, ...]
    types: Mapping[str, str]
    roles: Mapping[str, str]
    k: int
    rows: int
    measures: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns for which k is promised."""
        return tuple(name for name, role in self.roles.items() if role == "quasi-identifier")

    def same_release(self, other: "Claims") -> bool:
        """Tell whether two folders publish the same data with the same claims.

        Pages, the bytes of a Parquet writer and measures that only one of two versions knows make
        no difference.
        """
        return (
            self.identity == other.identity
            and (dict(self.types), dict(self.roles)) == (dict(other.types), dict(other.roles))
            and self.resources[0].sha256 == other.resources[0].sha256
            and _agree(self.measures, other.measures, EXACT)
            # format 1 had all digits of them
            and _agree(self.figures, other.figures, ROUNDED)
        )


def claims_of(content: bytes) -> Claims:
    """Read a description.

    Raises
    ------
    ValueError
        If it is not the description of a release.
    IntegrityError
        If it is in a format that a later version writes.
    """
    try:
        package = json.loads(content)
        number = package["microrelease"].get("format", 1)
        if type(number) is int and number > FORMAT:
            raise IntegrityError(
                f"a release must be in a format that this version reads (1 to {FORMAT}); it is in "
                f"format {number}: use a later version of microrelease"
            )
        return READERS[number](package)
    except (KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None


def _format_1(package: dict[str, Any]) -> Claims:
    """Read what version 0.1.0 wrote; format 2 added its number."""
    claims, resources = package["microrelease"], package["resources"]
    fields = resources[0]["schema"]["fields"]
    if type(claims["k"]) is not int or claims["k"] < SMALLEST_K:
        raise ValueError("k")
    read = Claims(
        format=claims.get("format", 1),
        identity={
            **{key: package[key] for key in ("name", "title", "version", "licenses")},
            **{key: claims[key] for key in IDENTITY},
        },
        resources=tuple(
            Resource(str(r["path"]), int(r["bytes"]), str(r["hash"]).removeprefix("sha256:"))
            for r in resources
        ),
        types={str(f["name"]): str(f["type"]) for f in fields},
        roles={str(f["name"]): str(f["microrelease:role"]) for f in fields},
        k=claims["k"],
        rows=int(claims["rows"]),
        measures={str(name): float(value) for name, value in claims["measures"].items()},
        figures={name: float(claims[name]) for name in FIGURES},
    )
    if not read.quasi_identifiers:
        raise ValueError("quasi-identifiers")
    return read


READERS = {1: _format_1, 2: _format_1}


def agrees(one: float, other: float, tolerance: float = EXACT) -> bool:
    """Tell whether two figures are the same, up to the last digits of arithmetic."""
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def _agree(one: Mapping[str, float], other: Mapping[str, float], tolerance: float) -> bool:
    return all(agrees(one[name], other[name], tolerance) for name in one.keys() & other.keys())
