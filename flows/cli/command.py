"""Declaration of commands: arguments are declared directly above the function of a command.

The docstring of that function is the help text of the command, and its name is the name of the
command. Each declared argument becomes a keyword argument of the function.
"""

import argparse
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Argument = Callable[[argparse._ActionsContainer], object]
"""Adds itself to a parser."""

MOST_PORT = 65_535


@dataclass(frozen=True)
class Command:
    """A function that the command line can call.

    Attributes
    ----------
    function : callable
        Takes the arguments by keyword and returns the exit code. It imports heavy modules itself,
        so that no other command, and no help text, has to wait for them.
    arguments : tuple of Argument
        In the order in which the help text lists them.
    """

    function: Callable[..., int]
    arguments: tuple[Argument, ...]

    @property
    def name(self) -> str:
        """The word that calls the command."""
        return self.function.__name__

    @property
    def description(self) -> str:
        """The whole help text."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first sentence of the help text."""
        return self.description.partition("\n")[0]


def command(*arguments: Argument) -> Callable[[Callable[..., int]], Command]:
    """Make a command of the function below."""
    return lambda function: Command(function, arguments)


def argument(*names: str, **settings: Any) -> Argument:
    """Declare an argument; takes the parameters of ``ArgumentParser.add_argument``."""
    return lambda parser: parser.add_argument(*names, **settings)


def one_of(*arguments: Argument) -> Argument:
    """Declare options of which at most one can be given."""

    def add_to(parser: argparse._ActionsContainer) -> None:
        group = parser.add_mutually_exclusive_group()
        for add_argument_to in arguments:
            add_argument_to(group)

    return add_to


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return value


def port_number(text: str) -> int:
    """Read the number of a port."""
    value = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= value <= MOST_PORT:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to {MOST_PORT}; got {text!r}"
        )
    return value


def share(text: str) -> float:
    """Read a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1; got {text!r}")
    return value


JSON = argument(
    "--json",
    action="store_true",
    dest="as_json",
    help="print one JSON document on standard output, also for a fault, and nothing else there",
)
"""The option of commands whose output other programs read."""

HOME_OPTION = argument(
    "--home",
    type=Path,
    metavar="DIR",
    help="folder of the installation (default: MICRORELEASE_HOME, or ~/.microrelease)",
)
"""The option of commands about an installation."""
