"""The section of a report that compares a release with earlier ones."""

from typing import Any

import pytest

from expectations.manifest import Record
from tasks.reporting.artefacts import review_text
from tests.conftest import Request
from tests.unit.test_report import checked, files_of, record_of, report

HEADING = "Compared with earlier releases"


def told(request_of: Request, **parts: Any) -> str:
    """Write the report of an attempt, with other parts of its evaluation and spec."""
    record = record_of(request_of, files_of())
    record["evaluation"] |= parts.get("evaluation", {})
    record["spec"] |= parts.get("spec", {})
    record |= parts.get("record", {})
    return checked(report(record)).text.replace("\N{NO-BREAK SPACE}", " ")


def series(request_of: Request, **keys: Any) -> dict[str, Any]:
    content: dict[str, Any] = request_of.load(series=keys).model_dump(mode="json")["series"]
    return content


def test_a_release_that_nobody_compared_has_no_such_section(request_of: Request) -> None:
    assert HEADING not in told(request_of)


def test_a_spec_that_says_nothing_still_has_its_releases_compared(request_of: Request) -> None:
    found = told(request_of, evaluation={"compared": ["2026-Q1"]})
    assert HEADING in found
    assert "compared with 1 earlier release: 2026-Q1." in found
    assert "none: releases are compared, and only warned of" in found
    found = told(request_of, evaluation={"compared": []})
    assert "There is no earlier release to compare this one with." in found


def test_terms_measures_and_decisions_are_listed(request_of: Request) -> None:
    measures = record_of(request_of, files_of())["evaluation"]["measures"]
    start = {"period": "2026-Q1", "reason": "the key <was> lost"}
    release = request_of.load(release={"revision": 1, "reason": "two codes were exchanged"})
    found = told(
        request_of,
        evaluation={
            "compared": ["2026-Q1", "2026-Q2"],
            "measures": {**measures, "candidates_min": 5.0, "muted": 4.25},
            "notes": {"singled_out": "Left out: nobody is visible", "muted": "Estimated: at sight"},
        },
        spec={
            "series": series(request_of, method="cohorts", window=4, links="measured", start=start),
            "release": release.model_dump(mode="json")["release"],
        },
    )
    for words in (
        "compared with 2 earlier releases: 2026-Q1 and 2026-Q2.",
        "last from release to release; records that could be followed are muted",
        "this is a measurement, not a proof",
        "4 releases, this one included",
        "Releases before 2026-Q1 are not compared",
        "the key <was> lost",
        "The period is published again",
        "two codes were exchanged",
        "4.2500 %",
        "Estimated: at sight.",
        "Singled out across releases. Left out: nobody is visible.",
    ):
        assert words in found


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"persons": "new each period", "reason": "a new sample"},
            "not compared with others: the spec declares that no person is in two releases.",
        ),
        ({"window": 3}, "not compared with others: persons cannot be followed"),
    ],
)
def test_why_releases_were_not_compared_is_said(
    request_of: Request, keys: dict[str, Any], words: str
) -> None:
    found = told(request_of, spec={"series": series(request_of, **keys)})
    assert words in found
    assert ("a new sample" in found) == ("reason" in keys)


def test_the_vault_file_is_named(request_of: Request) -> None:
    vault = {
        "population": "firms",
        "file": "vault/firms/000001.parquet",
        "sha256": "12" * 32,
        "persons": 1234,
        "muted": 5,
        "key": "fingerprint-of-a-key",
        "previous": "",
        "against": ["34" * 32],
    }
    found = told(request_of, evaluation={"compared": []}, record={"vault": vault})
    for words in ("firms", "vault/firms/000001.parquet", "12" * 32, "1,234", "fingerprint-of-a-k"):
        assert words in found


def test_a_reviewer_reads_the_warnings(request_of: Request) -> None:
    spec = request_of.load()
    record = Record.of(spec, warnings=("nothing in the spec protects its series",))
    text = review_text(spec, record, (), "", request_of.folder / "a" / "manifest.json", "")
    assert "- **Warning:** nothing in the spec protects its series" in text
