"""The command line: a list of commands, and what they have in common."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from algorithms.errors import ReleaseError
from flows.cli import (
    desk,
    display,
    documents,
    drafting,
    evidence,
    keys,
    operation,
    reference,
    releases,
    retention,
    series,
)
from flows.cli.command import Command, argument, command
from flows.cli.paths import remember


@command(
    argument("shell", choices=("bash", "zsh", "tcsh"), help="shell for which to print the script"),
)
def completion(shell: str) -> int:
    """Print a script that completes commands, options and files in a shell.

    For bash, add this line to ~/.bashrc: eval "$(microrelease completion bash)"
    """
    import shtab

    whole = parser()
    for action in _paths(whole):
        is_folder = action.metavar in ("DIR", "REGISTER")
        action.complete = shtab.DIRECTORY if is_folder else shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(whole, shell) + "\n")
    return 0


def _paths(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """List the arguments of all commands that are paths."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _paths(subparser)
        elif action.type is Path:
            yield action


COMMANDS = (
    drafting.init,
    releases.run,
    releases.explore,
    series.series,
    releases.check,
    evidence.verify,
    evidence.audit,
    evidence.register,
    releases.approve,
    keys.key,
    retention.forget,
    operation.up,
    operation.status,
    operation.deploy,
    desk.desk,
    desk.users,
    operation.mail,
    reference.methods,
    reference.measures,
    reference.example,
    reference.spec,
    completion,
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
  microrelease series demo/enterprise-survey.yaml

your own table:
  microrelease init table.csv
  microrelease run table.yaml

to run releases on a schedule, with the Prefect UI:
  microrelease up --specs demo

to look at releases and decide in a browser:
  microrelease users add LOGIN --name NAME --role reviewer
  microrelease desk --specs demo
"""


INTERRUPTED = "interrupted; `microrelease audit` shows whether the release was published"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = vars(parser().parse_args(arguments))
    chosen: Command = options.pop("command")
    as_json = options.get("as_json", False)
    remember(options)
    try:
        code: int = chosen.function(**options)
    except KeyboardInterrupt:
        if as_json:
            documents.write(documents.fault("interrupted", 130, INTERRUPTED))
        else:
            display.say(INTERRUPTED, error=True)
        return 130
    except Exception as error:
        fault = _reduced(chosen.name, error)
        if as_json:
            documents.write(documents.error_document(fault))
        else:
            display.fault(fault)
        return fault.exit_code
    return code


def _reduced(name: str, error: Exception) -> ReleaseError:
    """Pass our own errors on; the text of any other may quote a cell."""
    if isinstance(error, ReleaseError):
        return error
    from tasks.stage import reduced

    return reduced(name, error)


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line as JSON, if that is asked for."""

    _as_json = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._as_json = "--json" in (sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if not self._as_json:
            super().error(message)
        documents.write(documents.fault("usage", 2, f"{message}: see {self.prog} --help"))
        raise SystemExit(2)


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    whole = _Parser(
        prog="microrelease",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=version("microrelease"))
    parsers = whole.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for each in COMMANDS:
        subparser = parsers.add_parser(each.name, help=each.summary, description=each.description)
        subparser.set_defaults(command=each)
        for add_argument_to in each.arguments:
            add_argument_to(subparser)
    return whole
