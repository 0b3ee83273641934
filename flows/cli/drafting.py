"""The command that drafts a spec: init."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from algorithms.errors import DataError, RefusedError, ReleaseError, SpecError, StorageError
from flows.cli import display
from flows.cli.command import argument, command

if TYPE_CHECKING:
    from expectations.request.periods import Every
    from expectations.request.spec import ReleaseSpec
    from tasks.draft.draft import Asked, Draft
    from tasks.draft.guess import Role

SMALLEST_K = 2


@command(
    argument("table", type=Path, metavar="TABLE", help="file with the confidential table"),
    argument(
        "--spec",
        type=Path,
        metavar="OUT",
        help="spec file to write (default: NAME.yaml beside the table)",
    ),
    argument("--name", help="name of the dataset (default: from the name of the table)"),
    argument(
        "--every",
        choices=("month", "quarter", "year"),
        help="how often it is released (default: by the period in the name of the table)",
    ),
    argument("--k", type=int, help="least number of records that look alike (default: 5)"),
    argument(
        "--unit",
        metavar="COLUMN",
        help="person, household or company to which several records may belong",
    ),
    argument(
        "--identifiers", nargs="+", default=[], metavar="COLUMN", help="columns never to publish"
    ),
    argument(
        "--confidential",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns to publish unchanged: someone signs that attackers do not know them",
    ),
    argument(
        "--strata",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns to publish unchanged, within which groups are formed",
    ),
    argument("--weight", metavar="COLUMN", help="sampling weight of the records"),
    argument("--yes", action="store_true", help="ask nothing, and accept all guesses"),
    argument("--force", action="store_true", help="overwrite the spec file if there is one"),
    argument(
        "--no-explore",
        action="store_false",
        dest="explore",
        help="leave the ceilings out, instead of proposing some after a quick exploration",
    ),
)
def init(
    table: Path,
    spec: Path | None,
    name: str | None,
    every: Every | None,
    k: int | None,
    unit: str | None,
    identifiers: list[str],
    confidential: list[str],
    strata: list[str],
    weight: str | None,
    yes: bool,
    force: bool,
    explore: bool,
) -> int:
    """Draft a commented spec from a table; publish nothing.

    Guess the role and the kind of each column, count the records that stand out, and propose
    ceilings from a quick exploration. The draft holds names of columns and counts, and no other
    value of the table, except the levels of an order that you confirm at the terminal. Lines that
    are marked `decide:` are yours to settle.
    """
    from tasks.draft.draft import Asked

    if k is not None and k < SMALLEST_K:
        raise SpecError(f"k must be at least {SMALLEST_K}; got {k}")
    asked = Asked(name, every, k, _roles(unit, identifiers, confidential, strata, weight))
    asks = not yes and sys.stdin.isatty() and sys.stdout.isatty()
    return _draft(table, spec, asked, ask if asks else None, force, explore)


def ask(question: str, default: str) -> str:
    """Ask one question at the terminal; an empty answer takes the default."""
    display.say(question)
    try:
        return input(f"  [{default}] ").strip() or default
    except EOFError:
        return default


Ask = Callable[[str, str], str]


def _roles(
    unit: str | None,
    identifiers: list[str],
    confidential: list[str],
    strata: list[str],
    weight: str | None,
) -> dict[str, Role]:
    """Collect the roles that are given; a column can be given once."""
    given: list[tuple[str, Role]] = [
        *((name, "unit") for name in [unit] if name is not None),
        *((name, "identifiers") for name in identifiers),
        *((name, "confidential") for name in confidential),
        *((name, "strata") for name in strata),
        *((name, "weight") for name in [weight] if name is not None),
    ]
    roles = dict(given)
    if len(roles) < len(given):
        raise SpecError("each column can be given one role; some are given several")
    return roles


def _draft(
    table: Path, out: Path | None, asked: Asked, ask: Ask | None, force: bool, explore: bool
) -> int:
    from expectations.request.spec_file import parsed
    from tasks.draft.draft import draft
    from tasks.draft.reading import read_undescribed
    from tasks.draft.writing import write
    from tasks.sources.opening import content_of
    from tasks.stage import guarded

    content = guarded("init", content_of)(table)
    source, cells = guarded("init", read_undescribed)(table, content)
    folder = (out or table).parent
    year = datetime.now(UTC).year
    drafted: Draft = guarded("init", draft)(table, folder, source, cells, asked, year)
    path = out or table.with_name(f"{drafted.name}.yaml")
    if path.exists() and not force:
        raise StorageError(
            f"{str(path)!r} must not be overwritten; choose another file with --spec, or use "
            "--force"
        )
    if ask is not None:
        drafted = _answered(drafted, ask)
    display.guesses(drafted.guesses)
    fault: ReleaseError | None = None
    try:
        spec = parsed(write(drafted).encode(), path).spec
        drafted = guarded("init", _explored)(drafted, content, spec, explore)
    except (DataError, RefusedError) as error:
        fault = error
        drafted = replace(drafted, unexplored="the table could not be explored")
    text = write(drafted)
    _write(path, text)
    _say_what_is_next(drafted, path, text)
    if fault is not None:
        display.say("the draft does not fit its table yet; settle this first:", error=True)
        raise fault
    return 0


def _answered(drafted: Draft, ask: Ask) -> Draft:
    """Ask one question for each column that is not certain, and one about the period."""
    answered = []
    for found in drafted.guesses:
        question = found.question
        if question is None:
            answered.append(found)
            continue
        default = "yes" if question.default else "no"
        yes = ask(question.words, default).casefold().startswith("y")
        answered.append(
            replace(found, decide="") if yes == question.default else question.otherwise
        )
    drafted = drafted.with_guesses(answered)
    if drafted.every is None:
        period = ask(
            "Which period do the data describe, such as 2026, 2026-03 or 2026-Q3?", drafted.period
        )
        drafted = replace(drafted, period=period, period_known=True)
    return drafted


def _explored(drafted: Draft, content: bytes, spec: ReleaseSpec, explore: bool) -> Draft:
    """Check the table by the draft, as `check` does, and propose ceilings."""
    from expectations.request.sections.source import SourceSection
    from expectations.suites.require import plainly
    from tasks.draft.ceilings import quick_ceilings
    from tasks.listening import listening
    from tasks.sources.table import read_table
    from tasks.validate import validate

    assert isinstance(spec.source, SourceSection)
    described = spec.model_copy(
        update={"release": spec.release.model_copy(update={"period": drafted.period})}
    )
    source = read_table(content, spec.source, spec.columns).table
    if not explore:
        validate.fn(source, described, plainly)
        return drafted
    with display.cells(described) as listener, listening(listener):
        listener.stage_started("checking the table")
        validate.fn(source, described, plainly)
        return replace(drafted, ceilings=quick_ceilings(source, described))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"the spec must be written to a file; {str(path)!r} cannot be ({error.strerror})"
        ) from None


def _say_what_is_next(drafted: Draft, path: Path, text: str) -> None:
    from tasks.draft.writing import decisions

    found = decisions(text)
    display.say(f"\ndrafted {path}; of its lines, {len(found)} are yours to decide:")
    for each in found:
        about = f"{each.subject}: " if each.subject else ""
        display.say(f"  {path.name}:{each.line}  {about}{each.words}")
    period = f" --period {drafted.period}" if drafted.every else ""
    name = shlex.quote(str(path))
    display.say("\nnext:")
    if drafted.ceilings is None:
        display.say(f"  microrelease explore {name}{period}")
    for then in (f"check {name}{period}", f"run {name}{period} --dry-run", f"run {name}{period}"):
        display.say(f"  microrelease {then}")
