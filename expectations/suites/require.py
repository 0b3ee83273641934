"""Runs a suite and reports counts, never values."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from algorithms.errors import ContractError, ReleaseError

if TYPE_CHECKING:
    import great_expectations as gx
    import pandas as pd

# Counts may be reported, values never: results travel outside the secure area.
COUNTS_ONLY = {"result_format": "BASIC", "exclude_unexpected_values": True}


@dataclass(frozen=True)
class Finding:
    """How one rule of a suite fared.

    ``rows`` counts the rows that break it, where the rule is about rows.
    """

    suite: str
    rule: str
    met: bool
    rows: int | None

    def __str__(self) -> str:
        return self.rule + ("" if self.rows is None else f"; {self.rows} rows break this")


def rule(words: str) -> dict[str, str]:
    """Attach to an expectation the words in which it is reported."""
    return {"rule": words}


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
        Of the type ``otherwise``, with every rule that is broken and how many rows break it.
    """
    findings = tuple(_run(suite, frame))
    broken = [str(finding) for finding in findings if not finding.met]
    if broken:
        raise otherwise("; ".join(broken) + (f": {hint}" if hint else ""))
    return findings


def _run(suite: gx.ExpectationSuite, frame: pd.DataFrame) -> list[Finding]:
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    # this one raises its own level on import, and tells of a folder that it removes at once
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
    """Copy success and count by name; whatever else a result holds stays behind."""
    words = result.expectation_config.meta["rule"]
    if (result.exception_info or {}).get("raised_exception", True):
        raise ContractError(f"the check could not be run: {words}")
    return Finding(suite, words, bool(result.success), result.result.get("unexpected_count"))
