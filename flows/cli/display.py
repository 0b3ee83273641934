"""What the command line shows."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from flows.states import state_name

if TYPE_CHECKING:
    # types only: what is imported here would be waited for by `microrelease --help`
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from algorithms.errors import ReleaseError
    from algorithms.measure import Measure
    from algorithms.microaggregation.method import Method
    from algorithms.orderings.ordering import Ordering
    from expectations.gate import Verdicts
    from expectations.request.spec import ReleaseSpec
    from flows.operation.status import Status
    from tasks.listening import Listener
    from tasks.publish import Candidate
    from tasks.store.audit import Audit
    from tasks.store.history import Past


def say(sentence: str, *, error: bool = False) -> None:
    """Print one sentence, unbroken."""
    Console(highlight=False, soft_wrap=True, stderr=error).print(escape(sentence))


def fault(error: ReleaseError) -> None:
    """Print what went wrong, each fault on a line of its own."""
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    for line in str(error).splitlines():
        console.print(f"[bold red]{state_name(error).lower()}:[/] {escape(line)}")


@contextmanager
def stages(spec: ReleaseSpec) -> Iterator[Listener]:
    """Show each stage while it runs, how far a search is, and the seconds of what has passed."""
    console = Console(highlight=False)
    how = spec.microaggregation
    console.print(
        f"[bold]{spec.release.name}[/] {spec.release.folder.name}: method {how.method}, k = {how.k}"
    )
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        from flows.cli.listeners import StageListener

        yield StageListener(progress)


@contextmanager
def cells(spec: ReleaseSpec) -> Iterator[Listener]:
    """Show how many choices were tried, and each that is done."""
    console = Console(highlight=False)
    console.print(f"[bold]{spec.release.name}[/] {spec.release.folder.name}: exploring")
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        from flows.cli.listeners import CellListener

        yield CellListener(progress)
    console.print()


def measures(found: Mapping[str, Measure]) -> None:
    """Print the measures, what they mean and which way is better."""
    console = Console(highlight=False, soft_wrap=True)
    for kind in ("utility", "risk"):
        console.print(f"\n[bold]{kind}[/]")
        for name, measure in found.items():
            if measure.kind == kind:
                unit = f", in {measure.unit}" if measure.unit else ""
                console.print(
                    f"[bold]{name}[/]  {escape(measure.title)}{escape(unit)}; {measure.better} is "
                    "better"
                )
                console.print(f"    {escape(measure.definition)} \\[{measure.paper}]")


def warnings(sentences: Iterable[str]) -> None:
    """Print what does not stop a command but is likely a mistake."""
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    for sentence in sentences:
        console.print(f"[bold yellow]warning:[/] {escape(sentence)}")


def verdicts(found: Verdicts) -> None:
    """Print the table of measures against their limits, and what rounding did."""
    table = Table("measure", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("value", "limit"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for verdict in found:
        table.add_row(
            verdict.title,
            verdict.shown_value,
            verdict.shown_limit,
            "[green]passed[/]" if verdict.passed else "[bold red]failed[/]",
        )
    console = Console(highlight=False)
    console.print()
    console.print(table)
    console.print()
    Console(highlight=False, soft_wrap=True).print(f"{found.evaluation.certificate}\n")


def places(folder: Path | None, manifest: Path | None) -> None:
    """Print where the files of an attempt are."""
    if folder is not None:
        say(f"  public files  {folder}")
    if manifest is not None:
        say(f"  manifest      {manifest}")
        say(f"  report        {manifest.with_name('report.html')}")


def recomputed(found: Mapping[str, float]) -> None:
    """Print the measures that were computed from published files alone."""
    from algorithms.measures import MEASURES

    for name, value in found.items():
        say(f"  recomputed  {MEASURES[name].title}: {MEASURES[name].shown(value)}")


def audit(found: Audit) -> None:
    """Print what an audit found."""
    say(f"register: {found.lines} lines, {found.attempts} attempts")
    for folder in found.verified:
        say(f"  verified    {folder}")
    for sentence in found.incomplete:
        say(f"  incomplete  {sentence}; the next run puts this right")
    if not found.faults:
        say("the register and every release in it are as they were written")


def methods(found: Mapping[str, tuple[Method, list[str]]]) -> None:
    """Print the methods with their options and their papers."""
    from algorithms.references import PAPERS

    console = Console(highlight=False, soft_wrap=True)
    for name, (method, options) in found.items():
        path = " It reads a path, so name an ordering." if method.along_path else ""
        console.print(f"[bold]{name}[/]  {escape(method.summary)}{path}")
        for line in [*options, f"[{method.paper}] {PAPERS[method.paper]}"]:
            console.print(f"    {escape(line)}")


def orderings(found: Mapping[str, tuple[Ordering, list[str]]]) -> None:
    """Print the orderings with their options and their papers."""
    from algorithms.references import PAPERS

    console = Console(highlight=False, soft_wrap=True)
    console.print("\norderings, for methods that read a path:")
    for name, (ordering, options) in found.items():
        console.print(f"[bold]{name}[/]  {escape(ordering.summary)}")
        for line in [*options, f"[{ordering.paper}] {PAPERS[ordering.paper]}"]:
            console.print(f"    {escape(line)}")


def decide_later(candidate: Candidate) -> None:
    """Print how a candidate is decided on."""
    register = candidate.manifest.parents[2]
    command = f"microrelease approve {candidate.attempt} --register {register} --reviewer NAME"
    say(f"  to publish    {command}")


def history(pasts: Sequence[Past]) -> None:
    """Print the attempts of registers."""
    headings = ("attempt", "decision", "IL", "DLD", "k", "method", "reviewer", "files")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        right = heading in ("IL", "DLD", "k")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for past in pasts:
        table.add_row(
            past.attempt,
            past.decision,
            "" if past.il is None else f"{past.il:.2f} %",
            "" if past.dld is None else f"{past.dld:.2f} %",
            str(past.k),
            past.method,
            past.reviewer,
            past.status,
        )
    Console(highlight=False).print(table)


def status(found: Status, url: str) -> None:
    """Print what is running, what waits and what is due."""
    say("times are in UTC")
    say(f"server    {'answers' if found.server else 'does not answer'} at {url}")
    say(f"workers   {', '.join(found.workers) or 'none: nothing will run'}")
    for heading, runs in (("running", found.running), ("review", found.paused)):
        for run in runs:
            say(f"{heading:<10}{run}")
    for register, candidates in found.candidates.items():
        for candidate in candidates:
            say(f"{'candidate':<10}{candidate} in {register}")
    if found.due:
        table = Table("deployment", "next, UTC", "last, UTC", box=None, pad_edge=False)
        for due in found.due:
            soon = f"{due.next:%Y-%m-%d %H:%M}" if due.next else "by hand"
            table.add_row(due.name, soon, due.last)
        Console(highlight=False).print()
        Console(highlight=False).print(table)
    for error in found.faults:
        say(f"{state_name(error).lower()}: {error}")
