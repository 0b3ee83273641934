"""The public pages of a release: how the data were protected, and how to use and verify them.

They are computed from the published files alone and contain nothing that differs from run to run or
from machine to machine; for that reason the one picture is made of table cells.
"""

import math
from dataclasses import dataclass

import pyarrow as pa

from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.references import PAPERS
from expectations.published.claims import Claims
from expectations.published.verifier import CSV, PACKAGE, PARQUET, field_type
from tasks.reporting.page import render
from tasks.reporting.sizes import size_ranges


@dataclass(frozen=True)
class Moments:
    """Published figures of one averaged column, in its own unit."""

    mean: float
    deviation: float
    smallest: float
    largest: float


@dataclass(frozen=True)
class Facts:
    """Figures of the published table.

    Attributes
    ----------
    sizes : dict of int to int
        How many groups there are of each size.
    moments : dict of str to Moments
        Figures of each averaged column.
    """

    sizes: dict[int, int]
    moments: dict[str, Moments]


def facts_of(table: pa.Table, keys: list[str]) -> Facts:
    """Compute the figures of a published table by exact sums, the same on every machine."""
    # under names of our own: a column may be called as the count is
    numbered = table.select(keys).rename_columns([str(i) for i in range(len(keys))])
    groups = numbered.group_by(numbered.column_names).aggregate([([], "count_all")])
    counts = groups["count_all"].to_pylist()
    sizes = {size: counts.count(size) for size in sorted(set(counts))}
    moments = {
        key: _moments(groups[str(i)].to_pylist(), counts)
        for i, key in enumerate(keys)
        if field_type(table.schema.field(key).type) in ("integer", "number")
    }
    return Facts(sizes, moments)


def _moments(values: list[float], counts: list[int]) -> Moments:
    total = sum(counts)
    numbers = [float(value) for value in values]
    # from the smallest on: sums of large numbers overflow
    least = min(numbers)
    mean = least + math.fsum(n * (v - least) for n, v in zip(counts, numbers, strict=True)) / total
    squares = math.fsum(n * (v - mean) ** 2 for n, v in zip(counts, numbers, strict=True))
    return Moments(mean, math.sqrt(squares / (total - 1)), least, max(numbers))


def methodology(claims: Claims, facts: Facts) -> str:
    """Write the page.

    Parameters
    ----------
    claims : Claims
        The content of ``datapackage.json``.
    facts : Facts
        Figures of the table.
    """
    return render(
        "methodology.html",
        claims=claims,
        columns=_columns(claims),
        moments=facts.moments,
        sizes=size_ranges(facts.sizes),
        methods=METHODS,
        orderings=ORDERINGS,
        papers=PAPERS,
        files={"csv": CSV, "parquet": PARQUET, "package": PACKAGE},
    )


def readme(claims: Claims) -> str:
    """Write ``README.md``, the short form of the page."""
    return render("readme.md", claims=claims, columns=_columns(claims))


def _columns(claims: Claims) -> list[tuple[str, str, str]]:
    """List the name, type and treatment of each column."""
    return [(name, kind, _treatment(name, claims)) for name, kind in claims.types.items()]


def _treatment(column: str, claims: Claims) -> str:
    """Describe the treatment of a column in a few words."""
    if column not in claims.quasi_identifiers:
        return "as collected"
    if column in claims.integers:
        return "averaged, rounded to whole numbers"
    places = claims.decimals.get(column)
    if places is None:
        return "averaged"
    return f"averaged, rounded to {places} decimal{'' if places == 1 else 's'}"
