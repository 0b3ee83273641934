"""Decides whether the table may be published."""

from dataclasses import dataclass

import pandas as pd

from algorithms.errors import ContractError
from algorithms.masked import Masked
from expectations.digest import digest_of
from expectations.gate import Approval, Verdicts
from expectations.request.spec import ReleaseSpec
from expectations.suites.output_suite import (
    UNIT,
    muted_suite,
    output_suite,
    unit_suite,
    visible_suite,
)
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
    muted = masked.muted
    emptied = () if muted is None else spec.columns.muted
    withheld = 0 if masked.withheld is None else len(masked.withheld)
    suite = output_suite(spec, original, withheld, _digests(carried.drop(columns=list(emptied))))
    findings = require(suite, frame, ContractError)
    if muted is not None and emptied:
        visible = _digests(carried.loc[~muted, list(emptied)])
        findings += require(visible_suite(visible), frame[~muted], ContractError)
        findings += require(muted_suite(emptied), frame[muted], ContractError)
    if original.units is not None:
        findings += require(unit_suite(spec), frame.assign(**{UNIT: original.units}), ContractError)
    return Judgement(approval, findings)


def _digests(frame: pd.DataFrame) -> dict[str, str]:
    return {name: digest_of(frame[[name]]) for name in frame.columns}
