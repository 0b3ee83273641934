"""The public page of a release: what was done to the data, what that means, how to check it.

It is computed from the published files alone and holds nothing that differs from run to run or
from machine to machine; for that reason its one picture is made of table cells.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from algorithms.microaggregation import METHODS
from algorithms.microaggregation.method import Method
from algorithms.orderings import ORDERINGS
from algorithms.orderings.ordering import Ordering
from algorithms.references import PAPERS
from expectations.published.verifier import CSV, PACKAGE, PARQUET
from tasks.reporting import page
from tasks.reporting.page import Html
from tasks.reporting.sizes import size_table

REFINEMENT = (
    "The groups were improved step by step: records moved between groups, and groups that lie near "
    "each other were taken apart and formed again, where that brought averages closer to the "
    "original values."
)


@dataclass(frozen=True)
class Moments:
    """What is published of one averaged column, in its own unit."""

    mean: float
    deviation: float
    smallest: float
    largest: float


@dataclass(frozen=True)
class Facts:
    """What the published table tells of itself.

    Attributes
    ----------
    sizes : dict of int to int
        How many groups there are of each size.
    moments : dict of str to Moments
        Of each averaged column.
    """

    sizes: dict[int, int]
    moments: dict[str, Moments]


def facts_of(table: pa.Table, keys: list[str]) -> Facts:
    """Read from a published table what the page tells; exact sums, the same on every machine."""
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
        What ``datapackage.json`` says.
    facts : Facts
        What the table tells.
    """
    sections = {
        "What was done": _done(package),
        "What this guarantees, and what not": _guarantees(package),
        "What it cost": _cost(package),
        "Columns": _columns(package, facts),
        "Sizes of groups": size_table(facts.sizes),
        "How to use the data": _use(package),
        "How to verify the files": _verify(package),
    }
    claims = package["microrelease"]
    revision = f", revision {claims['revision']}" if claims["revision"] else ""
    overview = page.definitions(
        [
            ("Records", f"{claims['rows']:,}"),
            ("Averaged columns", str(len(facts.moments))),
            ("k, the smallest group", str(claims["k"])),
            ("Groups", f"{claims['groups']:,}"),
            ("Information loss (IL)", f"{claims['il_percent']:.2f} %"),
            ("Linkage (DLD)", f"{claims['dld_percent']:.2f} %"),
            ("Licence", package["licenses"][0]["name"]),
        ]
    )
    body = page.together(
        [
            overview,
            page.contents(sections),
            *(page.section(heading, content) for heading, content in sections.items()),
        ]
    )
    return page.page(
        f"{package['title']}, {claims['period']}{revision}",
        body,
        about="Methodology · how these records were protected",
    )


def _done(package: Mapping[str, Any]) -> Html:
    claims = package["microrelease"]
    parts = [
        page.paragraph(
            "Similar records were put into groups by microaggregation. In the averaged columns "
            f"each record shows the average of its group, and every group holds at least k = "
            f"{claims['k']} records. All other columns show what was collected. Names and other "
            "direct identifiers were removed, and rows were sorted by their content, so that their "
            "order means nothing."
        ),
        page.paragraph(
            "Distances between records were measured on columns brought to mean zero and standard "
            "deviation one, so that no unit weighs more than another."
        ),
    ]
    method, ordering = claims["method"], claims["ordering"]
    steps: list[tuple[str, str]] = [_step("Method", method, claims["options"], METHODS[method])]
    if ordering is not None:
        options = claims["ordering_options"]
        steps.append(_step("Path", ordering, options, ORDERINGS[ordering]))
    if claims["recut"]:
        steps.append(
            ("Cut anew", "The groups were cut anew along the path through them, at the least loss.")
        )
    if claims.get("refine") is not None:
        refinement = replace(METHODS["best"], summary=REFINEMENT)
        steps.append(_step("Refinement", "best", claims["refine"], refinement))
    if claims["each_column"]:
        steps.append(("Each column", "Every averaged column was grouped on its own."))
    rounded = [*claims["integers"], *claims["decimals"]]
    if rounded:
        steps.append(("Rounding", f"Averages were rounded once, in: {', '.join(rounded)}."))
    return page.together(
        [*parts, page.table(["Step", "How"], steps, caption="In the order in which it was done")]
    )


def _step(
    name: str, what: str, options: Mapping[str, Any], algorithm: Method | Ordering
) -> tuple[str, str]:
    given = ", ".join(f"{option} = {value}" for option, value in options.items())
    return name, Html(
        f"{page.code(what)}{page.safe(f' with {given}' if given else '')}: "
        f"{page.explained(algorithm.summary, PAPERS[algorithm.paper])}"
    )


def _guarantees(package: Mapping[str, Any]) -> Html:
    claims = package["microrelease"]
    return page.bullets(
        [
            page.together(
                [
                    page.strong("Guaranteed:"),
                    f"every combination of values of the averaged columns stands in at least "
                    f"{claims['k']} records. Who knows these values of a person or an enterprise "
                    f"cannot tell which of at least {claims['k']} records is theirs. Anyone can "
                    "count this in the published files.",
                ]
            ),
            page.together(
                [
                    page.strong("Measured:"),
                    "an attacker who already holds the original values of all averaged columns, "
                    "and takes the two originals nearest to each published record, has the right "
                    f"one among them for {claims['dld_percent']:.2f} % of the records (DLD).",
                ]
            ),
            page.together(
                [
                    page.strong("Not guaranteed:"),
                    "columns that were not averaged are as collected. If all records of a group "
                    "agree on one of them, who finds the group learns that value; and who knows "
                    "such a column, too, may tell records of a group apart.",
                ]
            ),
            page.together(
                [
                    page.strong("Not guaranteed:"),
                    "that averages lie far from the truth. Where the members of a group are alike, "
                    "their average is near each of them.",
                ]
            ),
        ]
    )


def _cost(package: Mapping[str, Any]) -> Html:
    claims = package["microrelease"]
    loss, rounding = claims["il_percent"], claims["il_rounding_percent"]
    return page.together(
        [
            page.paragraph(
                f"Averaging took away {loss:.4f} % of the variance of the averaged columns, each "
                "brought to the same scale (information loss, IL = 100 SSE / SST)."
                + (f" Of that, {rounding:.4g} is due to rounding averages." if rounding else "")
            ),
            page.paragraph(
                f"Variances of averaged columns are therefore smaller than in the original data, "
                f"by {loss:.1f} % on average; single columns can differ from that."
            ),
        ]
    )


def _columns(package: Mapping[str, Any], facts: Facts) -> Html:
    claims = package["microrelease"]
    fields = package["resources"][0]["schema"]["fields"]
    treated = page.table(
        ["Column", "Type", "Treatment"],
        [(field["name"], field["type"], treatment(field, claims)) for field in fields],
        caption="Every published column",
    )
    published = page.table(
        ["Averaged column", "Mean", "Standard deviation", "Smallest", "Largest"],
        [
            (name, *(page.plain(v) for v in (m.mean, m.deviation, m.smallest, m.largest)))
            for name, m in facts.moments.items()
        ],
        caption="As published; use these to see that you read the files right",
        numbers=(1, 2, 3, 4),
    )
    return page.together([treated, published])


def treatment(field: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    """Say what was done to a column."""
    if field["microrelease:role"] != "quasi-identifier":
        return "as collected"
    if field["name"] in claims["integers"]:
        return "averaged, rounded"
    places = claims["decimals"].get(field["name"])
    if places is None:
        return "averaged"
    return f"averaged, rounded to {places} decimal{'' if places == 1 else 's'}"


def _use(package: Mapping[str, Any]) -> Html:
    claims = package["microrelease"]
    kept = 1.0 - claims["il_percent"] / 100.0
    correction = f" To correct a variance roughly, divide it by {kept:.4f}." if kept > 0.5 else ""
    return page.bullets(
        [
            "Means and totals of averaged columns are those of the original data, up to rounding.",
            "Variances and standard deviations are too small, and so are differences between "
            f"records.{correction}",
            "Correlations between averaged columns tend to be larger than in the original data; "
            "those with other columns tend to be smaller.",
            "Quantiles are reliable in the middle and pulled inwards at the ends. The smallest and "
            "the largest value are averages, too.",
            "Means of large parts of the data are reliable. Those of small parts are pulled "
            "towards each other, for a group may reach across parts.",
            f"In the averaged columns {claims['groups']:,} groups carry the information, not "
            f"{claims['rows']:,} records: standard errors computed from records are too small.",
        ]
    )


def _verify(package: Mapping[str, Any]) -> Html:
    return page.together(
        [
            page.paragraph(
                page.code(CSV), "and", page.code(PARQUET), "hold the same records.",
                page.code(PACKAGE), "describes columns and types and carries the SHA-256 of both.",
                "This recomputes them, compares the two files cell by cell, and counts every "
                "combination of the averaged columns:",
            ),
            page.preformatted("microrelease verify FOLDER", "How to verify"),
            page.paragraph(
                "Without it,", page.code(f"sha256sum {CSV} {PARQUET}"), "must print these:"
            ),
            page.table(
                ["File", "Bytes", "SHA-256"],
                [
                    (
                        resource["path"],
                        f"{resource['bytes']:,}",
                        page.code(resource["hash"].removeprefix("sha256:")),
                    )
                    for resource in package["resources"]
                ],
                caption="The files as they were published",
                numbers=(1,),
            ),
        ]
    )  # fmt: skip
