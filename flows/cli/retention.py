"""The command that removes what is no longer needed: forget."""

import getpass
from pathlib import Path

from flows.cli import display
from flows.cli.command import argument, command
from flows.cli.releases import SPEC, resolved_spec


@command(
    SPEC,
    argument(
        "--before",
        required=True,
        metavar="PERIOD",
        help="first period whose vault file is kept, such as 2026-Q3",
    ),
    argument(
        "--started-by",
        metavar="NAME",
        help="person who removes them, kept in the register (default: your account name)",
    ),
)
def forget(spec: Path, before: str, started_by: str | None) -> int:
    """Remove vault files of old releases that no later release will be compared with.

    The spec must declare series.window, and only releases outside it can be removed. The register
    keeps a line for each of them. What is public stays public.
    """
    from expectations.request.named import Changes
    from tasks.forget import forget as remove

    Changes.of(before)
    removed = remove(resolved_spec(spec, None), before, started_by or getpass.getuser())
    for name in removed:
        display.say(f"  removed  the vault file of {name}")
    if not removed:
        display.say("there is no vault file to remove")
    return 0
