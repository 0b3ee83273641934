"""The page of a replay."""

from collections.abc import Mapping

from algorithms.measures import MEASURES
from expectations.request.limits import limits_in_words
from tasks.replay.choice import ATTACKS, EACH, OVER_FRESH, YARDSTICK
from tasks.replay.findings import Findings, feasibility, recommendation
from tasks.reporting.page import render
from tasks.reporting.pictures import Svg

ATTACKERS = {
    "dld": "Holds the last release only, and links by distances: DLD",
    "singled_out": "Follows records and knows the values of a person: candidates left is 1",
    "under_k_across": "The same: fewer than k candidates are left",
    "exact_singled_out": "Knows also who is absent when: 1 candidate is left",
    "solved": "Follows records, knows nobody: solves the averages, own original is nearest",
    "lone_changes": "Compares groups: groups that differ by one person",
    "row_links": "Matches published values: records that really can be followed",
    "l_across": "Intersects the values of groups: fewest values left of a stable column",
}
"""What each attacker does, by the measure of what is gained; of the last release."""


def series_page(found: Findings, pictures: Mapping[str, Svg]) -> str:
    """Write the page with the recommendation, the proofs, the pictures and the tables."""
    measured = {
        name for each in found.replays for s in each.steps for name in s.evaluation.measures
    }
    return render(
        "series.html",
        found=found,
        spec=found.spec,
        recommended=found.recommended,
        recommendation=recommendation(found),
        feasibility=feasibility(found),
        pictures=pictures,
        yardstick=YARDSTICK,
        over_fresh=OVER_FRESH,
        attackers={name: words for name, words in ATTACKERS.items() if name in measured},
        measures={name: MEASURES[name] for name in (*EACH, *ATTACKS) if name in measured},
        limits=limits_in_words(found.spec.gate, found.spec.microaggregation.k),
    )
