"""The command line: a list of commands, and what they have in common."""

import argparse
from collections.abc import Sequence
from importlib.metadata import version

from algorithms.errors import ReleaseError
from flows.cli import display, drafting, evidence, operation, reference, releases

COMMANDS = (
    drafting.init,
    releases.run,
    releases.explore,
    releases.check,
    evidence.verify,
    evidence.audit,
    evidence.register,
    releases.approve,
    operation.up,
    operation.status,
    operation.deploy,
    reference.methods,
    reference.measures,
    reference.example,
    reference.spec,
)

DESCRIPTION = """\
Publish k-anonymous microdata, but only if the information loss (IL) and the
share of records that can still be linked (DLD) stay within ceilings that
someone has signed off.
"""

EPILOG = """\
exit codes:
    0  success
    1  Prefect could not run the flow, or scheduled releases would not run
    2  the command line is wrong
   10  the spec is wrong
   11  the input does not match the spec
   12  blocked: the gate refused the release, or the period is already published
   13  published files or the register do not match what was recorded
   14  a file or folder cannot be read or written
   15  rejected by a reviewer
   70  a bug in microrelease; please report it
  130  interrupted

start here:
  microrelease example demo
  microrelease explore demo/enterprise-survey.yaml --period 2026-Q3
  microrelease run demo/enterprise-survey.yaml --period 2026-Q3
  microrelease verify demo/public/enterprise-survey/2026-Q3
  microrelease audit demo/register
  microrelease register demo/register

your own table:
  microrelease init table.csv
  microrelease run table.yaml

to run releases on a schedule, with the Prefect UI:
  microrelease up --specs demo
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = vars(_parser().parse_args(arguments))
    command = options.pop("command")
    try:
        code: int = command.function(**options)
    except ReleaseError as error:
        display.fault(error)
        return error.exit_code
    except KeyboardInterrupt:
        display.say(
            "interrupted; `microrelease audit` shows whether the release was published", error=True
        )
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="microrelease",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version("microrelease"))
    parsers = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for command in COMMANDS:
        subparser = parsers.add_parser(
            command.name, help=command.summary, description=command.description
        )
        subparser.set_defaults(command=command)
        for add_argument_to in command.arguments:
            add_argument_to(subparser)
    return parser
