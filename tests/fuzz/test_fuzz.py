"""Whatever a file holds, a user gets one sentence with its exit code, and no record is shown."""

import logging
import os
import random
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from algorithms.errors import ReleaseError
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from expectations.digest import digest_of
from expectations.gate import Approval, Verdicts
from expectations.manifest import Record
from expectations.request.spec_file import load
from expectations.suites.require import Finding, plainly, require, with_great_expectations
from expectations.tables import arrow_of, frame_of
from flows.cli import main
from tasks import judge as judge_stage
from tasks import pipeline
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.profile import profile
from tasks.publish import publish
from tasks.validate import validate
from tests.conftest import Request
from tests.fuzz import damage

pytestmark = pytest.mark.slow

INPUTS = int(os.environ.get("MICRORELEASE_FUZZ", "10000"))
SHARES = {"csv": 0.45, "parquet": 0.3, "spec": 0.25}
SUITES_EVERY = 5
"""Of so many inputs, one goes through Great Expectations; others through the same rules without."""

PUBLISHED_EVERY = 20
EXPECTED_CODES = {10, 11, 12}

CHOICES = [
    {"method": name, **({"ordering": path} if path else {})}
    for name, method in METHODS.items()
    for path in (ORDERINGS if method.reads_path else [None])
]


class Seen:
    """What came of the inputs."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.faults: dict[str, str] = {}
        self.heard: list[str] = []

    def fault(self, kind: str, case: str) -> None:
        self.ends[f"FAULT {kind}"] += 1
        self.faults.setdefault(kind, case)

    def look_for_sentinels(self, text: str, where: str, case: str) -> None:
        for sentinel in (damage.SENTINEL, str(damage.WHOLE), str(damage.REAL)):
            if sentinel.lower() in text.lower():
                self.fault(f"leak of {sentinel} in {where}", f"{case}: {text[:300]}")


class Ear(logging.Handler):
    """Keep every line that anyone logs."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


@pytest.fixture
def seen(capfd: pytest.CaptureFixture[str]) -> Iterator[Seen]:
    """Collect results, and in the end look for sentinels in all that was logged or printed."""
    seen = Seen()
    ear = Ear(seen.heard)
    logging.getLogger().addHandler(ear)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        yield seen
    logging.getLogger().removeHandler(ear)
    printed = capfd.readouterr()
    said = {"output": printed.out + printed.err, "log": "\n".join(seen.heard)}
    said["warnings"] = "\n".join(str(warning.message) for warning in warned)
    for where, text in said.items():
        if "Traceback" in text:
            seen.fault(f"traceback in {where}", text[text.index("Traceback") :][:3000])
        seen.look_for_sentinels(text, where, "any")
    with capfd.disabled():
        print("\n" + "\n".join(f"{count:6d}  {end}" for end, count in sorted(seen.ends.items())))  # noqa: T201
    assert not seen.faults, "\n".join(f"{kind}: {case}" for kind, case in seen.faults.items())


def attempt(seen: Seen, case: str, run: Callable[[], str]) -> None:
    """Note how an input ended; anything but one of our sentences is a fault."""
    try:
        end = run()
    except ReleaseError as error:
        end = f"exit {error.exit_code}"
        if error.exit_code not in EXPECTED_CODES:
            seen.fault(f"{end}: {error}", case)
        seen.look_for_sentinels(str(error), "a message", case)
    except Exception:
        seen.fault("\n".join(traceback.format_exc().splitlines()[-7:]), case)
        return
    seen.ends[end] += 1


def test_damaged_tables_are_released_or_refused(
    request_of: Request, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("csv", "parquet"):
        for i in range(int(INPUTS * SHARES[kind])):
            with monkeypatch.context() as patched:
                if i % SUITES_EVERY:
                    patched.setattr(judge_stage, "require", partial(require, run=plainly))
                attempt(seen, f"{kind} {i}", lambda k=kind, i=i: release(request_of, k, i, seen))


def release(request_of: Request, kind: str, i: int, seen: Seen) -> str:
    """Take one table through all stages, and publish some of those that pass."""
    rng = random.Random(f"{kind} {i}")
    spec = load(damaged_request(request_of, rng, kind, CHOICES[i % len(CHOICES)]))
    run = plainly if i % SUITES_EVERY else with_great_expectations
    table, _ = validate.fn(ingest.fn(spec)[0], spec, run)
    files, evaluation = pipeline.mask_and_measure(table, spec, pipeline.plainly)
    masked = files.masked
    drawn = profile.fn(files)
    verdicts = Verdicts(
        evaluation, spec.gate, spec.microaggregation.k, spec.columns, series=spec.series
    )
    approval = judge.fn(masked, verdicts, spec).approval
    frame = frame_of(arrow_of(masked.published, spec.columns))
    assert approval == Approval(verdicts, digest_of(frame))
    if i % PUBLISHED_EVERY:
        return "approved"
    record = Record.of(spec, evaluation=asdict(evaluation))
    publication = publish.fn(masked, approval, spec, record, drawn)
    for path in (*publication.folder.iterdir(), *publication.manifest.parent.iterdir()):
        if not path.name.startswith("data."):  # columns that are published as they are
            text = path.read_bytes().decode("utf-8", errors="replace")
            seen.look_for_sentinels(text, path.name, f"{kind} {i}")
    return "published"


def damaged_request(
    request_of: Request, rng: random.Random, kind: str, choice: dict[str, Any]
) -> Path:
    names = list(damage.NAMES)
    if rng.random() < 0.3:
        for place, name in enumerate(rng.sample(damage.ODD_NAMES, 5)):
            if rng.random() < 0.5:
                names[place] = name
    rows = damage.rows_of(rng, rng.choice([0, 3, 7, 7, 12, 12, 12, 20, 20, 20]))
    if rows:
        damage.spoil_cells(rng, rows)
    source: dict[str, Any] = {"path": f"table.{kind}"}
    if kind == "csv":
        source["delimiter"] = rng.choice([",", ",", ",", ";", "\t"])
        source["encoding"] = rng.choice(["utf-8"] * 4 + ["latin-1", "utf-16", "cp1252"])
        content = damage.damaged(
            rng, damage.csv_of(names, rows, source["delimiter"]), damage.CSV_DAMAGE
        )
        if source["encoding"] == "utf-16" and rng.random() < 0.8:
            content = content.decode("utf-8", errors="replace").encode("utf-16")
    else:
        content = damage.parquet_of(rng, names, rows or damage.rows_of(rng, 2))
        if rng.random() < 0.3:
            content = damage.damaged(rng, content, damage.BYTE_DAMAGE)
    (request_of.folder / source["path"]).write_bytes(content)
    keys = names[2 : rng.choice([3, 4, 4, 4])]
    columns: dict[str, Any] = {
        "identifiers": names[:1],
        "quasi_identifiers": keys,
        "confidential": [name for name in names[1:] if name not in keys],
        "integers": rng.choice([[], keys[:1], keys]),
    }
    if rng.random() < 0.2:
        real = [name for name in keys if name not in columns["integers"]]
        columns["decimals"] = {name: rng.choice([0, 2, 15]) for name in real}
    return request_of.write(
        release={"period": f"p{rng.randrange(10**9)}"},
        source=source,
        columns=columns,
        microaggregation={"k": rng.choice([2, 3]), **choice, **extra_step(rng, choice["method"])},
    )


def extra_step(rng: random.Random, method: str) -> dict[str, Any]:
    if METHODS[method].searches or METHODS[method].reads_path or rng.random() < 0.8:
        return {}
    return rng.choice([{"recut": True}, {"refine": {"iterations": 5}}])


def test_damaged_specs_are_read_or_refused(
    request_of: Request,
    seen: Seen,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(request_of.folder)
    content = yaml.safe_load(request_of.write().read_text(encoding="utf-8"))
    text = yaml.safe_dump(content, sort_keys=False)
    for i in range(INPUTS - int(INPUTS * SHARES["csv"]) - int(INPUTS * SHARES["parquet"])):
        rng = random.Random(f"spec {i}")
        request_of.path.write_bytes(damage.spoiled_spec(rng, text))
        attempt(seen, f"spec {i}", lambda: f"exit {main(['check', str(request_of.path)])}")
    for end in ("exit 1", "exit 13", "exit 70"):
        if seen.ends[end]:
            seen.fault(end, "a spec")


def test_rules_without_great_expectations_find_the_same(request_of: Request) -> None:
    from expectations.suites.input_suite import input_suite

    checked: list[tuple[Finding, ...]] = []
    for i in range(40):
        rng = random.Random(f"suite {i}")
        spec = load(damaged_request(request_of, rng, "csv", {"method": "mdav"}))
        try:
            frame = frame_of(ingest.fn(spec)[0])
        except ReleaseError:
            continue
        if set(frame.columns) != set(spec.columns.all):
            continue
        messages = []
        for run in (with_great_expectations, plainly):
            try:
                checked.append(require(input_suite(spec), frame, ReleaseError, run=run))
            except ReleaseError as error:
                messages.append(str(error))
        assert len({tuple(sorted(message.split("; "))) for message in messages}) < 2
    assert checked
