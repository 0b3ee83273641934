"""Runs suites, and reports counts but never values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from algorithms.errors import ReleaseError
from expectations.suites.rules import Rule, Suite, could_not_run

if TYPE_CHECKING:
    import pandas as pd

    from expectations.suites.counts import Count


@dataclass(frozen=True)
class Finding:
    """The result of one rule of a suite.

    Attributes
    ----------
    suite, rule : str
        The suite, and the rule in words.
    met : bool
        Whether it is met.
    rows : int, optional
        Number of rows that break it; None if the rule is not about rows.
    detail : str
        What was found, in words and counts; empty if ``rows`` says it all.
    """

    suite: str
    rule: str
    met: bool
    rows: int | None
    detail: str = ""

    def __str__(self) -> str:
        if self.detail:
            return f"{self.rule}; {self.detail}"
        if self.rows is None:
            return self.rule
        return f"{self.rule}; {self.rows} {'row breaks' if self.rows == 1 else 'rows break'} this"


Run = Callable[[Suite, "pd.DataFrame"], tuple[Finding, ...]]
"""Checks a table against a suite: `with_great_expectations` or `plainly`."""


def with_great_expectations(suite: Suite, frame: pd.DataFrame) -> tuple[Finding, ...]:
    """Run a suite with Great Expectations, as releases do; its import takes seconds."""
    from expectations.suites.great import run

    counts = run(suite, frame)
    return tuple(map(_finding, [suite.name] * len(counts), suite.rules, counts))


def plainly(suite: Suite, frame: pd.DataFrame) -> tuple[Finding, ...]:
    """Run a suite without Great Expectations, with the same findings."""
    from expectations.suites.counts import count

    findings = []
    for rule in suite.rules:
        try:
            counted = count(rule.expectation, frame, **rule.given)
        except Exception:  # its text may quote a cell
            raise could_not_run(rule) from None
        findings.append(_finding(suite.name, rule, counted))
    return tuple(findings)


def require(
    suite: Suite,
    frame: pd.DataFrame,
    otherwise: type[ReleaseError],
    hint: str = "",
    run: Run = with_great_expectations,
) -> tuple[Finding, ...]:
    """Check ``frame`` against ``suite``.

    Returns
    -------
    tuple of Finding
        One per rule, all met.

    Raises
    ------
    ReleaseError
        Of the type ``otherwise``, with every broken rule and the number of rows that break it.
    """
    return require_met(run(suite, frame), otherwise, hint)


def require_met(
    findings: tuple[Finding, ...], otherwise: type[ReleaseError], hint: str = ""
) -> tuple[Finding, ...]:
    """Give findings back if all rules are met, and raise an error on every broken one otherwise."""
    broken = [str(finding) for finding in findings if not finding.met]
    if broken:
        raise otherwise("; ".join(broken) + (f": {hint}" if hint else ""))
    return findings


def joined(parts: Sequence[tuple[Finding, ...]]) -> tuple[Finding, ...]:
    """Join the findings of one suite on the parts of a table.

    Rows add up. Values that break a rule may occur in several parts, so that they are not counted.
    """
    return tuple(
        replace(
            together[0],
            met=all(each.met for each in together),
            rows=None if together[0].rows is None else sum(each.rows or 0 for each in together),
            detail="" if len(together) > 1 else together[0].detail,
        )
        for together in zip(*parts, strict=True)
    )


def _finding(suite: str, rule: Rule, count: Count) -> Finding:
    """Put a count in words."""
    rows, values, detail = count.rows, count.distinct, ""
    if values and rows and rule.one:
        detail = (
            f"{values:,} {'value' if values == 1 else 'values'} in {rows:,} "
            f"{'record' if rows == 1 else 'records'} {rule.one if values == 1 else rule.several}"
        )
    return Finding(suite, rule.words, count.met, rows, detail)
