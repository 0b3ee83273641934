"""The public page of a release: how the data were protected, and how to use and verify them.

It is computed from the published files alone and contains nothing that differs from run to run or
from machine to machine; for that reason its one picture is made of table cells.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.references import PAPERS
from expectations.published.verifier import CSV, PACKAGE, PARQUET
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
    columns = [groups[name].to_pylist() for name in numbered.column_names]
    moments = [_moments(values, counts) for values in columns]
    return Facts(sizes, dict(zip(keys, moments, strict=True)))


def _moments(values: list[float], counts: list[int]) -> Moments:
    total = sum(counts)
    numbers = [float(value) for value in values]
    # from the smallest on: sums of large numbers overflow
    least = min(numbers)
    mean = least + math.fsum(n * (v - least) for n, v in zip(counts, numbers, strict=True)) / total
    squares = math.fsum(n * (v - mean) ** 2 for n, v in zip(counts, numbers, strict=True))
    return Moments(mean, math.sqrt(squares / (total - 1)), least, max(numbers))


def methodology(package: Mapping[str, Any], facts: Facts) -> str:
    """Write the page.

    Parameters
    ----------
    package : mapping
        The content of ``datapackage.json``.
    facts : Facts
        Figures of the table.
    """
    claims = package["microrelease"]
    fields = package["resources"][0]["schema"]["fields"]
    return render(
        "methodology.html",
        package=package,
        claims=claims,
        columns=[(field["name"], field["type"], treatment(field, claims)) for field in fields],
        moments=facts.moments,
        sizes=size_ranges(facts.sizes),
        methods=METHODS,
        orderings=ORDERINGS,
        papers=PAPERS,
        files={"csv": CSV, "parquet": PARQUET, "package": PACKAGE},
    )


def treatment(field: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    """Describe the treatment of a column in a few words."""
    if field["microrelease:role"] != "quasi-identifier":
        return "as collected"
    if field["name"] in claims["integers"]:
        return "averaged, rounded to whole numbers"
    places = claims["decimals"].get(field["name"])
    if places is None:
        return "averaged"
    return f"averaged, rounded to {places} decimal{'' if places == 1 else 's'}"
