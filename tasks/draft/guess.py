"""Guesses the role and the kind of each column, with the reason and what a person must settle.

Doubts are resolved on the safe side: a column that attackers may know is masked, one that may
identify somebody is not published, and confidential columns are only asked about.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from algorithms.attributes.date import DateUnit
from expectations.suites.kinds.category import MOST_LABELS
from expectations.suites.kinds.hierarchy import MOST_NODES
from tasks.draft.facts import Facts
from tasks.draft.levels import order_of
from tasks.draft.names import (
    CLASSES,
    CODES,
    COUNTS,
    SENSITIVE,
    YEARS,
    names_directly,
    names_records,
    names_units,
    names_weight,
    words_of,
)

Role = Literal[
    "identifiers", "unit", "dropped", "strata", "quasi_identifiers", "weight", "confidential"
]
Kind = Literal["number", "integer", "date", "ordered", "category", "hierarchy"]

FEW = 12
"""Whole numbers with at most so many values are labels, unless their name says otherwise. Codes
with letters and more values than this may stand in a tree."""
MANY = 50
"""Digits with more values than this may be codes in a tree, and repeated numbers of identity with
more values than this may be those of units."""
LARGEST_LABEL = 99
"""Whole numbers up to this one may be labels."""
LONG = 6
"""Digits from which on unique numbers of one length look like numbers of identity."""
NEARLY = 0.5
"""Share of distinct values from which on labels say little but identify much."""


@dataclass(frozen=True)
class Guess:
    """The role and kind of a column.

    Attributes
    ----------
    column : str
        Name of the column.
    role, kind : str
        The key of the spec under which it is listed, and its kind if it is masked.
    reason : str
        Why, with counts; for a dropped column, this is the reason in the spec.
    decide : str
        What a person must settle; empty if the guess is safe and likely.
    missing : int
        Number of missing values.
    date : str, optional
        Unit of dates.
    prefixes : tuple of int
        Lengths of the prefixes of codes.
    levels : tuple of str
        Levels that a person has confirmed, the lowest first.
    question : Question, optional
        What can be asked at a terminal.
    """

    column: str
    role: Role
    kind: Kind = "number"
    reason: str = ""
    decide: str = ""
    missing: int = 0
    date: DateUnit = "day"
    prefixes: tuple[int, ...] = ()
    levels: tuple[str, ...] = ()
    question: "Question | None" = None


@dataclass(frozen=True)
class Question:
    """A question that is answered by yes or no.

    Attributes
    ----------
    words : str
        The question.
    default : bool
        The answer that keeps the guess.
    otherwise : Guess
        The guess after the other answer.
    """

    words: str
    default: bool
    otherwise: Guess


def guess_all(columns: Sequence[Facts], k: int) -> list[Guess]:
    """Guess the role and kind of each column of a table."""
    names = [facts.name for facts in columns]
    guesses = [guess(facts, names, k) for facts in columns]
    for role in ("unit", "weight"):
        guesses = _only_one(guesses, columns, role)
    return guesses


def guess(facts: Facts, names: Iterable[str], k: int) -> Guess:
    """Guess the role and kind of one column of a table with these names."""
    others = {word for name in names if name != facts.name for word in words_of(name)}
    found = next(found for rule in RULES if (found := rule(facts, others)) is not None)
    return _about_attackers(replace(_about_rare(found, facts, k), missing=facts.missing))


def as_key(facts: Facts) -> Guess:
    """Guess the kind of a column that is masked or, if none fits, that it is dropped."""
    found = next(found for rule in KEY_RULES if (found := rule(facts)) is not None)
    return replace(found, missing=facts.missing)


# -- rules about roles; the first that applies decides ---------------------------------------------


def _empty(facts: Facts, _others: set[str]) -> Guess | None:
    if facts.distinct == 0:
        return Guess(facts.name, "dropped", reason="no record has a value")
    if facts.distinct == 1 and not facts.missing:
        return Guess(facts.name, "dropped", reason="all records have the same value")
    return None


def _weight(facts: Facts, others: set[str]) -> Guess | None:
    if not (facts.positive and facts.finite and not facts.missing):
        return None
    if not names_weight(facts.name, others):
        return None
    return Guess(
        facts.name,
        "weight",
        reason="named like a sampling weight, and positive",
        decide="is it a sampling weight? If not, make it a quasi-identifier",
        question=Question(
            f"Is {facts.name!r} a sampling weight?",
            default=True,
            otherwise=as_key(facts),
        ),
    )


def _identifier(facts: Facts, _others: set[str]) -> Guess | None:
    """Recognise columns that tell every record apart."""
    if not facts.unique:
        return None
    said = f"different in each of {facts.records:,} records"
    if _is_quantity(facts):
        return None
    if names_records(facts.name) or facts.consecutive:
        what = "named like an identifier" if names_records(facts.name) else "counts them"
        return Guess(facts.name, "identifiers", reason=f"{said}, and {what}")
    if facts.is_text or (facts.digits or 0) >= LONG or facts.zeros:
        return Guess(
            facts.name,
            "identifiers",
            reason=said,
            decide="it looks like an identifier, but is not named like one; if it describes the "
            "records, group its values before the release",
        )
    return None


def _is_quantity(facts: Facts) -> bool:
    """Check whether values are measured rather than assigned."""
    return (facts.numeric and not facts.whole) or facts.date is not None


def _unit(facts: Facts, _others: set[str]) -> Guess | None:
    """Recognise persons, households or companies with several records each."""
    if facts.unique or facts.distinct <= MANY or _is_quantity(facts):
        return None
    if not names_units(facts.name):
        return None
    if facts.missing:
        return Guess(
            facts.name,
            "dropped",
            reason=f"named like an identifier, repeated, and missing in {facts.missing:,} records",
            decide="if several records belong to one person, household or company, fill it and "
            "name it as unit",
        )
    average = facts.records / facts.distinct
    return Guess(
        facts.name,
        "unit",
        reason=f"named like an identifier; {facts.distinct:,} different in {facts.records:,} "
        f"records, {average:.1f} each",
        decide="does it name the person, household or company that k must protect?",
        question=Question(
            f"Does {facts.name!r} name the person, household or company of a record, so that k "
            "must count these?",
            default=True,
            otherwise=Guess(facts.name, "dropped", reason="it identifies, and is no unit"),
        ),
    )


def _direct(facts: Facts, _others: set[str]) -> Guess | None:
    """Recognise names, addresses and the like, of which some are repeated or missing."""
    if not names_directly(facts.name) or facts.date is not None:
        return None
    if not (facts.is_text or (facts.whole and facts.distinct > MANY)) or facts.distinct <= FEW:
        return None
    return Guess(
        facts.name,
        "dropped",
        reason=f"named like a name or an address; {facts.distinct:,} different",
        decide="if it is neither, make it a quasi-identifier",
    )


def _key(facts: Facts, _others: set[str]) -> Guess | None:
    return as_key(facts)


RULES: tuple[Callable[[Facts, set[str]], Guess | None], ...] = (
    _empty, _weight, _identifier, _unit, _direct, _key,
)  # fmt: skip


# -- rules about kinds; the first that applies decides ---------------------------------------------


def _key_of(facts: Facts, kind: Kind, reason: str, decide: str = "") -> Guess:
    return Guess(facts.name, "quasi_identifiers", kind, reason, decide)


def _truth(facts: Facts) -> Guess | None:
    return _key_of(facts, "category", "truth values") if facts.is_truth else None


def _date(facts: Facts) -> Guess | None:
    if facts.date is not None:
        found = _key_of(facts, "date", f"dates, {facts.distinct:,} different")
        return replace(found, date=facts.date)
    if facts.year and words_of(facts.name) & YEARS:
        return replace(_key_of(facts, "date", f"years, {facts.distinct:,} different"), date="year")
    if facts.written_date:
        return Guess(
            facts.name,
            "dropped",
            reason="dates in a form that is not read",
            decide="to publish them, write dates as 2026-03-09 in the table and list the column "
            "under quasi_identifiers and dates",
        )
    return None


def _code(facts: Facts) -> Guess | None:
    """Recognise codes of a classification by their form, or by their name if they are digits."""
    named = bool(words_of(facts.name) & CODES)
    lettered = facts.is_text or facts.zeros
    if not (lettered or (facts.whole and named)):
        return None
    if not (FEW if lettered else MANY) < facts.distinct <= MOST_NODES:
        return None
    if facts.coded and facts.prefixes and (lettered or facts.digits):
        lengths = ", ".join(map(str, facts.prefixes))
        found = _key_of(
            facts,
            "hierarchy",
            f"{facts.distinct:,} different codes, in groups by prefixes of length {lengths}",
            "do these prefixes name groups of codes? Otherwise list others, or a file",
        )
        return replace(found, prefixes=facts.prefixes)
    return None


def _number(facts: Facts) -> Guess | None:
    if not facts.numeric or facts.zeros:
        return None
    if not facts.finite:
        return Guess(
            facts.name,
            "dropped",
            reason="numbers that are infinite or have more digits than can be kept",
            decide="correct them in the table to publish the column",
        )
    if not facts.whole:
        return _key_of(facts, "number", f"real numbers, {facts.distinct:,} different")
    words = words_of(facts.name)
    labels = f"{facts.distinct:,} whole numbers, taken as labels"
    if facts.distinct == 2:
        return _key_of(facts, "category", labels)
    if words & (CLASSES | CODES) and facts.few and facts.distinct <= facts.present / 2:
        return _key_of(facts, "category", f"{labels} because of the name")
    if (
        facts.distinct <= min(FEW, facts.present / 10)
        and facts.largest <= LARGEST_LABEL
        and not words & COUNTS
    ):
        return _key_of(facts, "category", f"{labels}; if they count, list it under integers")
    return _key_of(facts, "integer", f"whole numbers, {facts.distinct:,} different")


def _levels(facts: Facts) -> Guess | None:
    levels = order_of(facts.labels) if facts.is_text and facts.few else None
    if levels is None:
        return None
    ordered = _key_of(facts, "ordered", f"{facts.distinct} levels, in a confirmed order")
    found = _key_of(
        facts,
        "category",
        f"{facts.distinct} labels",
        "the labels seem to have an order; if so, list the levels under ordered instead",
    )
    words = (
        f"Do the labels of {facts.name!r} have this order, lowest first, and may the spec list "
        f"them: {' < '.join(levels)}?"
    )
    confirmed = replace(ordered, levels=levels, missing=facts.missing)
    return replace(found, question=Question(words, default=False, otherwise=confirmed))


def _mixed(facts: Facts) -> Guess | None:
    strays = facts.mostly_numbers
    if not strays or facts.distinct <= FEW:
        return None
    return Guess(
        facts.name,
        "dropped",
        reason=f"numbers, except in {strays:,} records",
        decide="if these cells stand for missing values, empty them in the table; then list the "
        "column under quasi_identifiers",
    )


def _free(facts: Facts) -> Guess | None:
    if facts.free and facts.distinct > MANY:
        return Guess(facts.name, "dropped", reason=f"free text, {facts.distinct:,} different")
    return None


def _scattered(facts: Facts) -> Guess | None:
    """Recognise labels that are too many, or hardly ever shared."""
    if facts.few and (facts.distinct <= FEW or facts.distinct <= NEARLY * facts.present):
        return None
    what = f"{facts.distinct:,} different labels in {facts.present:,} records"
    most = "" if facts.few else f", more than {MOST_LABELS:,}"
    return Guess(
        facts.name,
        "dropped",
        reason=what + most,
        decide="to publish it, group its labels in the table, or give a hierarchy",
    )


def _category(facts: Facts) -> Guess | None:
    return _key_of(facts, "category", f"{facts.distinct:,} labels")


KEY_RULES: tuple[Callable[[Facts], Guess | None], ...] = (
    _truth, _date, _code, _number, _levels, _mixed, _free, _scattered, _category,
)  # fmt: skip


# -- what holds for all guesses --------------------------------------------------------------------


def _about_rare(found: Guess, facts: Facts, k: int) -> Guess:
    rare = facts.rare(k)
    if found.kind != "category" or found.role != "quasi_identifiers" or not rare:
        return found
    return replace(
        found, reason=f"{found.reason}; {rare:,} with fewer than {k} records, which may vanish"
    )


def _about_attackers(found: Guess) -> Guess:
    """Ask about columns that may be confidential; until someone signs, they are masked."""
    if found.role != "quasi_identifiers" or not words_of(found.column) & SENSITIVE:
        return found
    signed = Guess(
        found.column,
        "confidential",
        reason="signed: attackers do not know it",
        missing=found.missing,
    )
    masked = (
        "masked, as attackers may know it; confidential (published unchanged) only if someone "
        "signs that they do not"
    )
    words = f"Will someone sign that attackers do not know {found.column!r}? It is then published "
    return replace(
        found,
        decide=f"{found.decide}; {masked}" if found.decide else masked,
        question=found.question or Question(f"{words}unchanged.", default=False, otherwise=signed),
    )


def _only_one(guesses: list[Guess], columns: Sequence[Facts], role: Role) -> list[Guess]:
    """Keep the role for one column: of units that with most values, of weights the first."""
    having = [i for i, found in enumerate(guesses) if found.role == role]
    if len(having) < 2:
        return guesses
    kept = max(having, key=lambda i: (columns[i].distinct if role == "unit" else 0, -i))
    name = guesses[kept].column
    return [
        Guess(
            found.column,
            "dropped",
            reason=f"named like a {role}, of which there can be one",
            decide=f"should this column be the {role} instead of {name!r}?",
            missing=found.missing,
        )
        if i in having and i != kept
        else found
        for i, found in enumerate(guesses)
    ]
