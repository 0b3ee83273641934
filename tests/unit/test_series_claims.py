"""The claims of a release about the other releases of its series, and their words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from expectations.published.claims import Claims, claims_of, encode
from expectations.published.series_claims import SeriesClaims, Start
from expectations.published.verifier import verify
from tasks.reporting.across import across, muted, revised
from tasks.reporting.methodology import methodology, readme
from tests.conftest import Request
from tests.publishing import folder_of, rewrite
from tests.unit.test_report import checked, read_facts
from tests.vaults import made

SERIES = SeriesClaims(
    method="cohorts",
    persons="lasting",
    reason="",
    window=None,
    links="perfect",
    compared=3,
    muted=0,
    candidates_min=5,
    start=None,
)


@pytest.fixture
def claims(published: Request) -> Claims:
    return verify(folder_of(published)).claims


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "series",
    [
        None,
        SERIES,
        replace(SERIES, window=4, links="measured", muted=2, start=Start("2026-Q1", "a new key")),
        replace(SERIES, method="fresh", persons="new each period", reason="x", candidates_min=None),
    ],
)
def test_claims_are_read_as_they_were_written(claims: Claims, series: SeriesClaims | None) -> None:
    written = replace(claims, series=series, revision_reason="a mistake")
    assert claims_of(encode(written)) == written


@pytest.mark.parametrize(
    "change",
    [
        {"method": "sticky"},
        {"persons": "some"},
        {"links": "none"},
        {"muted": -1},
        {"compared": 2.5},
        {"candidates_min": "five"},
        {"window": True},
        {"start": {"period": "2026-Q1"}},
        {"surprise": 1},
    ],
)
def test_claims_that_nobody_can_make_are_no_claims(claims: Claims, change: dict[str, Any]) -> None:
    content = encode(replace(claims, series=SERIES)).decode()
    assert claims_of(content.encode()).series == SERIES
    with pytest.raises(ValueError, match=r"series|TypeError"):
        claims_of(spoiled(content, change))


def spoiled(content: str, change: dict[str, Any]) -> bytes:
    import json

    package = json.loads(content)
    package["microrelease"]["series"].update(change)
    return json.dumps(package).encode()


def test_a_release_stays_the_same_whatever_it_is_compared_with(claims: Claims) -> None:
    first = replace(claims, series=SERIES)
    assert first.same_release(replace(claims, series=replace(SERIES, compared=9, candidates_min=7)))
    # version 0.1 claimed nothing about other releases
    assert first.same_release(claims)
    assert claims.same_release(first)
    assert first.same_release(replace(first, revision_reason="in other words"))
    for change in ({"muted": 1}, {"window": 3}, {"links": "measured"}, {"method": "fresh"}):
        assert not first.same_release(replace(claims, series=replace(SERIES, **change)))
    begun = replace(SERIES, start=Start("2026-Q1", "one reason"))
    assert not first.same_release(replace(claims, series=begun))
    reworded = replace(begun, start=Start("2026-Q1", "another"))
    assert replace(claims, series=begun).same_release(replace(claims, series=reworded))


def test_what_the_files_cannot_show_is_said(claims: Claims) -> None:
    assert claims.limits_in_words == ()
    (limit,) = replace(claims, series=SERIES).limits_in_words
    assert "counted before publication" in limit


def test_a_release_that_says_nothing_of_its_series_promises_nothing(claims: Claims) -> None:
    kind, words = across(claims)
    assert (kind, words[:33]) == ("Not guaranteed", "protection across releases. Someo")
    assert across(replace(claims, series=replace(SERIES, candidates_min=None)))[0] == kind
    assert "Comparisons with releases of other periods may reveal more" in readme(claims)
    assert muted(claims) == revised(claims) == ""


def test_cohorts_are_a_promise_and_fresh_groups_a_measurement(claims: Claims) -> None:
    kind, words = across(replace(claims, series=SERIES))
    assert kind == "Guaranteed"
    assert "at least 5 persons may be behind a record, even for" in words
    assert words.endswith("in each of them. This release was compared with 3 earlier releases.")
    fresh = replace(SERIES, method="fresh", compared=1, muted=1)
    kind, words = across(replace(claims, series=fresh, counts="units"))
    assert kind == "Measured"
    assert "5 persons, households or companies may be behind a record that is not muted" in words
    assert words.endswith("compared with 1 earlier release.")
    _, words = across(replace(claims, series=replace(SERIES, compared=0)))
    assert words.endswith("No earlier release was there to compare it with.")


def test_every_assumption_and_decision_is_told(claims: Claims) -> None:
    start = Start("2026-Q1", "the key of the vault\nwas lost")
    series = replace(SERIES, window=4, links="measured", start=start)
    _, words = across(replace(claims, series=series))
    assert "in each of 4 releases in a row." in words
    assert "over more than 4 releases may learn more." in words
    assert "a measurement and not a proof." in words
    assert words.endswith(
        "Releases of periods before 2026-Q1 were not compared, and may reveal more. Reason given: "
        "the key of the vault was lost."
    )
    new = replace(SERIES, persons="new each period", reason="A new sample is drawn each time!")
    kind, words = across(replace(claims, series=new))
    assert kind == "Not guaranteed"
    assert words.endswith("Reason given: A new sample is drawn each time!")


def test_the_pages_count_muted_records_and_warn_of_bias(claims: Claims, published: Request) -> None:
    told = replace(claims, series=replace(SERIES, muted=2), revision=1, revision_reason="A slip.")
    facts = read_facts(folder_of(published))
    page, text = plain(checked(methodology(told, facts)).text), plain(readme(told))
    for words in (
        "2 of 7 records (28.57 %) are muted: zone and score are empty there",
        "not missing at random: records far from others and records that change much",
        "Guaranteed: across releases, at least 5 persons",
        "This is a revision. Reason given: A slip.",
        "as collected; empty in muted records",
    ):
        assert words in page
        assert words in text
    assert "Series Records that were in one group in an earlier release" in page
    assert "zone is empty there" in muted(replace(told, roles={**told.roles, "score": "stratum"}))


def test_a_spec_with_a_series_claims_it(request_of: Request) -> None:
    from tasks.publish import publish

    series = {
        "window": 4,
        "links": "measured",
        "start": {"period": "2026-Q1", "reason": "an older key"},
    }
    folder: Path = publish.fn(*made(request_of.load(series=series))).folder
    assert verify(folder).claims.series == SeriesClaims(
        method="fresh",
        persons="lasting",
        reason="",
        window=4,
        links="measured",
        compared=0,
        muted=0,
        candidates_min=3,
        start=Start("2026-Q1", "an older key"),
    )
    rewrite(folder, lambda package: package["microrelease"]["series"].pop("links"))
    with pytest.raises(ValueError, match="TypeError"):
        claims_of((folder / "datapackage.json").read_bytes())
