"""Finds manifests whose parts contradict each other: somebody rewrote one and not the other."""

import math
from collections.abc import Iterator

from expectations.gate import Verdict
from expectations.manifest import Manifest
from expectations.published.claims import agrees

JUDGED = ("approved", "publishing", "published", "sealed", "rejected", "unchanged")
"""Decisions that only a table that passed the gate can reach."""

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
        *(fault for verdict in manifest.gate for fault in _of_verdict(verdict, manifest)),
        *_of_limits(manifest),
        *(
            f"{verdict.measure} did not pass the gate, but the release is {event}"
            for verdict in manifest.gate
            if not verdict.passed and event in JUDGED
        ),
    ]


def _of_verdict(verdict: Verdict, manifest: Manifest) -> Iterator[str]:
    name, value, limit = verdict.measure, verdict.value, verdict.limit
    measured = manifest.measures.get(name)
    if measured is not None and not math.isnan(value) and not agrees(value, measured, DIGITS):
        yield f"the gate judged {name} = {value:g}, but {measured:g} was measured"
    keeps = value >= limit if verdict.floor else value <= limit
    if verdict.passed and not keeps:
        yield f"{name} = {value:g} passed the gate against a limit of {limit:g}"


def _of_limits(manifest: Manifest) -> Iterator[str]:
    """Compare the limits that were judged with those of the spec."""
    asked = manifest.spec.get("gate", {})
    for kind, floor in (("ceilings", False), ("floors", True)):
        for name, limit in (asked.get(kind) or {}).items():
            own = [each for each in manifest.gate if (each.measure, each.floor) == (name, floor)]
            judged = [each.limit for each in own]
            if limit is not None and judged and not any(agrees(each, limit) for each in judged):
                yield f"{name} was judged against {judged[0]:g}, but the spec asks for {limit:g}"
