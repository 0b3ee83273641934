"""Six quarters of a small panel: a blocked one, a revision, a candidate and a killed attempt."""

import os
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from algorithms.errors import RefusedError
from expectations.gate import Verdicts
from expectations.manifest import Record
from expectations.request.named import Changes, resolve_spec, spec_from_file
from expectations.review import Decision
from tasks.judge import judge
from tasks.publish import begin, decide, publish, record_attempt, seal
from tasks.store.chain import BLOCKED
from tests.conftest import Request
from tests.vaults import masked_of, panel, write_period

QUARTERS = ("2025-Q1", "2025-Q2", "2025-Q3", "2025-Q4", "2026-Q1", "2026-Q2")
TITLE = "Survey of <b>small</b> firms & farms"
REASON = "<script>alert(1)</script> is no reason"
DUE = datetime(2026, 11, 17, tzinfo=UTC)


class Quarters(Request):
    """A folder with a spec, which is also the folder of specs, and its register."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "small.yaml"
        self.source.unlink()
        self.content["release"] |= {"title": TITLE}
        self.content["release"].pop("period")
        self.content["release"]["every"] = "quarter"
        self.content["source"] = {"path": "table-{period}.csv"}
        self.content["gate"]["ceilings"] |= {"muted": 100.0}
        self.content["series"] = {"method": "cohorts", "il_over_fresh": 10.0}

    def attempt(
        self, period: str, *, started_by: str = "Ana", reviewed: bool = False, **changes: Any
    ) -> str:
        """Release a period as the flow does, without Prefect; give the name of the attempt."""
        write_period(self, period, panel(0, 32), seed=1 + QUARTERS.index(period))
        with spec_from_file(self.path, Changes(period=period, **changes)) as named:
            resolved = resolve_spec(named, DUE)
        spec = resolved.spec
        with closing(begin(spec, started_by)) as running:
            masked, evaluation, facts, recalled = masked_of(spec)
            verdicts = Verdicts(
                evaluation, spec.gate, spec.microaggregation.k, spec.columns, series=spec.series
            )
            record = Record.of_resolved(
                resolved,
                attempt=running.attempt,
                started_by=started_by,
                input=facts,
                evaluation=asdict(evaluation),
                gate=verdicts.each,
            )
            try:
                approval = judge.fn(masked, verdicts, spec).approval
            except RefusedError as error:
                record_attempt(spec, record, BLOCKED, str(error))
            else:
                make = seal if reviewed else publish
                make.fn(masked, approval, spec, record, None, recalled)
            return running.attempt

    def approve(self, candidate: str, reviewer: str = "Bea", reason: str = REASON) -> None:
        decide.fn(self.register, candidate, Decision(True, reviewer, reason))

    def kill(self, period: str, started_by: str = "Cora") -> str:
        """Start an attempt whose process dies."""
        with spec_from_file(self.path, Changes(period=period)) as named:
            running = begin(resolve_spec(named, DUE).spec, started_by)
        assert running.handle is not None
        os.close(running.handle)
        return running.attempt


def six_quarters(folder: Path) -> Quarters:
    """Publish four quarters, one of them twice; block one, let one wait, and kill an attempt."""
    quarters = Quarters(folder)
    quarters.write()
    quarters.attempt("2025-Q1")
    quarters.attempt("2025-Q2")
    quarters.attempt("2025-Q3", il=0.5, started_by="Dan")
    quarters.approve(quarters.attempt("2025-Q4", k=4, reviewed=True))
    quarters.attempt("2025-Q4", k=4, revision=1, reason="a <mistake> in the source")
    quarters.write(gate={"ceilings": {"il": 90.0, "dld": 100.0, "muted": 100.0}})
    quarters.attempt("2026-Q1")
    quarters.attempt("2026-Q2", reviewed=True)
    quarters.kill("2026-Q2")
    return quarters
