"""A series of releases of one small panel with a vault, without Prefect."""

from dataclasses import asdict
from typing import Any

from algorithms.evaluation import Evaluation
from algorithms.masked import Masked
from expectations.gate import Verdicts
from expectations.manifest import InputFacts, Record
from expectations.request.spec import ReleaseSpec
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.pipeline import mask_and_measure, plainly
from tasks.publish import publish, seal
from tasks.recall import Recalled, recall
from tasks.validate import validate
from tests.conftest import Request

Made = tuple[Any, ...]


def table(persons: list[str], seed: int = 1) -> str:
    """Write a panel with a row per person, whose values depend on the person and the period."""
    rows = [
        f"{name},{i % 2:03d},{(7 * i + seed) % 50},{(13 * i * seed) % 90}.5,{i}\n"
        for i, name in enumerate(persons)
    ]
    return "id,zone,staff,sales,score\n" + "".join(rows)


def panel(first: int, last: int) -> list[str]:
    """Name the persons first to last - 1."""
    return [f"person-{i}" for i in range(first, last)]


def write_period(request_of: Request, period: str, persons: list[str], seed: int = 1) -> None:
    """Write the source of a period."""
    path = request_of.folder / f"table-{period}.csv"
    path.write_text(table(persons, seed), encoding="utf-8")


def spec_of(request_of: Request, period: str, **sections: Any) -> ReleaseSpec:
    """Load the spec of a period, whose source is the file of that period."""
    release = {"period": period, **sections.pop("release", {})}
    source = {"path": f"table-{period}.csv", **sections.pop("source", {})}
    spec: ReleaseSpec = request_of.load(release=release, source=source, **sections)
    return spec


def remembered(spec: ReleaseSpec) -> Recalled:
    """Take the table of a spec to the comparison with earlier releases."""
    source, _ = ingest.fn(spec)
    checked, _ = validate.fn(source, spec)
    return recall.fn(source, checked, spec)


def masked_of(spec: ReleaseSpec) -> tuple[Masked, Evaluation, InputFacts, Recalled]:
    """Take the table of a spec to its measures."""
    source, facts = ingest.fn(spec)
    checked, _ = validate.fn(source, spec)
    recalled = recall.fn(source, checked, spec)
    files, evaluation = mask_and_measure(checked, spec, plainly, history=recalled.history)
    return files.masked, evaluation, facts, recalled


def made(spec: ReleaseSpec) -> Made:
    """Do everything that comes before publication: the arguments of `publish` and `seal`."""
    masked, evaluation, facts, recalled = masked_of(spec)
    verdicts = Verdicts(
        evaluation, spec.gate, spec.microaggregation.k, spec.columns, series=spec.series
    )
    approval = judge.fn(masked, verdicts, spec).approval
    record = Record.of(
        spec,
        started_by="Ana",
        input=facts,
        warnings=recalled.warnings,
        evaluation=asdict(evaluation),
    )
    return masked, approval, spec, record, None, recalled


def release(request_of: Request, period: str, **sections: Any) -> Any:
    """Publish a period."""
    return publish.fn(*made(spec_of(request_of, period, **sections)))


def seal_period(request_of: Request, period: str, **sections: Any) -> Any:
    """Seal a period."""
    return seal.fn(*made(spec_of(request_of, period, **sections)))
