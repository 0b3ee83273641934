"""Checks the published form of a streamed table against the output suite, part by part."""

from typing import Any

from algorithms.blocks.running import Arrays
from algorithms.errors import ContractError
from algorithms.table import Table
from algorithms.types import Watch
from expectations.gate import Approval, Verdicts
from expectations.request.spec import ReleaseSpec
from expectations.suites.output_suite import output_suite
from expectations.suites.require import Finding, joined, require_met, with_great_expectations
from expectations.tables import frame_of
from tasks.compute.engine import Job, Output
from tasks.streamed.hashing import RowSums, row_sums, traces_of
from tasks.streamed.masking import RECORDS, StreamedMasked
from tasks.streamed.packing import unpacked
from tasks.streamed.sorting import published_rows, reads_of


def judge_streamed(
    masked: StreamedMasked, verdicts: Verdicts, spec: ReleaseSpec, watch: Watch | None = None
) -> tuple[Approval, tuple[Finding, ...]]:
    """Refuse a table that fails a limit; then check all of its parts against the output suite."""
    jobs = [
        Job(number, ((file, RECORDS), *reads_of(file, masked)))
        for number, file in enumerate(masked.files)
    ]
    given = spec, masked.scales.attributes
    sums = sum(masked.engine.map("judge", sum_part, given, jobs), RowSums())
    approval = Approval(verdicts, sums.digest)
    found: list[Any] = masked.engine.map("judge", judge_part, given, jobs, watch)
    if sum((each for each, _, _ in found), RowSums()) != sums:
        raise ContractError("the rows that are checked must be those of the digest; they are not")
    findings = require_met(joined([each for _, each, _ in found]), ContractError)
    traces = [sum(column) % 2**64 for column in zip(*(each for _, _, each in found), strict=True)]
    findings += tuple(
        Finding("output", f"{name!r} must be unchanged", before == after, None)
        for name, before, after in zip(spec.columns.untouched, masked.traces, traces, strict=True)
    )
    return approval, require_met(findings, ContractError)


def sum_part(given: Any, _number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Count and hash the published rows of one part."""
    spec, attributes = given
    names = tuple(attribute.name for attribute in attributes)
    return Output(row_sums(published_rows(names, spec.columns.public, inputs[1:])))


def judge_part(given: Any, _number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Check the published rows of one part, and hash them once more."""
    spec, attributes = given
    records, *parts = inputs
    names = tuple(attribute.name for attribute in attributes)
    rows = published_rows(names, spec.columns.public, tuple(parts))
    frame = frame_of(rows)
    original = Table(attributes, tuple(part["original"] for part in parts[1:]))
    suite = output_suite(spec, original, 0, {})
    findings = with_great_expectations(suite, frame)
    traces = traces_of(records["rows"], unpacked(parts[0]), spec.columns.untouched)
    return Output((row_sums(rows), findings, traces))
