"""The stages of a streamed table, from its checked chunks to its measures."""

from expectations.gate import Verdicts
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import Finding
from tasks.judge import Judgement
from tasks.listening import report
from tasks.stage import stage
from tasks.streamed.checking import StreamedTable, check_streamed
from tasks.streamed.judging import judge_streamed
from tasks.streamed.masking import (
    Standardised,
    StreamedMasked,
    group_streamed,
    standardise_streamed,
)
from tasks.streamed.source import StreamedSource


@stage(name="validate")
def validate(
    source: StreamedSource, spec: ReleaseSpec
) -> tuple[StreamedTable, tuple[Finding, ...]]:
    """Check all chunks of a source against the input suites."""
    return check_streamed(source, spec, report)


@stage(name="standardise")
def standardise(table: StreamedTable, spec: ReleaseSpec) -> Standardised:
    """Find the scale of each column by exact moments, and the cuts of each large stratum."""
    return standardise_streamed(table, spec, report)


@stage(name="microaggregate")
def microaggregate(standardised: Standardised) -> StreamedMasked:
    """Group the records of each block, mend seams, and average and round each group."""
    return group_streamed(standardised, report)


@stage(name="judge")
def judge(masked: StreamedMasked, verdicts: Verdicts, spec: ReleaseSpec) -> Judgement:
    """Refuse a table that fails a limit; then check its parts against the output suite."""
    return Judgement(*judge_streamed(masked, verdicts, spec, report))
