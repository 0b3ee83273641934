"""The output of the command line."""

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
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress_bar import ProgressBar
from rich.table import Table

from flows.cli.paths import as_written
from flows.states import state_name

if TYPE_CHECKING:
    # for types only: importing these modules would slow down `microrelease --help`
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from algorithms.errors import ReleaseError
    from algorithms.measure import Measure
    from algorithms.microaggregation.method import Method
    from algorithms.orderings.ordering import Ordering
    from algorithms.risk.known import Exposure
    from expectations.gate import Verdicts
    from expectations.published.statement import Statement
    from expectations.request.spec import ReleaseSpec
    from expectations.signatures import Trust
    from flows.desk.users import Account
    from flows.operation.status import Status
    from tasks.draft.guess import Guess
    from tasks.listening import Listener
    from tasks.publish import Candidate
    from tasks.replay.findings import Findings
    from tasks.store.audit import Audit
    from tasks.store.history import Past


def say(sentence: str, *, error: bool = False) -> None:
    """Print one sentence without line breaks."""
    Console(highlight=False, soft_wrap=True, stderr=error).print(escape(as_written(sentence)))


def fault(error: ReleaseError) -> None:
    """Print an error, each of its faults on a line of its own."""
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    for line in as_written(str(error)).splitlines():
        console.print(f"[bold red]{state_name(error).lower()}:[/] {escape(line)}")


@contextmanager
def stages(spec: ReleaseSpec, *, as_json: bool = False) -> Iterator[Listener]:
    """Show the running stage, how far it is, and the seconds each stage took.

    With ``as_json``, standard output is kept for the document.
    """
    console = Console(highlight=False, stderr=as_json)
    plan = spec.microaggregation
    console.print(f"{_title(spec)}: method {plan.method}, k = {plan.k}")
    with _shares(console) as progress:
        from flows.cli.listeners import StageListener

        yield StageListener(progress)


@contextmanager
def working(description: str) -> Iterator[Callable[[float], None]]:
    """Show that a command works, and how far it is once it reports a share of its work."""
    with _shares(Console(highlight=False, stderr=True)) as progress:
        bar = progress.add_task(description, total=None)
        yield lambda share: progress.update(bar, total=1.0, completed=share)


def _shares(console: Console) -> Progress:
    """Show a bar and the time that is left where a share is known, and the time so far."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        _KnownShare(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class _KnownShare(BarColumn):
    """A bar that is shown only where the share of work is known."""

    def render(self, task: Task) -> ProgressBar:
        """Draw the bar, of no width where the share is not known."""
        bar = super().render(task)
        if task.total is None:
            bar.width = 0
        return bar


@contextmanager
def cells(spec: ReleaseSpec, *, as_json: bool = False) -> Iterator[Listener]:
    """Show how many choices have been tried, and the result of each.

    With ``as_json``, standard output is kept for the document.
    """
    console = Console(highlight=False, stderr=as_json)
    console.print(f"{_title(spec)}: exploring")
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


@contextmanager
def replay(specs: Sequence[ReleaseSpec], *, as_json: bool = False) -> Iterator[Listener]:
    """Show how many releases have been replayed, and the result of each.

    With ``as_json``, standard output is kept for the document.
    """
    console = Console(highlight=False, stderr=as_json)
    first, last = specs[0].release, specs[-1].release
    console.print(f"[bold]{last.name}[/] {first.period} to {last.period}: replaying")
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
        from flows.cli.listeners import ReplayListener

        yield ReplayListener(progress)
    console.print()


def choices(found: Findings) -> None:
    """Print the choices of a replay: means of losses and muted records, and the worst release."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("choice", overflow="fold")
    for heading in ("IL %", "/ fresh", "muted %", "most %", "below k %", "singled %", "lone"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in found.replays:
        table.add_row(
            escape(each.choice.name),
            f"{each.mean('il'):.2f}",
            f"{each.mean('over_fresh'):.2f}",
            f"{each.mean('muted'):.1f}",
            *(f"{each.most(name):.1f}" for name in ("muted", "under_k_across", "singled_out")),
            f"{each.most('lone_changes'):.0f}",
        )
    Console(highlight=False).print(table)
    say("")


def _title(spec: ReleaseSpec) -> str:
    return f"[bold]{spec.release.name}[/] {spec.release.folder.name}"


def exposures(found: Sequence[Exposure], records: int, k: int) -> None:
    """Print how many records stand out by columns that are published unchanged."""
    if not found:
        return
    table = Table(
        title="Records that stand out by columns that are published unchanged",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("known columns", overflow="fold")
    table.add_column("unique", justify="right")
    table.add_column(f"fewer than k={k} alike", justify="right")
    for each in found:
        shares = (f"{n} ({100.0 * n / records:.1f} %)" for n in (each.unique, each.below))
        table.add_row(escape(" + ".join(each.columns)), *shares)
    Console(highlight=False).print(table)
    say("  k does not cover confidential columns: someone signs that attackers do not know them")


def guesses(found: Iterable[Guess]) -> None:
    """Print the guessed role and kind of each column, with the reason."""
    table = Table("column", "role", "kind", "reason", box=None, pad_edge=False)
    for guess in found:
        is_key = guess.role == "quasi_identifiers"
        role = (
            guess.role.replace("_", " ").removesuffix("s") if guess.role != "strata" else "stratum"
        )
        table.add_row(
            escape(guess.column), role, guess.kind if is_key else "", escape(guess.reason)
        )
    Console(highlight=False).print(table)


def measures(registry: Mapping[str, Measure]) -> None:
    """Print the measures, their meaning and the direction that is better."""
    console = Console(highlight=False, soft_wrap=True)
    for kind in ("utility", "risk"):
        console.print(f"\n[bold]{kind}[/]")
        for name, measure in registry.items():
            if measure.kind == kind:
                unit = f", in {measure.unit}" if measure.unit else ""
                console.print(
                    f"[bold]{name}[/]  {escape(measure.title)}{escape(unit)}; {measure.better} is "
                    "better"
                )
                console.print(f"    {escape(measure.definition)} \\[{measure.paper}]")


def warnings(sentences: Iterable[str]) -> None:
    """Print likely mistakes that do not stop a command."""
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    for sentence in sentences:
        console.print(f"[bold yellow]warning:[/] {escape(as_written(sentence))}")


def proposal(snippet: str, meanings: Iterable[str]) -> None:
    """Print proposed limits, ready to paste into a spec, and their meaning."""
    say(f"\n{snippet}\n")
    for meaning in meanings:
        say(f"  {meaning}")
    say("")


def verdicts(judged: Verdicts) -> None:
    """Print the measures with their limits and verdicts, and the certificate."""
    table = Table("measure", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("value", "limit"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for verdict in judged:
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
    Console(highlight=False, soft_wrap=True).print(f"{judged.evaluation.certificate}\n")


def files(folder: Path | None, manifest: Path | None) -> None:
    """Print the locations of the files of an attempt."""
    if folder is not None:
        say(f"  public files  {folder}")
    if manifest is not None:
        say(f"  manifest      {manifest}")
        say(f"  report        {manifest.with_name('report.html')}")


def recomputed(values: Mapping[str, float]) -> None:
    """Print the measures that were recomputed from published files alone."""
    from algorithms.measures import MEASURES

    for name, value in values.items():
        say(f"  recomputed  {MEASURES[name].title}: {MEASURES[name].shown(value)}")


def signed(statement: Statement | None, trust: Trust | None) -> None:
    """Print who signed a published folder, and what is not known without a key."""
    if statement is None:
        say("  not signed  whether someone altered IL, DLD and the files cannot be known")
        return
    reviewers = statement.decision.reviewers
    reviewed = f", {reviewers} reviewer{'' if reviewers == 1 else 's'}" if reviewers else ""
    say(f"  signed      gate {statement.decision.gate}{reviewed}; {statement.key.fingerprint}")
    if trust is None:
        say(
            "  not known   whether that is the publisher's key, and so whether someone altered IL, "
            "DLD and the files and signed them again: give --key"
        )


def audit(audited: Audit) -> None:
    """Print the findings of an audit."""
    say(f"lines in the register: {audited.lines}, attempts: {audited.attempts}")
    if audited.signed_with:
        say(f"  signed      {audited.signed_with}")
    for folder in audited.verified:
        say(f"  verified    {folder}")
    for sentence in audited.incomplete:
        say(f"  incomplete  {sentence}; the next run repairs this")
    for sentence in audited.unknown:
        say(f"  not known   {sentence}")
    if not audited.faults:
        say("the register and every release in it are intact")


def methods(advice: str, registry: Mapping[str, tuple[Method, list[str]]]) -> None:
    """Print which method to choose, and all methods with their options and their papers."""
    from algorithms.references import PAPERS

    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{escape(advice)}\n")
    for name, (method, options) in registry.items():
        path = " It cuts a path, so a spec must name an ordering." if method.reads_path else ""
        console.print(f"[bold]{name}[/]  {escape(method.summary)}{path}")
        for line in [*options, f"[{method.paper}] {PAPERS[method.paper]}"]:
            console.print(f"    {escape(line)}")


def orderings(registry: Mapping[str, tuple[Ordering, list[str]]]) -> None:
    """Print the orderings with their options and their papers."""
    from algorithms.references import PAPERS

    console = Console(highlight=False, soft_wrap=True)
    console.print("\norderings, for methods that cut a path:")
    for name, (ordering, options) in registry.items():
        console.print(f"[bold]{name}[/]  {escape(ordering.summary)}")
        for line in [*options, f"[{ordering.paper}] {PAPERS[ordering.paper]}"]:
            console.print(f"    {escape(line)}")


def decide_later(candidate: Candidate) -> None:
    """Print the command that decides on a candidate."""
    register = candidate.manifest.parents[2]
    command = f"microrelease approve {candidate.attempt} --register {register} --reviewer NAME"
    say(f"  to publish    {command}")


def history(pasts: Sequence[Past]) -> None:
    """Print the attempts in registers as a table."""
    headings = ("attempt", "decision", "IL", "DLD", "k", "method", "reviewer", "files")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        right = heading in ("IL", "DLD", "k")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for past in pasts:
        table.add_row(
            past.attempt,
            past.decision,
            _percent(past.il),
            _percent(past.dld),
            str(past.k),
            past.method,
            past.reviewer,
            past.status,
        )
    Console(highlight=False).print(table)


def timeline(dataset: str, pasts: Sequence[Past]) -> None:
    """Print how the releases of a series compare, period by period."""
    table = Table(title=f"Timeline of {escape(dataset)}", title_justify="left", box=None)
    table.add_column("release")
    for heading in ("IL", "DLD", "candidates", "muted"):
        table.add_column(heading, justify="right")
    table.add_column("decision")
    for past in pasts:
        fewest = "" if past.candidates_min is None else f"{past.candidates_min:.0f}"
        figures = (_percent(past.il), _percent(past.dld), fewest, _percent(past.muted))
        table.add_row(past.period, *figures, past.decision)
    Console(highlight=False).print()
    Console(highlight=False).print(table)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} %"


def status(current: Status, url: str) -> None:
    """Print the workers, runs, candidates and schedule of an installation."""
    say("times are in UTC")
    say(f"server    {'answers' if current.server else 'does not answer'} at {url}")
    if current.desk:
        words = "answers" if current.desk_answers else "does not answer"
        say(f"desk      {words} at {current.desk}")
    say(f"workers   {', '.join(current.workers) or 'none, so nothing will run'}")
    for heading, runs in (
        ("running", current.running),
        ("waiting", current.waiting),
        ("review", current.paused),
    ):
        for run in runs:
            say(f"{heading:<10}{run}")
    for register, candidates in current.candidates.items():
        for candidate in candidates:
            say(f"{'candidate':<10}{candidate} in {register}")
    if current.due:
        table = Table("deployment", "next run (UTC)", "last run (UTC)", box=None, pad_edge=False)
        for due in current.due:
            next_run = f"{due.next:%Y-%m-%d %H:%M}" if due.next else "by hand"
            table.add_row(due.name, next_run, due.last)
        Console(highlight=False).print()
        Console(highlight=False).print(table)
    for error in current.faults:
        say(f"{state_name(error).lower()}: {error}")


def users(accounts: Mapping[str, Account]) -> None:
    """Print the users of the desk; never a hash of a password."""
    from flows.desk.keys import own_key

    if not accounts:
        say("there are no users: add one with `microrelease users add`")
        return
    table = Table("login", "name", "roles", "password", box=None, pad_edge=False)
    table.add_column("key", overflow="fold")
    for login, account in sorted(accounts.items()):
        user = account.user
        key = own_key(user)
        table.add_row(
            escape(login),
            escape(user.name),
            ", ".join(sorted(user.roles)),
            "yes" if account.password else "no",
            "none" if key is None else key.fingerprint,
        )
    Console(highlight=False).print(table)
