"""Decides whether the table may be published."""

from dataclasses import dataclass

from algorithms.errors import ContractError
from algorithms.evaluation import Evaluation
from algorithms.masked import Masked
from expectations.digest import digest_of
from expectations.gate import Approval
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import Finding, require
from expectations.tables import arrow_of, frame_of
from tasks.stage import stage


@dataclass(frozen=True)
class Judgement:
    """Leave to publish, and what was checked on the way."""

    approval: Approval
    findings: tuple[Finding, ...]


@stage(name="judge")
def judge(masked: Masked, evaluation: Evaluation, spec: ReleaseSpec) -> Judgement:
    """Hold the measures against their ceilings, then the table against the output suite."""
    from expectations.suites.output_suite import output_suite

    frame = frame_of(arrow_of(masked.published, spec.columns.published))
    approval = Approval(evaluation, spec.gate, spec.microaggregation.k, digest_of(frame))
    carried = frame_of(arrow_of(masked.original, spec.columns.untouched))
    digests = {name: digest_of(carried[[name]]) for name in carried.columns}
    findings = require(output_suite(spec, masked.original, digests), frame, ContractError)
    return Judgement(approval, findings)
