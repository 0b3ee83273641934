"""Writes a draft as YAML: a comment beside each guess, and a mark on what a person must settle."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import yaml

from algorithms.measures import MEASURES
from tasks.draft.ceilings import MOST_RECORDS
from tasks.draft.draft import USUAL_K, Draft
from tasks.draft.guess import Guess, Kind
from tasks.draft.uniqueness import Alone
from tasks.explore.proposal import MARGIN

MARK = "decide:"
"""Begins every comment about something that a person must settle."""

WIDTH = 120
MARGIN_AT = 30
"""Column in which comments begin, unless a line is longer."""

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
MEANINGS = {"il": "of the variance was lost", "dld": "of the records could be linked"}
LISTS: tuple[tuple[Kind, str, str], ...] = (
    ("integer", "integers", "whole numbers that stay whole"),
    ("category", "categories", "labels without order; a group publishes its most frequent one"),
)
"""Kinds whose columns are listed."""


def write(draft: Draft) -> str:
    """Write a draft as the text of a spec file."""
    sections = (
        _head(draft), _release(draft), _source(draft), _columns(draft), _microaggregation(draft),
        _gate(draft), _publication(),
    )  # fmt: skip
    return "\n".join("\n".join(section) + "\n" for section in sections)


@dataclass(frozen=True)
class Decision:
    """What a person must settle.

    Attributes
    ----------
    line : int
        Number of the line in the draft.
    subject : str
        The key or the column that it is about; empty if it is about something that is not there.
    words : str
        What must be settled.
    """

    line: int
    subject: str
    words: str


def decisions(text: str) -> list[Decision]:
    """List what a person must settle."""
    found: list[Decision] = []
    subject = ""
    goes_on = False
    for number, line in enumerate(text.splitlines(), start=1):
        before, hash_mark, comment = line.partition("# ")
        key = before.strip().removeprefix("- ")
        subject = key.partition(": ")[0].removesuffix(":") if key else subject
        if comment.startswith(f"{MARK} "):
            about = subject if before.strip() or before else ""
            found.append(Decision(number, about, comment.removeprefix(f"{MARK} ")))
            goes_on = True
        elif goes_on and hash_mark and comment.startswith("  "):
            last = found.pop()
            found.append(replace(last, words=f"{last.words} {comment.strip()}"))
        else:
            goes_on = False
    return found


def quoted(name: str) -> str:
    """Write a name so that YAML reads it as that text, as an item, a key, or within brackets.

    Examples
    --------
    >>> quoted("age"), quoted("no"), quoted("a: b"), quoted("2nd")
    ('age', '"no"', '"a: b"', '"2nd"')
    """
    if PLAIN.fullmatch(name) and yaml.safe_load(name) == name and len(name) > 1:
        return name
    return in_quotes(name)


def in_quotes(text: str) -> str:
    """Write a text within quotes, on one line."""
    written = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf"))
    return str(written).removesuffix("\n")


def _line(text: str, reason: str = "", decide: str = "") -> Iterator[str]:
    """Write a line with its comments beside it; long ones continue below."""
    at = max(MARGIN_AT, len(text) + 2)
    if at > WIDTH // 2:
        at = text.index(text.lstrip()) + 2 if text.strip() else MARGIN_AT
    comments = []
    if reason:
        comments += textwrap.wrap(f"# {reason}", WIDTH - at, subsequent_indent="# ")
    if decide:
        comments += textwrap.wrap(f"# {MARK} {decide}", WIDTH - at, subsequent_indent="#   ")
    if not comments:
        yield text
        return
    beside = at > len(text)
    yield f"{text:<{at}}{comments[0]}" if beside else text
    for comment in comments[1:] if beside else comments:
        yield " " * at + comment


def _said(words: str, indent: str = "") -> list[str]:
    """Write a comment on lines of its own."""
    return textwrap.wrap(
        words, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
    )


def _head(draft: Draft) -> Iterator[str]:
    yield from _said(
        f"Drafted by `microrelease init` from a table of {draft.records:,} records and "
        f"{len(draft.guesses)} columns. It holds names of columns and counts, and no other value "
        f"of the table. Settle the lines marked `{MARK}`, then have the file reviewed: whoever "
        "approves it signs for it."
    )


def _release(draft: Draft) -> Iterator[str]:
    yield "release:"
    yield f"  name: {quoted(draft.name)}"
    if draft.every:
        known = f"a run releases the last full {draft.every}, or the one that it names"
        doubt = (
            "" if draft.period_known else "the path below names no period: write {period} into it"
        )
        yield from _line(f"  every: {draft.every}", known, doubt)
    elif draft.period_known:
        yield from _line(f"  period: {quoted(draft.period)}", "the period that the data describe")
    else:
        yield from _line(
            f"  period: {quoted(draft.period)}",
            decide="the period that the data describe; for a series, replace it by `every: month`, "
            "`quarter` or `year`, and write {period} into the path below",
        )
    yield from _line(f"  title: {quoted(draft.title)}", "for readers")
    yield from _line(
        "  licence: CC-BY-4.0", decide="the terms under which the public files may be used"
    )


def _source(draft: Draft) -> Iterator[str]:
    yield "source:"
    yield f"  path: {quoted(draft.path)}"
    apart = {"path", "codes", "missing_codes"}
    given = draft.source.model_dump(mode="json", exclude_defaults=True, exclude=apart)
    for key, value in given.items():
        yield f"  {key}: {quoted(value)}"
    if draft.source.codes:
        yield from _line("  codes:", "not all codes have a label of their own: read as codes")
        yield from _flow(map(quoted, draft.source.codes))
    if draft.source.missing_codes:
        yield from _line("  missing_codes:", "cells with these signs are missing")
        for name, codes in draft.source.missing_codes.items():
            yield f"    {quoted(name)}: [{', '.join(in_quotes(str(code)) for code in codes)}]"


def _columns(draft: Draft) -> Iterator[str]:
    yield from _said("Every column of the table has one role; one without a role is an error.")
    yield "columns:"
    identifiers = draft.having("identifiers")
    if identifiers:
        yield from _line("  identifiers:", "never published")
        yield from _items(identifiers)
    for found in draft.having("unit"):
        yield from _line(
            f"  unit: {quoted(found.column)}",
            f"never published; k counts these instead of records: {found.reason}",
            found.decide,
        )
    dropped = draft.having("dropped")
    if dropped:
        yield from _line("  dropped:", "never published, each for a reason")
        for found in dropped:
            text = f"    {quoted(found.column)}: {quoted(found.reason)}"
            yield from _line(text, decide=found.decide)
    strata = draft.having("strata")
    if strata:
        yield from _line("  strata:", "published unchanged; groups never cross them")
        yield from _items(strata)
    yield from _exposed(draft)
    yield from _line("  quasi_identifiers:", "masked: one value per group")
    yield from _items(draft.keys)
    for found in draft.having("weight"):
        yield from _line(f"  weight: {quoted(found.column)}", found.reason, found.decide)
    confidential = draft.having("confidential")
    if confidential:
        yield from _line(
            "  confidential:", "published unchanged; someone signs that attackers do not know them"
        )
        yield from _items(confidential)
    yield from _kinds(draft)


def _items(guesses: Iterable[Guess]) -> Iterator[str]:
    for found in guesses:
        yield from _line(f"    - {quoted(found.column)}", found.reason, found.decide)


def _exposed(draft: Draft) -> Iterator[str]:
    """Say how many records stand out before they are masked."""
    for count, alone in (("one of these columns", draft.alone), ("two", draft.alone_by_two)):
        if alone:
            listed = "; ".join(map(_alone, alone))
            yield from _said(
                f"Before masking, of {draft.records:,} records so many are unique by {count}: "
                f"{listed}",
                "  ",
            )


def _alone(alone: Alone) -> str:
    return f"{' and '.join(map(quoted, alone.columns))} {alone.records:,}"


def _kinds(draft: Draft) -> Iterator[str]:
    for kind, key, meaning in LISTS:
        names = [quoted(found.column) for found in draft.keys if found.kind == kind]
        if names:
            yield from _line(f"  {key}:", meaning)
            yield from _flow(names)
    keys = draft.keys
    yield from _mapping(
        "ordered",
        "levels, the lowest first",
        {
            found.column: f"[{', '.join(in_quotes(level) for level in found.levels)}]"
            for found in keys
            if found.kind == "ordered"
        },
    )
    yield from _mapping(
        "hierarchies",
        "codes in a tree, by the lengths of prefixes that name groups of codes",
        {
            found.column: f"{{prefixes: [{', '.join(map(str, found.prefixes))}]}}"
            for found in keys
            if found.kind == "hierarchy"
        },
    )
    yield from _mapping(
        "dates",
        "what is published: day, month or year",
        {found.column: found.date for found in keys if found.kind == "date"},
    )
    missing = {found.column: found.missing for found in keys if found.missing}
    if missing:
        yield from _line(
            "  missing:", "a group publishes a value or nothing, whichever is nearer to its records"
        )
        for name, count in missing.items():
            share = 100.0 * count / draft.records
            yield from _line(
                f"    {quoted(name)}: state", f"{count:,} values are missing ({share:.1f} %)"
            )


def _flow(names: Iterable[str]) -> Iterator[str]:
    """Write a list within brackets, on as many lines as it needs."""
    line, pending = "    [", False
    for name in names:
        if pending and len(line) + len(name) + 2 > WIDTH:
            yield f"{line},"
            line, pending = "     ", False
        line, pending = f"{line}{', ' if pending else ''}{name}", True
    yield f"{line}]"


def _mapping(key: str, meaning: str, values: dict[str, str]) -> Iterator[str]:
    if values:
        yield from _line(f"  {key}:", meaning)
        for name, value in values.items():
            yield f"    {quoted(name)}: {value}"


def _microaggregation(draft: Draft) -> Iterator[str]:
    yield "microaggregation:"
    yield from _line("  method: best", "loses least of all methods, on most tables")
    groups = draft.records // draft.k
    few = (
        f"the usual {USUAL_K} would leave a single group in so small a table"
        if draft.k < USUAL_K and groups <= USUAL_K
        else ""
    )
    doubt = "with so few records, hardly anything is left to publish" if groups < USUAL_K else ""
    yield from _line(
        f"  k: {draft.k}", few or "the least number of records or units that look alike", doubt
    )
    yield from _line(
        f"  options: {{iterations: {draft.iterations}}}",
        "more iterations lose less, and take longer",
    )


def _gate(draft: Draft) -> Iterator[str]:
    found = draft.ceilings
    if found is None:
        yield from textwrap.wrap(
            f"# {MARK} gate.ceilings must give il and dld before anything is released; "
            f"{draft.unexplored}. `microrelease explore` proposes ceilings.",
            WIDTH,
            subsequent_indent="#   ",
        )
        return
    whole = found.records == draft.records
    size = (
        "the table"
        if whole
        else f"a sample of {found.records:,} records (at most {MOST_RECORDS:,})"
    )
    yield from _said(
        f"In per cent; a release above a ceiling is not published. Proposed from `best` on {size}, "
        f"with a margin of {100 * (MARGIN - 1):.0f} %."
    )
    yield "gate:"
    yield "  ceilings:"
    for name, most in found.proposed.items():
        worst = f"; groups of {draft.k} allow at most {MEASURES[name].worst_at(draft.k):.4g}"
        reason = f"{found.measured[name]:.2f} % {MEANINGS[name]}{worst if name == 'dld' else ''}"
        doubt = (
            "it is exceeded, and a higher ceiling could never refuse: choose a larger k"
            if name in found.refused
            else "is this acceptable?"
        )
        yield from _line(f"    {name}: {float(most)}", reason, doubt)


def _publication() -> Iterator[str]:
    yield "publication:"
    yield from _line("  public_folder: public", "appears beside this file")
    yield from _line("  register_folder: register", "internal: never publish it")
