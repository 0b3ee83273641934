"""Decides whether the table may be published."""

from dataclasses import dataclass

from algorithms.errors import ContractError
from algorithms.masked import Masked
from expectations.digest import digest_of
from expectations.gate import Approval, Verdicts
from expectations.request.spec import ReleaseSpec
from expectations.suites.output_suite import UNIT, output_suite, unit_suite
from expectations.suites.require import Finding, require
from expectations.tables import arrow_of, frame_of
from tasks.stage import stage


@dataclass(frozen=True)
class Judgement:
    """The permission to publish, and the results of all rules."""

    approval: Approval
    findings: tuple[Finding, ...]


@stage(name="judge")
def judge(masked: Masked, verdicts: Verdicts, spec: ReleaseSpec) -> Judgement:
    """Refuse a table that fails a limit; then check it against the output suite."""
    frame = frame_of(arrow_of(masked.published, spec.columns))
    approval = Approval(verdicts, digest_of(frame))
    original = masked.original
    carried = frame_of(arrow_of(original, spec.columns, spec.columns.untouched))
    digests = {name: digest_of(carried[[name]]) for name in carried.columns}
    withheld = 0 if masked.withheld is None else len(masked.withheld)
    suite = output_suite(spec, original, withheld, digests)
    findings = require(suite, frame, ContractError)
    if original.units is not None:
        findings += require(unit_suite(spec), frame.assign(**{UNIT: original.units}), ContractError)
    return Judgement(approval, findings)
