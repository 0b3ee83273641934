"""Decides whether the table may be published."""

from dataclasses import dataclass

import pandas as pd

from algorithms.errors import ContractError
from algorithms.evaluation import Evaluation
from expectations.digest import digest_of
from expectations.gate import Approval
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import Finding, require
from tasks.stage import stage


@dataclass(frozen=True)
class Judgement:
    """Leave to publish, and what was checked on the way."""

    approval: Approval
    findings: tuple[Finding, ...]


@stage(name="judge")
def judge(
    original: pd.DataFrame, masked: pd.DataFrame, evaluation: Evaluation, spec: ReleaseSpec
) -> Judgement:
    """Hold the measures against their ceilings, then the table against the output suite."""
    from expectations.suites.output_suite import output_suite

    approval = Approval(evaluation, spec.gate, spec.microaggregation.k, digest_of(masked))
    return Judgement(approval, require(output_suite(spec, original), masked, ContractError))
