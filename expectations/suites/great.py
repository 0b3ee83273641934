"""Runs suites with Great Expectations, and takes counts but never values from its results.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

import logging
from typing import Any

import great_expectations as gx
import great_expectations.expectations as gxe
import pandas as pd
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.expectation import Expectation

from algorithms.errors import ContractError
from expectations.suites import custom
from expectations.suites.counts import Count
from expectations.suites.rules import Rule, Suite, could_not_run

# Results leave the secure area, so they may contain counts but no values.
COUNTS_ONLY = {"result_format": "BASIC", "exclude_unexpected_values": True}


def run(suite: Suite, frame: pd.DataFrame) -> list[Count]:
    """Run every rule of a suite on a table."""
    # this logger sets its own level on import, and logs a folder that it removes at once
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    batch = (
        context.data_sources.add_pandas("memory")
        .add_dataframe_asset("table")
        .add_batch_definition_whole_dataframe("all")
    )
    expectations = gx.ExpectationSuite(
        name=suite.name,
        expectations=[_expectation(i, rule) for i, rule in enumerate(suite.rules)],
    )
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name=suite.name, data=batch, suite=context.suites.add(expectations))
    )
    outcome = definition.run(batch_parameters={"dataframe": frame}, result_format=COUNTS_ONLY)
    # results come in an order of their own
    found: dict[int, Any] = {_number(result): result for result in outcome.results}
    if len(found) != len(suite.rules):  # pragma: no cover - guards an upgrade
        raise ContractError(f"suite {suite.name!r} did not run all of its expectations")
    return [_count(rule, found[i]) for i, rule in enumerate(suite.rules)]


def _expectation(number: int, rule: Rule) -> Expectation:
    kind = getattr(custom, rule.expectation, None) or getattr(gxe, rule.expectation)
    expectation: Expectation = kind(**rule.given, meta={"rule": number})
    return expectation


def _number(result: Any) -> int:
    """Tell which rule of its suite a result is about."""
    number: int = result.expectation_config.meta["rule"]
    return number


def _count(rule: Rule, result: Any) -> Count:
    """Copy success and counts only: a result may hold values."""
    if (result.exception_info or {}).get("raised_exception", True):
        raise could_not_run(rule)
    counts = (result.result.get(name) for name in ("unexpected_count", "unexpected_values"))
    return Count(bool(result.success), *counts)
