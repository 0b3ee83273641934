"""Commands that make a release: run, explore, check, approve."""

from __future__ import annotations

import argparse
import getpass
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorithms.errors import SpecError
from flows.cli import display, documents
from flows.cli.command import JSON, argument, command, one_of, positive
from flows.starting import recorded

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from expectations.request.named import NamedSpec
    from expectations.request.spec import ReleaseSpec

SMALLEST_K = 2


def group_sizes(text: str) -> list[int]:
    """Read a number, or a range such as 2-15."""
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isdigit() and last.isdigit()) or int(first) < SMALLEST_K:
        raise argparse.ArgumentTypeError(
            f"must be a number of at least {SMALLEST_K}, or a range such as 2-15; got {text!r}"
        )
    return list(range(int(first), int(last) + 1))


def time_limit(text: str) -> float:
    """Read a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {text!r}")
    return value


SPEC = argument("spec", type=Path, metavar="SPEC", help="release spec, a YAML file")
PERIOD = argument(
    "--period",
    metavar="PERIOD",
    help="period to release, such as 2026-Q3 (default: the period in the spec, or the last "
    "complete one)",
)


@command(
    SPEC,
    PERIOD,
    one_of(
        argument(
            "--dry-run", action="store_true", help="measure and judge; publish and record nothing"
        ),
        argument(
            "--candidate",
            action="store_true",
            help="seal the release if it passes the gate, and let `microrelease approve` publish "
            "it later",
        ),
    ),
    argument(
        "--started-by",
        metavar="NAME",
        help="person who starts the run and so cannot review it (default: your account name)",
    ),
    JSON,
)
def run(
    spec: Path,
    period: str | None,
    dry_run: bool,
    candidate: bool,
    started_by: str | None,
    as_json: bool,
) -> int:
    """Mask a table as its spec says, judge the result and publish it.

    The run starts immediately. The Prefect server in PREFECT_API_URL records it; if that is not
    set, the server of `microrelease up` does if it is running, and a temporary server otherwise.
    """
    resolved = resolved_spec(spec, period)
    resolved.check_releasable()
    resolved.check_reason()
    if not as_json:
        display.warnings(resolved.warnings)
    with (
        display.stages(resolved, as_json=as_json) as listener,
        _named(spec, period) as named,
        recorded("flows.release", "expectations.suites.great"),
    ):
        from flows.outcome import Stopped, outcome_of
        from flows.release import release
        from tasks.listening import listening

        with listening(listener):
            state = release(
                named,
                dry_run=dry_run,
                candidate=candidate,
                started_by=started_by or getpass.getuser(),
                return_state=True,
            )
    if as_json:
        outcome = outcome_of(state)
        documents.write({"release": documents.release(resolved), **documents.ended(outcome)})
        return outcome.error.exit_code if isinstance(outcome, Stopped) else 0
    return _ended(state, resolved.warnings)


@command(
    SPEC,
    PERIOD,
    argument("--methods", nargs="+", metavar="METHOD", help="methods to try (default: all)"),
    argument(
        "--orderings",
        nargs="+",
        metavar="ORDERING",
        help="orderings to try for methods that cut a path (default: npn tsp)",
    ),
    argument(
        "--k",
        nargs="+",
        type=group_sizes,
        metavar="K",
        help="group sizes, such as 5 7 10 or 5-15 (default: the k of the spec, and the larger ones "
        "among 2 3 4 5 7 10 15); a k below that of the spec is drawn but never recommended",
    ),
    argument(
        "--seconds",
        type=time_limit,
        default=60.0,
        help="time limit for one choice, without compilation (default: 60)",
    ),
    argument(
        "--workers",
        type=positive,
        default=2,
        help="number of choices tried at the same time (default: %(default)s)",
    ),
    argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="where to write the map (default: NAME-PERIOD-map in the current folder)",
    ),
    argument(
        "--choose",
        type=Path,
        metavar="NEW_SPEC",
        help="write a copy of the spec with the recommended choice, and with proposed ceilings if "
        "the spec has none",
    ),
    JSON,
)
def explore(
    spec: Path,
    period: str | None,
    methods: list[str] | None,
    orderings: list[str] | None,
    k: list[list[int]] | None,
    seconds: float,
    workers: int,
    folder: Path | None,
    choose: Path | None,
    as_json: bool,
) -> int:
    """Draw a risk-utility map of methods, orderings and k; publish nothing.

    Try every combination of methods, orderings (for methods that cut a path) and k on the table of
    a spec, and measure each one as a release would. Write a map that shows the ceilings of the
    spec, a table of all measures and a recommendation. If the spec has no ceilings yet, propose
    some. A choice that fails or takes too long does not stop the others.
    """
    resolved = resolved_spec(spec, period)
    if not as_json:
        display.warnings(resolved.warnings)
    if choose is not None and choose.exists():
        raise SpecError(f"{str(choose)!r} must not be overwritten; choose another name")
    folder = folder or Path("-".join((*resolved.release.folder.parts, "map")))
    with (
        display.cells(resolved, as_json=as_json) as listener,
        _named(spec, period) as named,
        recorded("flows.explore", "expectations.suites.great"),
    ):
        from flows.explore import explore, written_to
        from tasks.listening import listening

        with listening(listener), written_to(folder.absolute()):
            state = explore(
                named,
                methods=methods,
                orderings=orderings,
                ks=[size for sizes in k or () for size in sizes] or None,
                seconds=seconds,
                workers=workers,
                return_state=True,
            )
    return _explored(state, resolved, folder, spec, choose, as_json)


@command(SPEC, PERIOD, JSON)
def check(spec: Path, period: str | None, as_json: bool) -> int:
    """Validate a spec and its source; run nothing.

    Read the spec and the table that it names, and report every fault. List the limits of the spec
    with the worst value that each measure can take, and count the records that stand out by the
    columns that are published unchanged.
    """
    from flows.checking import checked

    resolved = resolved_spec(spec, period)
    if not as_json:
        display.warnings(resolved.warnings)
    found = checked(resolved)
    if as_json:
        document = {
            "release": documents.release(resolved),
            "rows": found.records,
            "expectations": found.expectations,
            "warnings": [*resolved.warnings, *found.warnings],
            "limits": documents.limits(resolved),
            "ceilings_missing": list(resolved.gate.ceilings.missing),
            "withheld": found.withheld,
            "merged": found.merged,
            "exposures": documents.exposures(found.exposures),
        }
        documents.write(document)
        return 0
    display.warnings(found.warnings)
    display.say(
        f"{spec}: the spec is valid and its source matches it: {found.records} rows, "
        f"{found.expectations} expectations met"
    )
    for limit in found.limits:
        display.say(f"  limit  {limit}")
    for column, count in found.missing_by_code.items():
        display.say(f"  missing  {count} cells of {column!r}, by a code")
    if found.withheld:
        display.say(f"  withheld  {found.withheld} records of strata that are too small")
    if found.merged:
        display.say(f"  merged  {found.merged} records of strata that are too small")
    display.exposures(found.exposures, found.records, resolved.microaggregation.k)
    return 0


@command(
    argument(
        "candidate",
        metavar="ID",
        help="name of the candidate, such as 000003-enterprise-survey-2026-Q3",
    ),
    argument(
        "--register",
        type=Path,
        default="register",
        metavar="DIR",
        help="folder of the internal register (default: %(default)s)",
    ),
    argument(
        "--reviewer",
        required=True,
        metavar="NAME",
        help="your name; the person who started the run cannot review it",
    ),
    argument("--reason", default="", help="reason for the decision, kept in the register"),
    argument("--reject", action="store_true", help="reject and delete the candidate instead"),
    argument(
        "--sign-with",
        type=Path,
        metavar="FILE",
        help="your own key, made by `microrelease key new`, to sign the decision with",
    ),
)
def approve(
    candidate: str,
    register: Path,
    reviewer: str,
    reason: str,
    reject: bool,
    sign_with: Path | None,
) -> int:
    """Publish a sealed candidate, or reject it.

    Publish exactly the bytes that `microrelease run --candidate` sealed, after checking that they
    are unchanged; where the spec asks for several reviewers, when the last of them has approved.
    Anyone can give any name here, and the register says so; the desk checks names. `microrelease
    status` and `microrelease register` list the candidates that wait.
    """
    from tasks.store.candidates import check_waiting
    from tasks.store.register import Register

    register = register.absolute()
    check_waiting(Register(register), candidate)
    signature = _signature(register, candidate, not reject, reviewer, reason, sign_with)
    with recorded("flows.approve"):
        from flows.approve import approve

        state = approve(
            register,
            candidate,
            reviewer,
            decision="reject" if reject else "approve",
            reason=reason,
            **signature,
            return_state=True,
        )
    return _ended(state)


def _signature(
    register: Path,
    candidate: str,
    approved: bool,
    reviewer: str,
    reason: str,
    sign_with: Path | None,
) -> dict[str, str]:
    """Sign a decision with the reviewer's own key, if that is asked for."""
    from expectations.review import Decision, decision_text
    from expectations.signatures import DECISION, public_part, sign
    from tasks.store.register import Register
    from tasks.store.signing import personal_key

    if sign_with is None:
        return {}
    key = personal_key(sign_with)
    decision = Decision(approved, reviewer, reason)
    text = decision_text(candidate, Register(register).manifest_sha256(candidate), decision)
    return {"key": public_part(key).text, "signature": sign(key, DECISION, text)}


def _named(spec: Path, period: str | None) -> AbstractContextManager[NamedSpec]:
    """Name the spec file of the command line, so that a flow can read it."""
    from expectations.request.named import Changes, spec_from_file

    return spec_from_file(spec, Changes.of(period))


def resolved_spec(spec: Path, period: str | None) -> ReleaseSpec:
    """Read a spec and fill in its period."""
    from expectations.request.named import resolve_spec

    with _named(spec, period) as named:
        return resolve_spec(named, datetime.now(UTC)).spec


def _ended(state: State[Any], shown: tuple[str, ...] = ()) -> int:
    """Show the outcome of a run, and its warnings but those that were shown before it."""
    from flows.outcome import Published, Sealed, Stopped, outcome_of

    outcome = outcome_of(state)
    attempt = outcome.attempt
    if attempt is not None and attempt.verdicts is not None:
        display.verdicts(attempt.verdicts)
    if attempt is not None:
        display.warnings(each for each in attempt.record.warnings if each not in shown)
    if not isinstance(outcome, Stopped):
        display.say(outcome.sentence)
    folder = outcome.folder if isinstance(outcome, Published) else None
    display.files(folder, attempt.manifest if attempt is not None else None)
    if isinstance(outcome, Sealed):
        display.decide_later(outcome.candidate)
    if isinstance(outcome, Stopped):
        raise outcome.error
    return 0


def _explored(
    state: State[Any],
    resolved: ReleaseSpec,
    folder: Path,
    spec: Path,
    new_spec: Path | None,
    as_json: bool,
) -> int:
    """Show the recommendation, and write the spec that it leads to."""
    from expectations.request.spec_file import load
    from flows.outcome import Explored, Stopped, outcome_of
    from tasks.explore.outputs import PAGE, write_choice
    from tasks.explore.proposal import propose

    outcome = outcome_of(state)
    if isinstance(outcome, Stopped):
        raise outcome.error
    assert isinstance(outcome, Explored)
    proposal = propose(outcome.cells, resolved)
    if new_spec is not None:
        write_choice(outcome.cells, load(spec), spec, new_spec)
    if as_json:
        page = folder / PAGE
        documents.write(documents.explored(outcome, resolved, proposal, page, new_spec))
        return 0
    source = outcome.source
    display.warnings(source.warnings)
    display.exposures(source.exposures, source.records, resolved.microaggregation.k)
    display.say(outcome.sentence)
    if proposal is not None:
        display.proposal(proposal.snippet(resolved), proposal.meanings)
    display.say(f"  map   {folder / PAGE}")
    if new_spec is not None:
        display.say(f"  spec  {new_spec}")
    return 0
