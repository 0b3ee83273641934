"""Finds manifests whose parts contradict each other: somebody rewrote one and not the other."""

import math
from collections.abc import Iterator

from expectations.gate import Verdict
from expectations.manifest import Manifest
from expectations.published.claims import agrees

JUDGED = ("publishing", "published", "sealed", "rejected", "unchanged", "abandoned")
"""Events of a table that has passed the gate."""

EVENTS = {"approved": ("publishing", "published", "abandoned")}
"""Events that may follow a decision; any other decision is the event itself."""

DIGITS = 1e-5
"""Relative difference by which a figure that is shown may differ from the one that was judged."""


def contradictions(manifest: Manifest, event: str) -> list[str]:
    """List what contradicts what in a manifest.

    Parameters
    ----------
    manifest : Manifest
        Of any format.
    event : str
        How the attempt ended, as the register says.
    """
    return [
        *_of_decision(manifest, event),
        *(fault for verdict in manifest.gate for fault in _of_verdict(verdict, manifest)),
        *_of_limits(manifest, event),
        *(
            f"{verdict.measure} did not pass the gate, but the release is {event}"
            for verdict in manifest.gate
            if not verdict.passed and event in JUDGED
        ),
    ]


def _of_decision(manifest: Manifest, event: str) -> Iterator[str]:
    if event not in EVENTS.get(manifest.decision, (manifest.decision,)):
        yield f"it is {event}, but the decision was {manifest.decision!r}"


def _of_verdict(verdict: Verdict, manifest: Manifest) -> Iterator[str]:
    name, value, limit = verdict.measure, verdict.value, verdict.limit
    measured = manifest.measures.get(name)
    if measured is not None and not math.isnan(value) and not agrees(value, measured, DIGITS):
        yield f"the gate judged {name} = {value:g}, but {measured:g} was measured"
    keeps = value >= limit if verdict.floor else value <= limit
    if verdict.passed and not keeps:
        yield f"{name} = {value:g} passed the gate against a limit of {limit:g}"


def _of_limits(manifest: Manifest, event: str) -> Iterator[str]:
    """Compare the limits that were judged with those of the spec."""
    asked = manifest.spec.get("gate", {})
    for kind, floor in (("ceilings", False), ("floors", True)):
        for name, limit in (asked.get(kind) or {}).items():
            own = [each for each in manifest.gate if (each.measure, each.floor) == (name, floor)]
            judged = [each.limit for each in own]
            if limit is None or any(agrees(each, limit) for each in judged):
                continue
            if judged:
                yield f"{name} was judged against {judged[0]:g}, but the spec asks for {limit:g}"
            elif event in JUDGED and manifest.gate:
                yield f"the spec limits {name} to {limit:g}, but the gate did not judge it"
