"""The report of one attempt, for the auditor: decision first, then all that led to it."""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import yaml

from algorithms.evaluation import Evaluation
from algorithms.measures import MEASURES
from algorithms.profile import ColumnProfile, Profile
from algorithms.utility.moments import QUANTILES
from expectations.gate import Verdict
from expectations.request.named import Change
from tasks.reporting import page, pictures
from tasks.reporting.page import Html
from tasks.reporting.sizes import size_table

DECISIONS: Mapping[str, tuple[str, str, str]] = {
    "approved": (
        "good",
        "Approved for publication",
        "Every limit was kept. Once the public folder was there, the register got a line that says "
        "“published”.",
    ),
    "unchanged": (
        "plain",
        "Unchanged",
        "The same data and claims were published before; nothing was changed.",
    ),
    "sealed": (
        "plain",
        "Waits for a reviewer",
        "Every limit was kept. The files are sealed; nothing is published before a person approves "
        "of them.",
    ),
    "rejected": ("bad", "Rejected", "Nothing was published."),
    "blocked": ("bad", "Blocked", "Nothing was published."),
    "failed": ("bad", "Failed", "Nothing was published."),
}
MOST_PAIRS = 8
"""Changes of correlations that are listed."""


def release_report(record: Mapping[str, Any], profile: Profile | None = None) -> str:
    """Write the page of one attempt, published, blocked or failed.

    Parameters
    ----------
    record : mapping
        What the manifest says; every figure is taken from it. Parts that the attempt did not come
        to are missing.
    profile : Profile, optional
        What may be drawn of originals.
    """
    release = record["release"]
    sections = {
        heading: content
        for heading, build in SECTIONS.items()
        if (content := build(record, profile))
    }
    revision = f", revision {release['revision']}" if release.get("revision") else ""
    body = page.together(
        [
            _decision(record),
            _overview(record),
            page.contents(sections),
            *(page.section(heading, content) for heading, content in sections.items()),
        ]
    )
    return page.page(
        f"{release.get('title') or release['name']}, {release['period']}{revision}",
        body,
        about=f"Release report · attempt {record['attempt']} · internal",
    )


def _decision(record: Mapping[str, Any]) -> Html:
    kind, heading, sentence = DECISIONS[record["decision"]]
    reason = record.get("reason", "")
    return page.notice(
        kind,
        heading,
        *(page.paragraph(part) for part in (f"{reason[:1].upper()}{reason[1:]}.", sentence))
        if reason
        else [page.paragraph(sentence)],
        *(page.paragraph(page.strong("Warning:"), text) for text in record.get("warnings", ())),
    )


def _overview(record: Mapping[str, Any]) -> Html:
    facts: list[tuple[str, str]] = []
    if "spec" in record:
        how = record["spec"]["microaggregation"]
        facts += [("Method", _method(how)), ("k asked for", str(how["k"]))]
    if "input" in record:
        facts += [("Records", f"{record['input']['rows']:,}")]
    if "evaluation" in record:
        facts += [("Groups published", f"{record['evaluation']['groups']:,}")]
    facts += [
        (f"{key.capitalize()}, UTC", record[key].removesuffix("+00:00").replace("T", " "))
        for key in ("started", "ended")
        if key in record
    ]
    if record.get("started_by"):
        facts += [("Started by", record["started_by"])]
    if "review" in record:
        review = record["review"]
        said = "approved" if review["approved"] else "rejected"
        facts += [
            ("Reviewed by", f"{review['reviewer']}, who {said}"),
            ("Reason given", review["reason"] or "none"),
            ("Candidate", f"{review['candidate']}, whose report has the pictures"),
        ]
    if "seconds" in record:
        facts += [("Took", f"{record['seconds']} s")]
    return page.definitions(facts)


def _method(how: Mapping[str, Any]) -> str:
    along = f" along {how['ordering']}" if how["ordering"] else ""
    return f"{how['method']}{along}"


def _gate(record: Mapping[str, Any], _: Profile | None) -> str:
    if not record.get("gate"):
        return ""
    verdicts = [Verdict(**verdict) for verdict in record["gate"]]
    rows = [
        (
            verdict.title,
            verdict.shown_value,
            verdict.shown_limit,
            page.verdict(verdict.passed),
        )
        for verdict in verdicts
    ]
    evaluation = Evaluation(**record["evaluation"])
    said = evaluation.certificate
    return page.together(
        [
            page.table(
                ["Measure", "Value", "Limit", "Verdict"],
                rows,
                caption="Each gated measure against its limit",
                numbers=(1, 2),
            ),
            page.paragraph(page.strong("Certificate."), f"{said[0].upper()}{said[1:]}."),
        ]
    )


def _measures(record: Mapping[str, Any], _: Profile | None) -> str:
    if "evaluation" not in record:
        return ""
    evaluation = Evaluation(**record["evaluation"])
    tables = []
    for kind, caption in (
        ("utility", "What the data lost"),
        ("risk", "What an attacker could still learn"),
    ):
        rows = [
            (
                page.explained(
                    measure.title,
                    " ".join(filter(None, [measure.definition, _note(evaluation, name)])),
                ),
                measure.shown(evaluation.measures[name]),
                measure.better,
            )
            for name, measure in MEASURES.items()
            if measure.kind == kind and name in evaluation.measures
        ]
        tables.append(
            page.table(["Measure", "Value", "Better"], rows, caption=caption, numbers=(1,))
        )
    return page.together(tables)


def _note(evaluation: Evaluation, name: str) -> str:
    return f"{evaluation.notes[name]}." if name in evaluation.notes else ""


def _columns(record: Mapping[str, Any], profile: Profile | None) -> str:
    if "evaluation" not in record or "spec" not in record:
        return ""
    evaluation = Evaluation(**record["evaluation"])
    if not evaluation.columns:
        return ""
    names = record["spec"]["columns"]["quasi_identifiers"]
    # an evaluation leaves out quantiles that would tell of fewer than k records
    quantiles = [p for p in QUANTILES if f"quantile_{p}_change" in evaluation.columns[0]]
    rows = [
        (
            name,
            page.signed(column["mean_change"]),
            f"{column['variance_ratio']:.4f}",
            *(page.signed(column[f"quantile_{percent}_change"]) for percent in quantiles),
        )
        for name, column in zip(names, evaluation.columns, strict=True)
    ]
    changes = page.table(
        ["Column", "Mean", "Variance", *(f"{percent} % quantile" for percent in quantiles)],
        rows,
        caption="Change of means and quantiles, in standard deviations of the original; variance "
        "published over original. A quantile is the average of the twentieth of all records "
        "around it; one that would tell of fewer than k records is left out",
        numbers=range(1, 3 + len(quantiles)),
    )
    return page.together([changes, *(_drawn(profile) if profile else ())])


def _drawn(profile: Profile) -> list[Html]:
    explanation = page.small(
        f"Pictures show no record: of each sorted column the {profile.k - 1} smallest and the "
        f"{profile.k - 1} largest values are left out, the others are averaged in blocks of at "
        f"least {profile.k}, and everything drawn is computed from these averages. Nothing is "
        "drawn outside their range."
    )
    return [explanation, *(_column_pictures(column) for column in profile.columns)]


def _column_pictures(column: ColumnProfile) -> Html:
    if not column.drawn:
        return page.subsection(
            column.name,
            page.paragraph(
                "Not drawn: too few records, or nearly all that may be shown are the same."
            ),
        )
    axis = "" if column.stretch is None else " The axis is stretched: logarithmic but near zero."
    return page.subsection(
        column.name,
        page.side_by_side(
            [
                page.figure(
                    pictures.as_svg(
                        pictures.density(column),
                        f"Density of {column.name}, original and published",
                    ),
                    f"Where records lie, before and after.{axis}",
                ),
                page.figure(
                    pictures.as_svg(
                        pictures.quantiles(column),
                        f"Quantiles of {column.name}, published over original",
                    ),
                    f"Quantiles from {100 * column.shares[0]:.1f} to "
                    f"{100 * column.shares[-1]:.1f} %; on the line nothing changed.",
                ),
            ]
        ),
    )


def _correlations(_: Mapping[str, Any], profile: Profile | None) -> str:
    if profile is None or len(profile.columns) < 2:
        return ""
    names = [column.name for column in profile.columns]
    before, after = profile.correlations_before, profile.correlations_after
    pairs = sorted(
        combinations(range(len(names)), 2), key=lambda pair: -abs(after[pair] - before[pair])
    )
    matrices = page.side_by_side(
        page.figure(
            pictures.as_svg(pictures.correlation(matrix, names), f"Correlations, {when}"),
            f"Correlations, {when}",
        )
        for matrix, when in ((before, "original"), (after, "published"))
    )
    changes = page.table(
        ["Columns", "Original", "Published", "Change"],
        [
            (
                f"{names[i]} and {names[j]}",
                f"{before[i, j]:.4f}",
                f"{after[i, j]:.4f}",
                page.signed(float(after[i, j] - before[i, j])),
            )
            for i, j in pairs[:MOST_PAIRS]
        ],
        caption="Correlations that changed most",
        numbers=(1, 2, 3),
    )
    return page.together([matrices, changes])


def _sizes(record: Mapping[str, Any], _: Profile | None) -> str:
    if "evaluation" not in record:
        return ""
    return size_table({int(size): count for size, count in record["evaluation"]["sizes"].items()})


def _linkage(_: Mapping[str, Any], profile: Profile | None) -> str:
    if profile is None:
        return ""
    rows = [
        (
            entry.name,
            f"{entry.alone:.4f} %",
            "" if entry.without is None else f"{entry.without:.4f} %",
        )
        for entry in profile.linkage
    ]
    note = profile.linkage_note
    return page.together(
        [
            page.figure(
                pictures.as_svg(pictures.linkage(profile), "DLD by columns"),
                "What an attacker links who knows one column only, or all but one. Where the "
                "square lies far left of the line, the column gives much away.",
            ),
            page.table(
                ["Column", "DLD by it alone", "DLD by all others"],
                [*rows, ("all columns", "", f"{profile.linkage_all:.4f} %")],
                caption="DLD by columns" + (f"; {note}" if note else ""),
                numbers=(1, 2),
            ),
        ]
    )


def _expectations(record: Mapping[str, Any], _: Profile | None) -> str:
    if not record.get("expectations"):
        return ""
    findings = record["expectations"]
    broken = sum(not finding["met"] for finding in findings)
    summary = f"{len(findings)} rules, {f'{broken} of them broken' if broken else 'all met'}."
    rules = page.table(
        ["Rule", "Suite", "Rows", "Verdict"],
        [
            (
                finding["rule"],
                finding["suite"],
                "" if finding["rows"] is None else str(finding["rows"]),
                page.verdict(finding["met"], ("met", "broken")),
            )
            for finding in findings
        ],
        caption="Rules of the source and of what would be published, and rows that break them",
        numbers=(2,),
    )
    return page.together([page.paragraph(summary), rules])


def _spec(record: Mapping[str, Any], _: Profile | None) -> str:
    if "spec" not in record:
        return ""
    text = yaml.safe_dump(record["spec"], sort_keys=False, allow_unicode=True)
    return page.together(
        [*_reviewed(record), page.preformatted(text.strip(), "The release spec of this run")]
    )


def _reviewed(record: Mapping[str, Any]) -> list[Html]:
    """Name the reviewed spec, and every value of which the run departed from it."""
    if "spec_file" not in record:
        return []
    file = record["spec_file"]
    facts = [("Reviewed spec", file["name"]), ("SHA-256 of the file", page.code(file["sha256"]))]
    changes = [Change(**change) for change in record.get("changes", ())]
    if not changes:
        return [page.definitions(facts), page.paragraph("This run changed nothing of it.")]
    rows = [
        (change.field, *(_shown(value) for value in (change.reviewed, change.used)))
        for change in changes
    ]
    caption = "Values that this run changed"
    return [
        page.definitions(facts),
        page.table(["Key", "Reviewed spec", "This run"], rows, caption=caption, numbers=(1, 2)),
    ]


def _shown(value: object) -> str:
    return "none" if value is None else str(value)


def _provenance(record: Mapping[str, Any], _: Profile | None) -> str:
    parts = []
    if "input" in record:
        source = record["input"]
        parts.append(
            page.subsection(
                "Input",
                page.definitions(
                    [
                        ("SHA-256", page.code(source["sha256"])),
                        ("Bytes", f"{source['bytes']:,}"),
                        ("Rows", f"{source['rows']:,}"),
                        ("Columns", str(source["columns"])),
                    ]
                ),
            )
        )
    if "code" in record:
        code = record["code"]
        parts.append(
            page.subsection(
                "Code",
                page.definitions(
                    [
                        ("Version", str(code["version"])),
                        ("Commit", page.code(code["commit"] or "unknown")),
                        ("SHA-256 of the sources", page.code(code["sources_sha256"])),
                    ]
                ),
            )
        )
    if "environment" in record:
        pairs = [(name, str(version)) for name, version in record["environment"].items()]
        parts.append(page.subsection("Environment", page.definitions(pairs)))
    if "public" in record:
        public = record["public"]
        parts.append(
            page.subsection(
                "Public files",
                page.table(
                    ["File", "SHA-256"],
                    [(name, page.code(sha256)) for name, sha256 in public["checksums"].items()],
                    caption=f"In {public['folder']}",
                ),
            )
        )
    return page.together(parts)


SECTIONS: Mapping[str, Callable[[Mapping[str, Any], Profile | None], str]] = {
    "The gate": _gate,
    "All measures": _measures,
    "Column by column": _columns,
    "Correlations": _correlations,
    "Sizes of groups": _sizes,
    "Linkage by columns": _linkage,
    "Expectations": _expectations,
    "The spec": _spec,
    "Provenance": _provenance,
}
