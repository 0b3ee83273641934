"""The description of a published folder: written in one format, read in every format there was.

Version 0.1.0 wrote format 1, without a format number. Format 2 added the number. Format 3 states
the kind of each quasi-identifier, and counts strata, other columns and published weights into k.
Format 4 states what holds together with earlier releases, and the reason of a revision.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from algorithms.errors import IntegrityError
from expectations.published.files import sha256_of_data
from expectations.published.series_claims import SeriesClaims

FORMAT = 4
"""The format that this version writes."""

KNOWN_SINCE = 3
"""The first format in which k counts all columns but the confidential ones."""

RECORDS, UNITS = "records", "units"
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

    @property
    def name(self) -> str:
        """Its name in the description, such as data-csv or part-00000-csv."""
        return self.path.split("/")[-1].replace(".", "-")


@dataclass(frozen=True)
class Kind:
    """The kind of a quasi-identifier, and what a group publishes of it.

    Attributes
    ----------
    kind : str
        number, date, ordered, category or hierarchy.
    whole : bool
        Whether averages are rounded to whole numbers.
    places : int, optional
        Number of decimals to which averages are rounded; None for all digits.
    unit : str
        Of a date: day, month or year.
    published : str
        Of labels and codes: the rule by which one is published.
    missing : str
        How missing values are treated; empty if there can be none.
    """

    kind: str
    whole: bool = False
    places: int | None = None
    unit: str = ""
    published: str = ""
    missing: str = ""

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Kind":
        """Read a kind."""
        return cls(**{"whole": False, **content})

    @property
    def content(self) -> dict[str, Any]:
        """The kind as JSON, without parts that do not apply."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and value is not False and value != ""
        }


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
    method, ordering, ordering_options, options, recut, refine, each_column, blocks
        How the records were grouped, as in the section ``microaggregation`` of a spec.
    kinds : mapping of str to Kind
        The kind of each quasi-identifier.
    counts : {"records", "units"}
        What k counts: rows of the file, or the persons, households or companies behind them, which
        the file does not show.
    small_strata : str
        How strata of fewer than k records were treated.
    enums : mapping of str to tuple of str
        The values that a column of labels may hold.
    groups : int
        Number of combinations of the columns that are counted into k.
    measures : mapping of str to float
        Measures that anyone can recompute from the folder.
    il_percent, il_rounding_percent, dld_percent : float
        Measures that need the originals.
    figures : mapping of str to float
        Further measures that need the originals, for people who use the data.
    revision_reason : str
        Why the period is published again; empty for its first publication.
    series : SeriesClaims, optional
        What holds together with earlier releases; None if the publisher says nothing about them.
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
    kinds: Mapping[str, Kind]
    groups: int
    measures: Mapping[str, float]
    il_percent: float
    il_rounding_percent: float
    dld_percent: float
    counts: str = RECORDS
    small_strata: str = "block"
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    revision_reason: str = ""
    series: SeriesClaims | None = None
    blocks: Mapping[str, int] | None = None

    @property
    def muted(self) -> int:
        """Number of muted records."""
        return 0 if self.series is None else self.series.muted

    @property
    def emptied(self) -> tuple[str, ...]:
        """The columns that are empty in muted records."""
        return self.of_role("other") + self.of_role("confidential")

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that are counted into k: all but confidential ones.

        Formats 1 and 2 counted quasi-identifiers only.
        """
        if self.format < KNOWN_SINCE:
            return self.quasi_identifiers
        return tuple(name for name, role in self.roles.items() if role != "confidential")

    @property
    def known_in_words(self) -> str:
        """Which columns are counted into k, and how many they are."""
        which = "quasi-identifiers" if self.format < KNOWN_SINCE else "columns counted into k"
        return f"the {len(self.known)} {which}"

    @property
    def limits_in_words(self) -> tuple[str, ...]:
        """What the files alone cannot show about k, or do not promise."""
        beside = [name for name in self.roles if name not in self.known]
        unsigned = [name for name in beside if self.roles[name] != "confidential"]
        limits = []
        if unsigned:
            limits.append(
                f"format {self.format} does not count columns that stand beside the "
                f"quasi-identifiers: {', '.join(unsigned)}"
            )
        if self.counts == UNITS:
            limits.append(
                "k counts units, such as persons or households, which the files do not show; rows "
                "were counted"
            )
        if self.series is not None and self.series.candidates_min is not None:
            limits.append(
                "how many persons may be behind a record if releases are compared was counted "
                "before publication; the files do not show it"
            )
        return tuple(limits)

    @property
    def data_sha256(self) -> str | None:
        """The SHA-256 of all records, as the CSV files hold them."""
        return sha256_of_data({each.path: each.sha256 for each in self.resources})

    def of_role(self, role: str) -> tuple[str, ...]:
        """Name the columns of a role."""
        return tuple(name for name, own in self.roles.items() if own == role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that were microaggregated."""
        return self.of_role("quasi-identifier")

    def same_release(self, other: "Claims") -> bool:
        """Check whether two folders publish the same data with the same claims.

        Pages, the bytes of the Parquet file and measures that only one of the folders has make no
        difference.
        """
        return (
            self._identity == other._identity
            and self.data_sha256 == other.data_sha256
            and _agree(self.measures, other.measures, EXACT)
            # format 1 has all digits of them
            and _agree(self._figures, other._figures, ROUNDED)
            and self._same_series(other)
        )

    def _same_series(self, other: "Claims") -> bool:
        """Compare claims about earlier releases, which only one of the folders may have."""
        return (
            self.series is None
            or other.series is None
            or self.series.identity == other.series.identity
        )

    @property
    def _identity(self) -> tuple[object, ...]:
        """The claims that make a release, beside its data and its figures."""
        return (
            (self.name, self.title, self.version, self.licence, self.period, self.revision),
            (self.types, self.roles, self.rows, self.k, self.method, self.options),
            (self.ordering, self.ordering_options, self.recut, self.refine, self.each_column),
            (self.kinds, self.counts, self.small_strata, self.blocks),
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
            {
                "name": name,
                "type": kind,
                "microrelease:role": claims.roles[name],
                **(
                    {"microrelease:kind": claims.kinds[name].content}
                    if name in claims.kinds
                    else {}
                ),
                **({"constraints": {"enum": claims.enums[name]}} if name in claims.enums else {}),
            }
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
                "name": resource.name,
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
            "revision_reason": claims.revision_reason,
            "rows": claims.rows,
            "k": claims.k,
            "method": claims.method,
            "ordering": claims.ordering,
            "ordering_options": claims.ordering_options,
            "options": claims.options,
            "recut": claims.recut,
            "refine": claims.refine,
            "each_column": claims.each_column,
            # only where there are blocks: other releases keep their bytes
            **({} if claims.blocks is None else {"blocks": claims.blocks}),
            "small_strata": claims.small_strata,
            "k_counts": claims.counts,
            "groups": claims.groups,
            "measures": claims.measures,
            **claims._figures,
            "figures": claims.figures,
            "series": None if claims.series is None else claims.series.content,
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


def _rounded_numbers(package: Any) -> dict[str, Kind]:
    """Read the kinds of formats 1 and 2, which knew numbers only."""
    claims = package["microrelease"]
    whole, places = tuple(claims["integers"]), claims["decimals"]
    return {
        column["name"]: Kind(
            "number", whole=column["name"] in whole, places=places.get(column["name"])
        )
        for column in package["resources"][0]["schema"]["fields"]
        if column["microrelease:role"] == "quasi-identifier"
    }


def _stated(package: Any) -> dict[str, Kind]:
    """Read the kinds of format 3 and later."""
    fields = package["resources"][0]["schema"]["fields"]
    return {
        column["name"]: Kind.of(column["microrelease:kind"])
        for column in fields
        if column["microrelease:role"] == "quasi-identifier"
    }


def _format_4(package: Any) -> Claims:
    """Read format 4."""
    claims = package["microrelease"]
    series, blocks = claims["series"], claims.get("blocks")
    return replace(
        _format_3(package),
        revision_reason=str(claims["revision_reason"]),
        series=None if series is None else SeriesClaims.of(series),
        blocks=None if blocks is None else {name: int(blocks[name]) for name in ("rows", "seams")},
    )


def _format_3(package: Any) -> Claims:
    """Read format 3."""
    claims = package["microrelease"]
    if claims["k_counts"] not in (RECORDS, UNITS):
        raise ValueError("k_counts")
    fields = package["resources"][0]["schema"]["fields"]
    return replace(
        _format_1(package, _stated),
        counts=claims["k_counts"],
        small_strata=str(claims["small_strata"]),
        enums={
            str(column["name"]): tuple(map(str, column["constraints"]["enum"]))
            for column in fields
            if "constraints" in column
        },
        figures={str(name): float(value) for name, value in claims["figures"].items()},
    )


def _format_1(package: Any, kinds: Callable[[Any], dict[str, Kind]] = _rounded_numbers) -> Claims:
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
        kinds=kinds(package),
        groups=claims["groups"],
        measures={str(name): float(value) for name, value in claims["measures"].items()},
        il_percent=float(claims["il_percent"]),
        il_rounding_percent=float(claims["il_rounding_percent"]),
        dld_percent=float(claims["dld_percent"]),
    )
    if not read.quasi_identifiers:
        raise ValueError("quasi-identifiers")
    return read


READERS: dict[int, Callable[[Any], Claims]] = {
    1: _format_1,
    2: _format_1,
    3: _format_3,
    4: _format_4,
}


def agrees(one: float, other: float, tolerance: float = EXACT) -> bool:
    """Check whether two figures are equal up to rounding errors."""
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def _agree(one: Mapping[str, float], other: Mapping[str, float], tolerance: float) -> bool:
    return all(agrees(one[name], other[name], tolerance) for name in one.keys() & other.keys())
