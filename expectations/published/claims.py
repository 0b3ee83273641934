"""Reads the description of a published folder, in every format that was ever written.

Version 0.1.0 wrote format 1, without a format number.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from algorithms.errors import IntegrityError

FORMAT = 2
"""The format that this version writes."""

SMALLEST_K = 2
IDENTITY = (
    "period", "revision", "rows", "k", "method", "ordering", "ordering_options", "options",
    "recut", "refine", "each_column",
)  # fmt: skip
"""Claims that identify a release, in addition to its data, columns and figures."""

EXACT, ROUNDED = 1e-9, 1e-4
"""Largest differences between equal figures that are written with all digits, or rounded."""

FIGURES = ("il_percent", "il_rounding_percent", "dld_percent")


@dataclass(frozen=True)
class Resource:
    """A data file in the description."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Claims:
    """All claims of a published folder about itself.

    Attributes
    ----------
    format : int
        Number of its format.
    identity : mapping
        Name, title, version, licences and the claims listed in ``IDENTITY``.
    resources : tuple of Resource
        The data files.
    types, roles : mapping of str to str
        Type and role of each column, in the order of the columns.
    k : int
        Smallest number of rows that share a combination of quasi-identifiers.
    rows : int
        Number of rows.
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
        """Check whether two folders publish the same data with the same claims.

        Pages, the bytes of the Parquet file and measures that only one of the folders has make no
        difference.
        """
        return (
            self.identity == other.identity
            and (dict(self.types), dict(self.roles)) == (dict(other.types), dict(other.roles))
            and self.resources[0].sha256 == other.resources[0].sha256
            and _agree(self.measures, other.measures, EXACT)
            # format 1 has all digits of them
            and _agree(self.figures, other.figures, ROUNDED)
        )


def claims_of(content: bytes) -> Claims:
    """Read a description.

    Raises
    ------
    ValueError
        If it is not the description of a release.
    IntegrityError
        If a later version wrote it, in a format that this version does not know.
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
    """Read format 1 or 2; format 2 added only the format number."""
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
    """Check whether two figures are equal up to rounding errors."""
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def _agree(one: Mapping[str, float], other: Mapping[str, float], tolerance: float) -> bool:
    return all(agrees(one[name], other[name], tolerance) for name in one.keys() & other.keys())
