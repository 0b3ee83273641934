"""The command that helps to decide on a series: series."""

from __future__ import annotations

import argparse
from pathlib import Path

from flows.cli import display, documents
from flows.cli.command import JSON, argument, command
from flows.cli.releases import SPEC

ALL = "all"
SMALLEST_WINDOW = 2


def window(text: str) -> int | None:
    """Read a number of releases, or ``all``."""
    if text == ALL:
        return None
    if not text.isdigit() or int(text) < SMALLEST_WINDOW:
        raise argparse.ArgumentTypeError(
            f"must be a number of at least {SMALLEST_WINDOW}, or {ALL}; got {text!r}"
        )
    return int(text)


def ceiling(text: str) -> float:
    """Read a multiple of the loss of fresh groups, from 1 to 10."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1.0 <= value <= 10.0:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to 10; got {text!r}")
    return value


@command(
    SPEC,
    argument(
        "--periods",
        nargs="+",
        metavar="PERIOD",
        help="periods to replay, the oldest first (default: the last 12 whose files are at hand)",
    ),
    argument(
        "--windows",
        nargs="+",
        type=window,
        metavar="W",
        help="numbers of releases over which attackers can follow a record, or all (default: all, "
        "and that of the spec)",
    ),
    argument(
        "--ceilings",
        nargs="+",
        type=ceiling,
        metavar="X",
        help="for cohorts: largest IL as a multiple of that of fresh groups (default: 1.1 1.25 "
        "1.5, and that of the spec)",
    ),
    argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write the page (default: NAME-series in the current folder)",
    ),
    JSON,
)
def series(
    spec: Path,
    periods: list[str] | None,
    windows: list[int | None] | None,
    ceilings: list[float] | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Replay past periods to decide how to protect a series; publish nothing.

    Release the periods whose files are at hand again, in memory and in their order, with groups
    formed afresh and with groups that last, for several windows and ceilings. Show what each
    choice loses, whom it mutes and what attackers get who compare all releases, and prove what no
    method can avoid. Neither the register nor the vault is read or written.
    """
    from flows.replaying import period_specs, replayed
    from tasks.listening import listening
    from tasks.replay.findings import feasibility, recommendation
    from tasks.replay.outputs import write_replay

    specs = period_specs(spec, periods)
    with display.replay(specs, as_json=as_json) as listener, listening(listener):
        found = replayed(specs, windows, ceilings)
    folder = out or Path(f"{specs[-1].release.name}-series")
    page = write_replay(found, folder.absolute())
    if as_json:
        documents.write(documents.replayed(found, page))
        return 0
    display.choices(found)
    for sentence in (*feasibility(found), recommendation(found)):
        display.say(sentence)
    display.say(f"  page  {page}")
    return 0
