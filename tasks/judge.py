"""Decides whether the table may be published."""

from dataclasses import dataclass

import pandas as pd

from algorithms.errors import ContractError
from expectations.digest import digest_of
from expectations.gate import Approval, Verdicts
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import Finding, require
from tasks.stage import stage


@dataclass(frozen=True)
class Judgement:
    """Permission to publish, and the rules that were checked for it."""

    approval: Approval
    findings: tuple[Finding, ...]


@stage(name="judge")
def judge(
    original: pd.DataFrame, masked: pd.DataFrame, verdicts: Verdicts, spec: ReleaseSpec
) -> Judgement:
    """Refuse a table that failed a verdict; then check it against the output suite."""
    from expectations.suites.output_suite import output_suite

    approval = Approval(verdicts, digest_of(masked))
    return Judgement(approval, require(output_suite(spec, original), masked, ContractError))
