"""The output of commands as JSON: one document on standard output, with keys that stay.

`docs/operating.md` lists the keys. Figures are those that manifests hold: what was computed from
originals is rounded.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flows.cli.paths import all_as_written
from flows.states import state_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from algorithms.errors import ReleaseError
    from algorithms.measure import Measure
    from algorithms.microaggregation.method import Method
    from algorithms.orderings.ordering import Ordering
    from algorithms.risk.known import Exposure
    from expectations.gate import Verdict
    from expectations.request.spec import ReleaseSpec
    from flows.operation.status import Status
    from flows.outcome import Explored, Outcome
    from tasks.explore.cell import Cell
    from tasks.explore.proposal import Proposal
    from tasks.replay.choice import Replayed
    from tasks.replay.findings import Findings

Document = dict[str, Any]


def write(document: Document) -> None:
    """Print a document; a number that is not finite becomes null, which JSON has in its place."""
    text = json.dumps(_finite(all_as_written(document)), indent=2, ensure_ascii=False)
    sys.stdout.write(text + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def fault(kind: str, exit_code: int, sentence: str) -> Document:
    """Describe why a command failed."""
    return {"error": {"kind": kind, "exit_code": exit_code, "sentence": sentence}}


def error_document(error: ReleaseError) -> Document:
    """Describe an error of the product."""
    return fault(state_name(error).lower(), error.exit_code, str(error))


def release(spec: ReleaseSpec) -> Document:
    """Name a release."""
    how = spec.microaggregation
    return {
        "name": spec.release.name,
        "period": spec.release.period,
        "revision": spec.release.revision,
        "method": how.method,
        "k": how.k,
    }


def exposures(found: Iterable[Exposure]) -> list[Document]:
    """Count the records that stand out by columns that are published unchanged."""
    return [
        {"columns": list(each.columns), "unique": each.unique, "below_k": each.below}
        for each in found
    ]


def limits(spec: ReleaseSpec) -> list[Document]:
    """List the limits of a spec; k is one of them."""
    kinds = (
        (False, spec.gate.ceilings.all),
        (True, {**spec.gate.floors.all, "k": float(spec.microaggregation.k)}),
    )
    return [
        {"measure": name, "limit": limit, "floor": floor}
        for floor, limited in kinds
        for name, limit in limited.items()
    ]


def ended(outcome: Outcome) -> Document:
    """Describe how a run ended; it has an ``error`` too if nothing was published."""
    from flows.outcome import Published, Sealed, Stopped, name_of

    attempt = outcome.attempt
    manifest = attempt.manifest if attempt is not None else None
    document: Document = {
        "outcome": name_of(outcome).lower(),
        "sentence": outcome.sentence,
        "warnings": [],
        "verdicts": [],
        "measures": {},
        "certificate": None,
        "public_folder": outcome.folder if isinstance(outcome, Published) else None,
        "manifest": manifest,
        "report": manifest.with_name("report.html") if manifest is not None else None,
        "candidate": outcome.candidate.attempt if isinstance(outcome, Sealed) else None,
    }
    if attempt is not None:
        document["warnings"] = list(attempt.record.warnings)
        if attempt.verdicts is not None:
            document["verdicts"] = verdicts(attempt.verdicts)
            document["measures"] = attempt.verdicts.evaluation.measures
            document["certificate"] = attempt.certificate
    return document | (error_document(outcome.error) if isinstance(outcome, Stopped) else {})


def verdicts(judged: Iterable[Verdict]) -> list[Document]:
    """List measures with their limits and verdicts."""
    return [asdict(verdict) for verdict in judged]


def explored(
    outcome: Explored, spec: ReleaseSpec, proposal: Proposal | None, page: Path, new: Path | None
) -> Document:
    """Describe the choices that were tried, and the one that is recommended."""
    from tasks.explore.cell import best

    chosen = best(outcome.cells)
    return {
        "release": release(spec),
        "records": outcome.source.records,
        "warnings": [*spec.warnings, *outcome.source.warnings],
        "exposures": exposures(outcome.source.exposures),
        "sentence": outcome.sentence,
        "recommended": None if chosen is None else _choice(chosen),
        "proposal": None if proposal is None else proposal.snippet(spec),
        "least_il": outcome.source.curve.least,
        "least_il_note": outcome.source.curve.note or None,
        "choices": [_cell(cell) for cell in outcome.cells],
        "map": page,
        "spec": new,
    }


def _choice(cell: Cell) -> Document:
    choice: Document = cell.released.model_dump(mode="json", exclude_defaults=True)
    return choice


def _cell(cell: Cell) -> Document:
    from algorithms.measure import figure

    return {
        **_choice(cell),
        "seconds": round(cell.seconds, 2),
        "within_limits": cell.admissible,
        "measures": {} if cell.evaluation is None else cell.evaluation.measures,
        "least_il": figure(cell.least),
        "gap": figure(cell.gap),
        "fault": cell.fault or None,
    }


def replayed(found: Findings, page: Path) -> Document:
    """Describe the choices of a replay, what they cost, and what no method can avoid."""
    from tasks.replay.findings import feasibility, recommendation

    chosen = found.recommended
    return {
        "release": release(found.spec),
        "periods": [asdict(period) for period in found.periods],
        "sentence": recommendation(found),
        "recommended": None if chosen is None else asdict(chosen.choice),
        "feasibility": feasibility(found),
        "proofs": [
            {
                "window": proof.window,
                "il_over_fresh": proof.ceiling,
                "feasible": proof.feasible,
                "least_muted": proof.muted,
                "persons": proof.stretch.persons,
                "periods": found.between(proof.stretch),
                "least_il_over_fresh": round(found.bounds[proof.window][0].ratio, 4),
                "least_on_those_in_all": round(
                    max(each.own_ratio for each in found.bounds[proof.window]), 4
                ),
            }
            for proof in found.proofs
        ],
        "choices": [_replayed(each) for each in found.replays],
        "page": page,
    }


def _replayed(each: Replayed) -> Document:
    from tasks.replay.table import rows_of

    return {
        **asdict(each.choice),
        "seconds": round(each.seconds, 2),
        "keeps_k": each.keeps_k,
        "within_limits": each.passes,
        "releases": rows_of([each]),
        "fault": each.fault or None,
    }


def status(current: Status, url: str) -> Document:
    """Describe the workers, runs, candidates and schedule of an installation; times are in UTC."""
    return {
        "url": url,
        "well": current.well,
        "server": current.server,
        "desk": {"url": current.desk, "answers": current.desk_answers} if current.desk else None,
        "workers": current.workers,
        "running": current.running,
        "review": current.paused,
        "candidates": [
            {"register": register, "candidate": candidate}
            for register, candidates in current.candidates.items()
            for candidate in candidates
        ],
        "due": [
            {"deployment": due.name, "next": due.next and due.next.isoformat(), "last": due.last}
            for due in current.due
        ],
        "faults": [error_document(error)["error"] for error in current.faults],
    }


def methods(
    advice: str,
    registry: Mapping[str, tuple[Method, list[str]]],
    orderings: Mapping[str, tuple[Ordering, list[str]]],
) -> Document:
    """List methods and orderings with their options and papers."""
    return {
        "advice": advice,
        "methods": [
            _listed(name, method, options) | {"needs_ordering": method.reads_path}
            for name, (method, options) in registry.items()
        ],
        "orderings": [
            _listed(name, ordering, options) for name, (ordering, options) in orderings.items()
        ],
    }


def _listed(name: str, entry: Method | Ordering, options: list[str]) -> Document:
    from algorithms.references import PAPERS

    return {
        "name": name,
        "summary": entry.summary,
        "options": options,
        "paper": {"key": entry.paper, "title": PAPERS[entry.paper]},
    }


def measures(registry: Mapping[str, Measure]) -> Document:
    """List measures, their meaning and the direction that is better."""
    return {
        "measures": [
            {
                "name": name,
                "title": measure.title,
                "kind": measure.kind,
                "unit": measure.unit,
                "better": measure.better,
                "definition": measure.definition,
                "paper": measure.paper,
            }
            for name, measure in registry.items()
        ]
    }
