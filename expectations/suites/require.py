"""Runs suites, and reports counts but never values."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from algorithms.errors import ContractError, ReleaseError

if TYPE_CHECKING:
    import great_expectations as gx
    import pandas as pd

# Results leave the secure area, so they may contain counts but no values.
COUNTS_ONLY = {"result_format": "BASIC", "exclude_unexpected_values": True}


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


def rule(words: str, one: str = "", several: str = "") -> dict[str, str]:
    """Give the metadata that hold the wording of a rule in reports.

    ``one`` and ``several`` end the sentence on values that break it, such as "is not" and
    "are not", if values are counted.
    """
    return {"rule": words, **({"one": one, "several": several} if one else {})}


def require(
    suite: gx.ExpectationSuite, frame: pd.DataFrame, otherwise: type[ReleaseError], hint: str = ""
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
    findings = tuple(_run(suite, frame))
    broken = [str(finding) for finding in findings if not finding.met]
    if broken:
        raise otherwise("; ".join(broken) + (f": {hint}" if hint else ""))
    return findings


def _run(suite: gx.ExpectationSuite, frame: pd.DataFrame) -> list[Finding]:
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    # this logger sets its own level on import, and logs a folder that it removes at once
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    batch = (
        context.data_sources.add_pandas("memory")
        .add_dataframe_asset("table")
        .add_batch_definition_whole_dataframe("all")
    )
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name=suite.name, data=batch, suite=context.suites.add(suite))
    )
    outcome = definition.run(batch_parameters={"dataframe": frame}, result_format=COUNTS_ONLY)
    if len(outcome.results) != len(suite.expectations):  # pragma: no cover - guards an upgrade
        raise ContractError(f"suite {suite.name!r} did not run all of its expectations")
    return [_finding(suite.name, result) for result in outcome.results]


def _finding(suite: str, result: Any) -> Finding:
    """Copy success and count only: a result may hold values."""
    meta = result.expectation_config.meta
    words = meta["rule"]
    if (result.exception_info or {}).get("raised_exception", True):
        raise ContractError(f"the check could not be run: {words}")
    rows = result.result.get("unexpected_count")
    values = result.result.get("unexpected_values")
    detail = ""
    if values and "one" in meta:
        detail = (
            f"{values:,} {'value' if values == 1 else 'values'} in {rows:,} "
            f"{'record' if rows == 1 else 'records'} {meta['one' if values == 1 else 'several']}"
        )
    return Finding(suite, words, bool(result.success), rows, detail)
