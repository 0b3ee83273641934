"""The command line: microrelease run | explore | check | verify | audit | methods | …."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from algorithms.errors import IntegrityError, ReleaseError
from flows import display

SMALLEST_K = 2

EPILOG = """\
exit codes:
   0  done
   1  Prefect could not run the flow
   2  the command line is wrong
  10  the spec is wrong
  11  the input is not what the spec says it is
  12  blocked: the gate refused, or the period is published already
  13  published files or register are not what they claim to be
  14  a file or folder cannot be read or written
  70  an error of ours; please report it

start here:
  microrelease example demo
  microrelease explore demo/enterprise-survey.yaml
  microrelease run demo/enterprise-survey.yaml
  microrelease verify demo/public/enterprise-survey/2026-Q3
  microrelease audit demo/register
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except ReleaseError as error:
        display.fault(error)
        return error.exit_code
    except KeyboardInterrupt:
        display.say("interrupted; `microrelease audit` tells whether it was published", error=True)
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="microrelease",
        description="Publishes k-anonymous microdata, if what it loses (IL) and what can still be "
        "linked (DLD) stay within ceilings that someone signed for.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version("microrelease"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    run = commands.add_parser(
        "run",
        help="mask a table as its spec asks, judge it, and publish it",
        description="Runs the release flow here and now. With PREFECT_API_URL set it is recorded "
        "by that Prefect server, otherwise by a temporary one.",
    )
    run.add_argument("spec", type=Path, metavar="SPEC", help="release spec, a YAML file")
    run.add_argument(
        "--dry-run", action="store_true", help="measure and judge; publish and record nothing"
    )
    run.set_defaults(run=_run)

    explore = commands.add_parser(
        "explore",
        help="draw a risk-utility map of methods, paths and k; publish nothing",
        description="Tries every combination of methods, orderings (for methods that cut a path) "
        "and k on the table of a spec, measures each as a release would, and writes a map with the "
        "ceilings of the spec in it, a table of all measures, and a recommendation. A choice that "
        "fails or takes too long does not stop the others.",
    )
    explore.add_argument("spec", type=Path, metavar="SPEC", help="release spec, a YAML file")
    explore.add_argument(
        "--methods", nargs="+", metavar="METHOD", help="methods to try (default: all)"
    )
    explore.add_argument(
        "--orderings",
        nargs="+",
        metavar="ORDERING",
        help="paths for methods that cut one (default: npn tsp)",
    )
    explore.add_argument(
        "--k",
        nargs="+",
        type=_numbers,
        metavar="K",
        help="group sizes, such as 3 5 10 or 2-15 (default: 2 3 4 5 7 10 15 and that of the spec)",
    )
    explore.add_argument(
        "--seconds", type=_seconds, default=60.0, help="the most one choice may take (default 60)"
    )
    explore.add_argument(
        "--workers", type=_positive, default=2, help="choices tried at a time (default 2)"
    )
    explore.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="where the map is written (default: NAME-PERIOD-map here)",
    )
    explore.add_argument(
        "--choose",
        type=Path,
        metavar="NEW_SPEC",
        help="write the spec anew, with the recommended choice in it",
    )
    explore.set_defaults(run=_explore)

    check = commands.add_parser(
        "check",
        help="validate a spec and its source without running",
        description="Reads the spec and the table it names, and reports every fault.",
    )
    check.add_argument("spec", type=Path, metavar="SPEC", help="release spec, a YAML file")
    check.set_defaults(run=_check)

    verify = commands.add_parser(
        "verify",
        help="re-verify a published folder from its own files",
        description="Recomputes checksums, compares CSV with Parquet, and counts every combination "
        "of quasi-identifiers, by code that shares nothing with the methods; then every measure "
        "that needs no original.",
    )
    verify.add_argument("folder", type=Path, metavar="DIR", help="folder of one published release")
    verify.set_defaults(run=_verify)

    audit = commands.add_parser(
        "audit",
        help="check a register's hash chain and every release in it",
        description="Follows the hash chain of register.jsonl, compares every manifest with its "
        "line, and verifies every published folder against its manifest.",
    )
    audit.add_argument("register", type=Path, metavar="REGISTER", help="internal register folder")
    audit.add_argument(
        "--public", type=Path, metavar="DIR", help="where the public folder is now, if it was moved"
    )
    audit.set_defaults(run=_audit)

    methods = commands.add_parser("methods", help="list methods, their options and their papers")
    methods.set_defaults(run=_methods)

    measures = commands.add_parser(
        "measures",
        help="list measures of risk and utility, and what they mean",
        description="Any of them can have a ceiling (where lower is better) or a floor (where "
        "higher is better) in a spec.",
    )
    measures.add_argument("--markdown", action="store_true", help="print the page docs/measures.md")
    measures.set_defaults(run=_measures)

    example = commands.add_parser(
        "example",
        help="write the built-in example: tables and a ready spec",
        description="Writes quarterly tables of a survey of invented enterprises, and a spec that "
        "releases the last of them.",
    )
    example.add_argument("folder", type=Path, metavar="DIR", help="folder to write to")
    example.add_argument("--rows", type=_positive, default=2000, help="enterprises (default 2000)")
    example.add_argument("--quarters", type=_positive, default=4, help="tables (default 4)")
    example.add_argument("--seed", type=int, default=1, help="other seed, other data (default 1)")
    example.add_argument("--format", choices=("csv", "parquet"), default="csv", dest="file_format")
    example.add_argument("--force", action="store_true", help="overwrite files that differ")
    example.set_defaults(run=_example)

    spec = commands.add_parser(
        "spec",
        help="print the JSON schema of release specs",
        description="The schema lets an editor complete, explain and check a spec while it is "
        "written.",
    )
    spec.add_argument("--schema", action="store_true", required=True, help="print the JSON schema")
    spec.set_defaults(run=_schema)
    return parser


def _run(options: argparse.Namespace) -> int:
    from expectations.spec_file import load

    spec = load(options.spec)
    display.warnings(spec)
    _quieten_prefect()
    with display.stages(spec) as (listener, watcher):
        from flows.release import Outcome, observers, release
        from tasks.stage import listeners, watchers

        outcomes: list[Outcome] = []
        listeners.append(listener)
        watchers.append(watcher)
        observers.append(outcomes.append)
        try:
            with _prefect_faults_in_words():
                release(spec, dry_run=options.dry_run, return_state=True)
        finally:
            listeners.remove(listener)
            watchers.remove(watcher)
            observers.pop()
    if not outcomes:
        raise ReleaseError("Prefect ended the run before its first stage; see its log")
    outcome = outcomes[0]
    display.verdicts(outcome.verdicts, outcome.evaluation)
    if outcome.error is None:
        display.say(outcome.sentence)
    display.places(outcome.folder, outcome.manifest)
    if outcome.error is not None:
        raise outcome.error
    return 0


def _explore(options: argparse.Namespace) -> int:
    from algorithms.errors import SpecError
    from expectations.spec_file import load

    spec = load(options.spec)
    ks = [k for part in options.k or () for k in part]
    if options.choose is not None and options.choose.exists():
        raise SpecError(f"{str(options.choose)!r} must not be overwritten; choose another name")
    folder = options.folder or Path("-".join((*spec.release.folder.parts, "map")))
    _quieten_prefect()
    with display.cells(spec) as (listener, observer):
        from flows.explore import explore, observers, outcomes
        from tasks.explore.cell import Cell, recommendation
        from tasks.explore.outputs import PAGE, write_choice
        from tasks.stage import listeners

        found: list[tuple[list[Cell], ReleaseError | None]] = []
        listeners.append(listener)
        observers.append(observer)
        outcomes.append(lambda cells, error: found.append((cells, error)))
        try:
            with _prefect_faults_in_words():
                explore(
                    spec,
                    folder.absolute(),
                    methods=options.methods,
                    orderings=options.orderings,
                    ks=ks or None,
                    seconds=options.seconds,
                    workers=options.workers,
                    return_state=True,
                )
        finally:
            listeners.remove(listener)
            observers.pop()
            outcomes.pop()
    if not found:
        raise ReleaseError("Prefect ended the run before its first stage; see its log")
    cells, error = found[0]
    if error is not None:
        raise error
    display.say(recommendation(cells, spec))
    display.say(f"  map   {folder / PAGE}")
    if options.choose is not None:
        write_choice(cells, spec, options.spec, options.choose)
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


def _check(options: argparse.Namespace) -> int:
    from expectations.spec_file import load
    from tasks.ingest import ingest
    from tasks.shelves.public_folder import check_places
    from tasks.validate import validate

    spec = load(options.spec)
    display.warnings(spec)
    check_places(spec.publication)
    table = validate.fn(ingest.fn(spec).frame, spec)
    display.say(
        f"{options.spec}: the spec is valid and its source fits: {len(table.frame)} rows, "
        f"{len(table.findings)} expectations met"
    )
    return 0


def _verify(options: argparse.Namespace) -> int:
    from expectations.published import verify
    from expectations.recomputed import recompute

    found = verify(options.folder)
    measures = recompute(options.folder)
    display.say(
        f"{options.folder}: whole; {found.rows} rows, {len(found.columns)} columns, every "
        f"combination of {len(found.quasi_identifiers)} quasi-identifiers stands in at least "
        f"{found.k_found} rows (k = {found.k_claimed} was promised)"
    )
    display.recomputed(measures)
    return 0


def _audit(options: argparse.Namespace) -> int:
    from tasks.shelves.audit import audit

    found = audit(options.register, options.public)
    display.audit(found)
    if found.faults:
        raise IntegrityError("\n".join(found.faults))
    return 0


def _methods(_options: argparse.Namespace) -> int:
    from algorithms.microaggregation import METHODS
    from algorithms.orderings import ORDERINGS
    from expectations.options import described

    display.methods({name: (METHODS[name], described(METHODS[name].run)) for name in METHODS})
    display.orderings(
        {name: (ORDERINGS[name], described(ORDERINGS[name].run)) for name in ORDERINGS}
    )
    return 0


def _measures(options: argparse.Namespace) -> int:
    from algorithms.measures import MEASURES
    from flows.measures_page import measures_page

    if options.markdown:
        sys.stdout.write(measures_page())
    else:
        display.measures(MEASURES)
    return 0


def _example(options: argparse.Namespace) -> int:
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


def _schema(_options: argparse.Namespace) -> int:
    from expectations.spec import ReleaseSpec

    schema = ReleaseSpec.model_json_schema()
    sys.stdout.write(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
    return 0


def _numbers(text: str) -> list[int]:
    """Read a number, or a range such as 2-15."""
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isdigit() and last.isdigit()) or int(first) < SMALLEST_K:
        raise argparse.ArgumentTypeError(f"must be at least {SMALLEST_K}, or a range such as 2-15")
    return list(range(int(first), int(last) + 1))


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _quieten_prefect() -> None:
    """Keep Prefect's own lines off the terminal; its log in the database stays complete."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")
