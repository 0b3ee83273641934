"""The words of public pages about a release together with the other releases of its series."""

from collections.abc import Iterator

from expectations.published.claims import UNITS, Claims
from expectations.published.series_claims import COHORTS, MEASURED, NEW_EACH_PERIOD, SeriesClaims
from tasks.reporting.page import in_words

GUARANTEED, MEASURED_ONLY, NOT_GUARANTEED = "Guaranteed", "Measured", "Not guaranteed"
UNPROTECTED = (
    "protection across releases. Someone who compares the releases of several periods may learn "
    "more than one release shows."
)


def across(claims: Claims) -> tuple[str, str]:
    """Say how far a release is protected together with the others of its series.

    Returns
    -------
    kind : str
        Whether it is guaranteed, measured or neither.
    words : str
        What is, in sentences that follow a colon.
    """
    series = claims.series
    if series is None:
        return NOT_GUARANTEED, UNPROTECTED
    if series.persons == NEW_EACH_PERIOD:
        words = (
            "protection of a person who is in two releases. The publisher declares that no person "
            f"is. Reason given: {_sentence(series.reason)}"
        )
        return NOT_GUARANTEED, words
    if series.candidates_min is None:
        return NOT_GUARANTEED, UNPROTECTED
    kind = GUARANTEED if series.method == COHORTS else MEASURED_ONLY
    return kind, " ".join(_sentences(series, claims))


def _sentences(series: SeriesClaims, claims: Claims) -> Iterator[str]:
    who = "persons, households or companies" if claims.counts == UNITS else "persons"
    visible = "a record that is not muted" if series.muted else "a record"
    yield (
        f"across releases, at least {series.candidates_min} {who} may be behind {visible}, even "
        "for someone who can follow it from release to release and knows the values of its person "
        f"in {_span(series)}."
    )
    yield (
        f"This release was compared with {_earlier(series.compared)}."
        if series.compared
        else "No earlier release was there to compare it with."
    )
    if series.window is not None:
        yield (
            f"Someone who can follow a record over more than {series.window} releases may learn "
            "more."
        )
    if series.links == MEASURED:
        yield (
            "It is assumed that only those records can be followed that matching the published "
            "values of two releases finds, which is a measurement and not a proof."
        )
    if series.start is not None:
        yield (
            f"Releases of periods before {series.start.period} were not compared, and may reveal "
            f"more. Reason given: {_sentence(series.start.reason)}"
        )


def _span(series: SeriesClaims) -> str:
    return "each of them" if series.window is None else f"each of {series.window} releases in a row"


def _earlier(count: int) -> str:
    return f"{count} earlier release{'' if count == 1 else 's'}"


def muted(claims: Claims) -> str:
    """Say how many records are muted, and what that means for people who use the data."""
    if not claims.muted:
        return ""
    share = 100.0 * claims.muted / claims.rows
    columns = in_words(claims.emptied)
    return (
        f"{claims.muted} of {claims.rows} records ({share:.2f} %) are muted: {columns} "
        f"{'is' if len(claims.emptied) == 1 else 'are'} empty there, because the record could be "
        "followed from release to release. These values are not missing at random: records far "
        "from others and records that change much are muted first, so that figures from the "
        "remaining values may be biased."
    )


def revised(claims: Claims) -> str:
    """Say why a period is published again."""
    reason = claims.revision_reason
    return f"This is a revision. Reason given: {_sentence(reason)}" if reason else ""


def _sentence(reason: str) -> str:
    """End a reason that someone wrote as a sentence."""
    text = " ".join(reason.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
