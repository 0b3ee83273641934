"""The command line: microrelease run | explore | approve | audit | up | status | …."""

import argparse
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from algorithms.errors import ReleaseError
from flows.cli import commands, display
from flows.operation.installation import FILE, PORT, default_home

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
  15  rejected by a reviewer
  70  an error of ours; please report it

start here:
  microrelease example demo
  microrelease explore demo/enterprise-survey.yaml --period 2026-Q3
  microrelease run demo/enterprise-survey.yaml --period 2026-Q3
  microrelease verify demo/public/enterprise-survey/2026-Q3
  microrelease audit demo/register
  microrelease register demo/register

to run releases on a schedule, with the Prefect UI:
  microrelease up --specs demo
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
    known = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    run = known.add_parser(
        "run",
        help="mask a table as its spec asks, judge it, and publish it",
        description="Runs the release flow here and now. With PREFECT_API_URL set it is recorded "
        "by that Prefect server, otherwise by a temporary one.",
    )
    _add_spec(run)
    how = run.add_mutually_exclusive_group()
    how.add_argument(
        "--dry-run", action="store_true", help="measure and judge; publish and record nothing"
    )
    how.add_argument(
        "--candidate",
        action="store_true",
        help="seal what passes the gate, for `microrelease approve` to publish later",
    )
    run.add_argument(
        "--started-by",
        metavar="NAME",
        help="who starts this, and so cannot review it (default: the name of your account)",
    )
    run.set_defaults(run=commands.run)

    explore = known.add_parser(
        "explore",
        help="draw a risk-utility map of methods, paths and k; publish nothing",
        description="Tries every combination of methods, orderings (for methods that cut a path) "
        "and k on the table of a spec, measures each as a release would, and writes a map with the "
        "ceilings of the spec in it, a table of all measures, and a recommendation. A choice that "
        "fails or takes too long does not stop the others.",
    )
    _add_spec(explore)
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
        help="group sizes, such as 5 7 10 or 5-15 (default: that of the spec, and those of 2 3 4 5 "
        "7 10 15 that are larger); one below that of the spec is drawn and never recommended",
    )
    explore.add_argument(
        "--seconds",
        type=_seconds,
        default=60.0,
        help="the most one choice may take; compiling does not count (default 60)",
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
    explore.set_defaults(run=commands.explore)

    check = known.add_parser(
        "check",
        help="validate a spec and its source without running",
        description="Reads the spec and the table it names, and reports every fault.",
    )
    _add_spec(check)
    check.set_defaults(run=commands.check)

    verify = known.add_parser(
        "verify",
        help="re-verify a published folder from its own files",
        description="Recomputes checksums, compares CSV with Parquet, and counts every combination "
        "of quasi-identifiers, by code that shares nothing with the methods; then every measure "
        "that needs no original.",
    )
    verify.add_argument("folder", type=Path, metavar="DIR", help="folder of one published release")
    verify.set_defaults(run=commands.verify)

    audit = known.add_parser(
        "audit",
        help="check a register's hash chain and every release in it",
        description="Follows the hash chain of register.jsonl, compares every manifest with its "
        "line, and verifies every published folder against its manifest.",
    )
    audit.add_argument("register", type=Path, metavar="REGISTER", help="internal register folder")
    audit.add_argument(
        "--public", type=Path, metavar="DIR", help="where the public folder is now, if it was moved"
    )
    audit.add_argument(
        "--head", metavar="HASH", help="hash of a line that was the last one once, kept elsewhere"
    )
    audit.set_defaults(run=commands.audit)

    register = known.add_parser(
        "register",
        help="show all releases and attempts, as a page and as a table",
        description="Audits registers and writes one page that holds every release and every "
        "blocked attempt, IL and DLD over time with their ceilings, decisions, reviewers, "
        "checksums and links to reports.",
    )
    register.add_argument("registers", type=Path, nargs="+", metavar="REGISTER")
    register.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="where the page is written (default: index.html in the first register)",
    )
    register.add_argument("--json", action="store_true", help="print JSON instead of a table")
    register.set_defaults(run=commands.register)

    approve = known.add_parser(
        "approve",
        help="publish a sealed candidate, or reject it",
        description="Publishes exactly the bytes that `microrelease run --candidate` sealed, once "
        "it has seen that they are unaltered. `microrelease status` and `microrelease register` "
        "list what waits.",
    )
    approve.add_argument("candidate", metavar="ID", help="such as 000003-enterprise-survey-2026-Q3")
    approve.add_argument(
        "--register", type=Path, default=Path("register"), metavar="DIR", help="(default: register)"
    )
    approve.add_argument(
        "--reviewer", required=True, metavar="NAME", help="your name; not who started the run"
    )
    approve.add_argument("--reason", default="", help="kept in the register")
    approve.add_argument("--reject", action="store_true", help="drop the candidate instead")
    approve.set_defaults(run=commands.approve)

    up = known.add_parser(
        "up",
        help="start server, worker and deployments on this machine, until Ctrl-C",
        description="Starts a Prefect server that listens on this machine only and asks for a "
        "password, which is made at the first start, then a worker and the deployments. "
        "MICRORELEASE_DATABASE names a PostgreSQL database; without it SQLite is used.",
    )
    _add_home(up)
    up.add_argument("--port", type=_positive, default=PORT, help=f"(default {PORT})")
    up.add_argument(
        "--specs", type=Path, metavar="DIR", help="folder of specs (default: deployments/specs)"
    )
    up.add_argument("--file", type=Path, default=FILE, help="(default: deployments/prefect.yaml)")
    up.set_defaults(run=commands.up)

    status = known.add_parser(
        "status",
        help="say what is running, what waits for a reviewer, and what is due",
        description="Asks the server of PREFECT_API_URL, or that of the installation. Exit code 1 "
        "means that scheduled releases would not run.",
    )
    _add_home(status)
    status.set_defaults(run=commands.status)

    deploy = known.add_parser(
        "deploy",
        help="bring pool, limits, deployments and automations of a server up to date",
        description="Works on the server of PREFECT_API_URL; can be repeated at any time.",
    )
    deploy.add_argument(
        "--file", type=Path, default=FILE, help="(default: deployments/prefect.yaml)"
    )
    deploy.set_defaults(run=commands.deploy)

    methods = known.add_parser("methods", help="list methods, their options and their papers")
    methods.set_defaults(run=commands.methods)

    measures = known.add_parser(
        "measures",
        help="list measures of risk and utility, and what they mean",
        description="Any of them can have a ceiling (where lower is better) or a floor (where "
        "higher is better) in a spec.",
    )
    measures.add_argument("--markdown", action="store_true", help="print the page docs/measures.md")
    measures.set_defaults(run=commands.measures)

    example = known.add_parser(
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
    example.set_defaults(run=commands.example)

    spec = known.add_parser(
        "spec",
        help="print the JSON schema of release specs",
        description="The schema lets an editor complete, explain and check a spec while it is "
        "written.",
    )
    spec.add_argument("--schema", action="store_true", required=True, help="print the JSON schema")
    spec.set_defaults(run=commands.schema)
    return parser


def _add_spec(command: argparse.ArgumentParser) -> None:
    command.add_argument("spec", type=Path, metavar="SPEC", help="release spec, a YAML file")
    command.add_argument(
        "--period",
        metavar="PERIOD",
        help="period to release, such as 2026-Q3 (default: that of the spec, or the last full one)",
    )


def _add_home(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--home",
        type=lambda text: Path(text).absolute(),
        default=default_home(),
        metavar="DIR",
        help="folder of the installation (default: MICRORELEASE_HOME, or .microrelease at home)",
    )


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
