"""The description of a published folder: written in one format, read in every format there was.

Version 0.1.0 wrote format 1, without a format number.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from algorithms.errors import IntegrityError

FORMAT = 2
"""The format that this version writes."""

SMALLEST_K = 2
MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}

EXACT, ROUNDED = 1e-9, 1e-4
"""Largest differences between equal figures that are written with all digits, or rounded."""


@dataclass(frozen=True)
class Resource:
    """A data file in the description."""

    path: str
    size: int
    sha256: str

    @property
    def format(self) -> str:
        """The ending of its name."""
        return self.path.split(".")[1]


@dataclass(frozen=True)
class Claims:
    """All claims of a published folder about itself.

    Attributes
    ----------
    format : int
        Number of its format.
    name, title, version, licence : str
        The dataset, the folder of the release in it, and the terms of use.
    resources : tuple of Resource
        The data files.
    types, roles : mapping of str to str
        Type and role of each column, in the order of the columns.
    period : str
        The period that was released.
    revision : int
        0 for the first publication of the period.
    rows : int
        Number of rows.
    k : int
        Smallest number of rows that share a combination of quasi-identifiers.
    method, ordering, ordering_options, options, recut, refine, each_column
        How the records were grouped, as in the section ``microaggregation`` of a spec.
    integers : tuple of str
        Columns whose averages are rounded to whole numbers.
    decimals : mapping of str to int
        Number of decimals to which the averages of a column are rounded.
    groups : int
        Number of groups.
    measures : mapping of str to float
        Measures that anyone can recompute from the folder.
    il_percent, il_rounding_percent, dld_percent : float
        Measures that need the originals.
    """

    format: int
    name: str
    title: str
    version: str
    licence: str
    resources: tuple[Resource, ...]
    types: Mapping[str, str]
    roles: Mapping[str, str]
    period: str
    revision: int
    rows: int
    k: int
    method: str
    ordering: str | None
    ordering_options: Mapping[str, Any]
    options: Mapping[str, Any]
    recut: bool
    refine: Mapping[str, Any] | None
    each_column: bool
    integers: tuple[str, ...]
    decimals: Mapping[str, int]
    groups: int
    measures: Mapping[str, float]
    il_percent: float
    il_rounding_percent: float
    dld_percent: float

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
            self._identity == other._identity
            and self.resources[0].sha256 == other.resources[0].sha256
            and _agree(self.measures, other.measures, EXACT)
            # format 1 has all digits of them
            and _agree(self._figures, other._figures, ROUNDED)
        )

    @property
    def _identity(self) -> tuple[object, ...]:
        """The claims that make a release, beside its data and its figures."""
        return (
            (self.name, self.title, self.version, self.licence, self.period, self.revision),
            (self.types, self.roles, self.rows, self.k, self.method, self.options),
            (self.ordering, self.ordering_options, self.recut, self.refine, self.each_column),
        )

    @property
    def _figures(self) -> dict[str, float]:
        return {
            "il_percent": self.il_percent,
            "il_rounding_percent": self.il_rounding_percent,
            "dld_percent": self.dld_percent,
        }


def encode(claims: Claims) -> bytes:
    """Write a description as a Frictionless data package."""
    schema = {
        "fields": [
            {"name": name, "type": kind, "microrelease:role": claims.roles[name]}
            for name, kind in claims.types.items()
        ],
        "missingValues": [""],
    }
    package = {
        "profile": "tabular-data-package",
        "name": claims.name,
        "title": claims.title,
        "version": claims.version,
        "licenses": [{"name": claims.licence}],
        "resources": [
            {
                "name": f"data-{resource.format}",
                "path": resource.path,
                "format": resource.format,
                "mediatype": MEDIA_TYPES[resource.format],
                "bytes": resource.size,
                "hash": f"sha256:{resource.sha256}",
                "schema": schema,
            }
            for resource in claims.resources
        ],
        "microrelease": {
            "format": claims.format,
            "period": claims.period,
            "revision": claims.revision,
            "rows": claims.rows,
            "k": claims.k,
            "method": claims.method,
            "ordering": claims.ordering,
            "ordering_options": claims.ordering_options,
            "options": claims.options,
            "recut": claims.recut,
            "refine": claims.refine,
            "each_column": claims.each_column,
            "integers": claims.integers,
            "decimals": claims.decimals,
            "groups": claims.groups,
            "measures": claims.measures,
            **claims._figures,
        },
    }
    return json.dumps(package, indent=2, ensure_ascii=False).encode() + b"\n"


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


def _format_1(package: Any) -> Claims:
    """Read format 1 or 2; format 2 added only the format number."""
    claims, resources = package["microrelease"], package["resources"]
    fields = resources[0]["schema"]["fields"]
    if type(claims["k"]) is not int or claims["k"] < SMALLEST_K:
        raise ValueError("k")
    read = Claims(
        format=claims.get("format", 1),
        name=package["name"],
        title=package["title"],
        version=package["version"],
        licence=package["licenses"][0]["name"],
        resources=tuple(
            Resource(str(r["path"]), int(r["bytes"]), str(r["hash"]).removeprefix("sha256:"))
            for r in resources
        ),
        types={str(f["name"]): str(f["type"]) for f in fields},
        roles={str(f["name"]): str(f["microrelease:role"]) for f in fields},
        period=claims["period"],
        revision=claims["revision"],
        rows=int(claims["rows"]),
        k=claims["k"],
        method=claims["method"],
        ordering=claims["ordering"],
        ordering_options=claims["ordering_options"],
        options=claims["options"],
        recut=claims["recut"],
        refine=claims["refine"],
        each_column=claims["each_column"],
        integers=tuple(claims["integers"]),
        decimals=claims["decimals"],
        groups=claims["groups"],
        measures={str(name): float(value) for name, value in claims["measures"].items()},
        il_percent=float(claims["il_percent"]),
        il_rounding_percent=float(claims["il_rounding_percent"]),
        dld_percent=float(claims["dld_percent"]),
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
