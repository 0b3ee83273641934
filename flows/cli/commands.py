"""What each command does; what a command does not need is not imported for it."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorithms.errors import IntegrityError, ReleaseError
from flows.cli import display

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from expectations.request.named import NamedSpec
    from expectations.request.spec import ReleaseSpec


def run(options: argparse.Namespace) -> int:
    """Run the release flow here and now."""
    spec = _settled(options)
    display.warnings(spec.warnings)
    _quieten_prefect()
    with display.stages(spec) as listener, _asked(options) as named:
        from flows.release import release
        from tasks.listening import listening

        with listening(listener), _prefect_faults_in_words():
            state = release(
                named,
                dry_run=options.dry_run,
                candidate=options.candidate,
                started_by=options.started_by or getpass.getuser(),
                return_state=True,
            )
    return _ended(state)


def approve(options: argparse.Namespace) -> int:
    """Decide on a sealed candidate."""
    from tasks.store.candidates import check_waiting
    from tasks.store.register import Register

    register = options.register.absolute()
    check_waiting(Register(register), options.candidate)
    _quieten_prefect()
    from flows.approve import approve as approve_flow

    with _prefect_faults_in_words():
        state = approve_flow(
            register,
            options.candidate,
            options.reviewer,
            decision="reject" if options.reject else "approve",
            reason=options.reason,
            return_state=True,
        )
    return _ended(state)


def _asked(options: argparse.Namespace) -> AbstractContextManager[NamedSpec]:
    """Have runs read the spec file that the command line names."""
    from expectations.request.named import Changes, at_hand

    return at_hand(options.spec, Changes.of(options.period))


def _settled(options: argparse.Namespace) -> ReleaseSpec:
    """Read a spec and settle its period."""
    from expectations.request.named import settle

    with _asked(options) as named:
        return settle(named, datetime.now(UTC)).spec


def _ended(state: State[Any]) -> int:
    """Show how a run ended."""
    from flows.outcome import Published, Sealed, Stopped, outcome_of

    outcome = outcome_of(state)
    attempt = outcome.attempt
    if attempt is not None and attempt.verdicts is not None:
        display.verdicts(attempt.verdicts)
    if not isinstance(outcome, Stopped):
        display.say(outcome.sentence)
    folder = outcome.folder if isinstance(outcome, Published) else None
    display.places(folder, attempt.manifest if attempt is not None else None)
    if isinstance(outcome, Sealed):
        display.decide_later(outcome.candidate)
    if isinstance(outcome, Stopped):
        raise outcome.error
    return 0


def explore(options: argparse.Namespace) -> int:
    """Draw a risk-utility map."""
    from algorithms.errors import SpecError
    from expectations.request.spec_file import load

    spec = _settled(options)
    display.warnings(spec.warnings)
    ks = [k for part in options.k or () for k in part]
    if options.choose is not None and options.choose.exists():
        raise SpecError(f"{str(options.choose)!r} must not be overwritten; choose another name")
    folder = options.folder or Path("-".join((*spec.release.folder.parts, "map")))
    _quieten_prefect()
    with display.cells(spec) as listener:
        from flows.explore import explore, map_folder
        from flows.outcome import Explored, Stopped, outcome_of
        from tasks.explore.cell import recommendation
        from tasks.explore.outputs import PAGE, write_choice
        from tasks.listening import listening

        chosen = map_folder.set(folder.absolute())
        try:
            with listening(listener), _asked(options) as named, _prefect_faults_in_words():
                state = explore(
                    named,
                    methods=options.methods,
                    orderings=options.orderings,
                    ks=ks or None,
                    seconds=options.seconds,
                    workers=options.workers,
                    return_state=True,
                )
        finally:
            map_folder.reset(chosen)
    outcome = outcome_of(state)
    if isinstance(outcome, Stopped):
        raise outcome.error
    assert isinstance(outcome, Explored)
    display.say(recommendation(outcome.cells, spec))
    display.say(f"  map   {folder / PAGE}")
    if options.choose is not None:
        write_choice(outcome.cells, load(options.spec), options.spec, options.choose)
        display.say(f"  spec  {options.choose}")
    return 0


@contextmanager
def _prefect_faults_in_words() -> Iterator[None]:
    """Say in one sentence that Prefect failed; what the flow itself raises is an outcome."""
    try:
        yield
    except Exception as error:
        server = os.environ.get("PREFECT_API_URL")
        advice = f"is the server at {server} running?" if server else "see its log"
        raise ReleaseError(
            f"Prefect must be able to run the flow; it failed ({type(error).__name__}): {advice}"
        ) from None


def check(options: argparse.Namespace) -> int:
    """Validate a spec and its source."""
    from tasks.ingest import ingest
    from tasks.store.public_folder import check_places
    from tasks.validate import validate

    spec = _settled(options)
    display.warnings(spec.warnings)
    spec.check_repeatable()
    check_places(spec.publication)
    table = validate.fn(ingest.fn(spec).frame, spec)
    display.say(
        f"{options.spec}: the spec is valid and its source fits: {len(table.frame)} rows, "
        f"{len(table.findings)} expectations met"
    )
    return 0


def verify(options: argparse.Namespace) -> int:
    """Re-verify a published folder."""
    from expectations.published.recomputed import recompute
    from expectations.published.verifier import verify

    found = verify(options.folder.resolve())
    measures = recompute(found)
    display.say(
        f"{options.folder}: whole; {found.rows} rows, {len(found.columns)} columns, every "
        f"combination of {len(found.claims.quasi_identifiers)} quasi-identifiers stands in at "
        f"least {found.k_found} rows (k = {found.k_claimed} was promised)"
    )
    display.recomputed(measures)
    return 0


def audit(options: argparse.Namespace) -> int:
    """Check a register and every release in it."""
    from tasks.store.audit import audit as audit_register

    found = audit_register(options.register, options.public, options.head)
    display.audit(found)
    if found.faults:
        raise IntegrityError("\n".join(found.faults))
    return 0


def register(options: argparse.Namespace) -> int:
    """Show all releases and attempts."""
    from dataclasses import asdict

    from tasks.reporting.register_page import register_page
    from tasks.store.audit import audit as audit_register
    from tasks.store.history import history

    found = {}
    for folder in dict.fromkeys(path.absolute() for path in options.registers):
        audited = audit_register(folder)
        found[folder] = audited, history(folder, audited) if audited.readable else []
    page = (options.page or next(iter(found)) / "index.html").absolute()
    page.write_text(register_page(found), encoding="utf-8")
    if options.json:
        told = {
            str(folder): {**asdict(audited), "history": [asdict(past) for past in pasts]}
            for folder, (audited, pasts) in found.items()
        }
        sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        display.history([past for _, pasts in found.values() for past in pasts])
        display.say(f"  page  {page}")
    faults = [fault for audited, _ in found.values() for fault in audited.faults]
    if faults:
        raise IntegrityError("\n".join(faults))
    return 0


def up(options: argparse.Namespace) -> int:
    """Start everything on this machine, until it is interrupted."""
    from expectations.request.named import SPECS
    from flows.operation.installation import Installation
    from flows.operation.up import up as start

    if options.specs is not None:
        os.environ[SPECS] = str(options.specs.absolute())
    try:
        start(Installation(options.home, options.port), display.say, options.file.absolute())
    except KeyboardInterrupt:
        display.say("stopped")
    return 0


def status(options: argparse.Namespace) -> int:
    """Say what is running and what is due."""
    from flows.operation.installation import adopt

    adopt(options.home)
    if "PREFECT_API_URL" not in os.environ:
        raise ReleaseError(
            f"an installation must be known; there is none in {str(options.home)!r}: start one "
            "with `microrelease up`, or set PREFECT_API_URL"
        )
    _quieten_prefect()
    from flows.operation.status import status as ask

    found = ask()
    display.status(found, os.environ["PREFECT_API_URL"])
    return 0 if found.well else 1


def deploy(options: argparse.Namespace) -> int:
    """Bring a server up to date."""
    from flows.operation.deploy import deploy as bring_up_to_date

    deployed = bring_up_to_date(options.file.absolute())
    for name in deployed.names:
        display.say(f"  deployed  {name}")
    display.warnings(map(str, deployed.faults))
    return 0


def methods(_options: argparse.Namespace) -> int:
    """List methods and orderings."""
    from algorithms.microaggregation import METHODS
    from algorithms.orderings import ORDERINGS
    from expectations.request.options import described

    display.methods({name: (METHODS[name], described(METHODS[name].run)) for name in METHODS})
    display.orderings(
        {name: (ORDERINGS[name], described(ORDERINGS[name].run)) for name in ORDERINGS}
    )
    return 0


def measures(options: argparse.Namespace) -> int:
    """List measures."""
    from algorithms.measures import MEASURES
    from flows.cli.measures_page import measures_page

    if options.markdown:
        sys.stdout.write(measures_page())
    else:
        display.measures(MEASURES)
    return 0


def example(options: argparse.Namespace) -> int:
    """Write the built-in example."""
    from flows.example import write_example

    *tables, spec = write_example(
        options.folder,
        rows=options.rows,
        quarters=options.quarters,
        seed=options.seed,
        file_format=options.file_format,
        force=options.force,
    )
    display.say(f"{len(tables)} tables of {options.rows} rows, and a spec that is ready: {spec}")
    return 0


def schema(_options: argparse.Namespace) -> int:
    """Print the JSON schema of specs."""
    from expectations.request.spec import ReleaseSpec

    schema = ReleaseSpec.model_json_schema()
    sys.stdout.write(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
    return 0


def _quieten_prefect() -> None:
    """Keep Prefect's own lines off the terminal; its log in the database stays complete."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")
