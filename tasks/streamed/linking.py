"""Links and bounds of a streamed table: its parts search their own records, then ask each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.blocks.cuts import in_sample
from algorithms.blocks.links import (
    KNOWN,
    LINKAGE,
    Covers,
    Search,
    among_originals,
    answers,
    ask_others,
    bound_figures,
    known_figures,
    link_block,
    linkage_figures,
    questions_to,
)
from algorithms.blocks.running import Arrays, Function
from algorithms.bounds.distances import neighbour_bound
from algorithms.measure import Estimate, Omitted
from algorithms.search.linkage import Linkage, expected_links, known_tally, linkage_of
from algorithms.types import Matrix, Order
from tasks.compute.engine import Job, Output
from tasks.streamed.masking import RECORDS, StreamedMasked, column_part
from tasks.streamed.records import Scales

EXACT = 2_000_000
"""Largest number of records for which originals ask other parts: their questions grow faster than
the table."""

SAMPLED = 50_000
"""About the number of originals of a longer table that ask other parts."""

OWN = "own"
"""The part of a file that holds the results of its own part, and not those for others."""


@dataclass(frozen=True, eq=False)
class _Asking:
    """What the steps of one search need to know; boxes are as confidential as records."""

    scales: Scales
    search: Search
    figures: Function
    share: float = 1.0
    covers: Covers | None = None


def linkage(masked: StreamedMasked) -> Linkage:
    """Link published records to originals by their distances, as `distance_linkage` does."""
    figures = _searched(masked, masked.files, LINKAGE, linkage_figures)
    return linkage_of([(each["closest"], each["second"], int(each["records"])) for each in figures])


def linked_known(masked: StreamedMasked) -> float | Estimate:
    """Link originals to published records of their strata; give the expected number of links.

    That of a long table is estimated from a sample of its records.
    """
    bundles, sets = masked.sets
    share = 1.0 if len(masked) <= EXACT else SAMPLED / len(masked)
    tallies: list[Any] = masked.engine.map(
        "evaluate", known_of_bundle, (masked.scales, share), _jobs(masked, bundles)
    )
    for files in sets:
        figures = _searched(masked, files, KNOWN, known_figures, share)
        tallies.append([(each["linked"], int(each["asking"])) for each in figures])
    links = expected_links([tally for own in tallies for tally, _ in own])
    if share == 1.0:
        return links
    asked = sum(records for own in tallies for _, records in own)
    linked = links / asked
    error = 196.0 * math.sqrt(linked * (1.0 - linked) / asked)
    return Estimate(
        linked * len(masked),
        f"within {error:.2f} at 95 % confidence, from a sample of {asked:,} of {len(masked):,} "
        "records, each compared with all published ones",
    )


def bound(masked: StreamedMasked, k: int) -> float | Omitted:
    """Bound the SSE of any partition from below, as `neighbour_bound` does, stratum by stratum."""
    if len(masked) > EXACT:
        return Omitted(
            f"the lower bound of a table that is not held in memory is computed for at most "
            f"{EXACT:,} records"
        )
    bundles, sets = masked.sets
    given = masked.scales, k
    bounds = masked.engine.map("evaluate", bounds_of_bundle, given, _jobs(masked, bundles))
    for files in sets:
        figures = _searched(masked, files, among_originals(k), bound_figures)
        parts = np.concatenate([each["parts"] for each in figures])
        bounds.append([math.fsum(parts.tolist()) / (2 * k)])
    return math.fsum(each for own in bounds for each in own)


def known_of_bundle(
    given: tuple[Scales, float], _number: int, inputs: tuple[Arrays, ...]
) -> Output:
    """Count the linked originals of each stratum of a part, or of a sample of it."""
    scales, share = given
    tallies = []
    for each in _strata(scales, inputs):
        own = in_sample(each["rows"], share)
        if own.any():
            tally = known_tally(each["x"][own], each["after"][own], each["after"])
            tallies.append((tally, int(own.sum())))
    return Output(tallies)


def bounds_of_bundle(given: tuple[Scales, int], _number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Bound the SSE of each stratum of a part."""
    scales, k = given
    return Output([neighbour_bound(each["x"], k) for each in _strata(scales, inputs)])


def _strata(scales: Scales, inputs: tuple[Arrays, ...]) -> list[Arrays]:
    """Divide the records of a part by their strata."""
    strata = inputs[0]["strata"]
    block = {**_block(scales, inputs[1:]), "rows": inputs[0]["rows"]}
    rows = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    return [{name: values[own] for name, values in block.items()} for own in rows]


def _searched(
    masked: StreamedMasked,
    files: Sequence[str],
    search: Search,
    figures: Function,
    share: float = 1.0,
) -> list[Arrays]:
    """Take some parts through the four steps of a search, as `algorithms.blocks.links` tells."""
    engine, everyone = masked.engine, range(len(files))
    asking = _Asking(masked.scales, search, figures, share)
    reads = [((file, RECORDS), *_columns(masked, file)) for file in files]
    boxes = engine.map("evaluate", link_part, asking, [Job(i, reads[i]) for i in everyone])
    asking = replace(asking, covers=Covers.of(boxes))
    own = [((_linked(i), OWN),) for i in everyone]
    asked: list[list[int]] = engine.map(
        "evaluate", ask_part, asking, [Job(i, own[i]) for i in everyone]
    )
    askers = [[i for i in everyone if j in asked[i]] for j in everyone]
    jobs = [
        Job(j, (*reads[j][1:], *((_asked(i), str(j)) for i in askers[j])))
        for j in everyone
        if askers[j]
    ]
    engine.map("evaluate", answer_part, (asking, askers), jobs)
    jobs = [
        Job(
            i,
            (
                *reads[i],
                *own[i],
                *((_asked(i), str(j)) for j in asked[i]),
                *((_answered(j), str(i)) for j in asked[i]),
            ),
        )
        for i in everyone
    ]
    found: list[Arrays] = engine.map("evaluate", merge_part, asking, jobs)
    engine.store.remove("link")
    return found


def link_part(given: _Asking, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Search among the records of a part, and give the boxes that cover its targets."""
    block = _block(given.scales, inputs[1:])
    if given.share < 1.0:
        block["x"] = block["x"][_sampled(given, inputs[0])]
    found = link_block(given.search, block)
    own = {name: found[name] for name in ("points", "squares", "counts")}
    return Output({name: found[name] for name in ("low", "high")}, {_linked(number): {OWN: own}})


def ask_part(given: _Asking, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Write the questions of a part to others, and list these."""
    assert given.covers is not None
    asked = ask_others(given.covers, {**inputs[0], "number": np.array(number)})
    others = np.unique(asked["asked"]).tolist()
    parts = {str(other): questions_to(other, asked) for other in others}
    return Output(others, {_asked(number): parts})


def answer_part(
    given: tuple[_Asking, list[list[int]]], number: int, inputs: tuple[Arrays, ...]
) -> Output:
    """Answer the questions of other parts."""
    asking, askers = given
    d = len(asking.scales.columns)
    found = answers(asking.search, _block(asking.scales, inputs[:d]), inputs[d:])
    parts = {
        str(asker): {"answers": each.squares, "answer_counts": each.counts}
        for asker, each in zip(askers[number], found, strict=True)
    }
    return Output(None, {_answered(number): parts})


def merge_part(given: _Asking, _number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Merge the answers of other parts with the own search, and compute the figures of a part."""
    d = 1 + len(given.scales.columns)
    own, others = inputs[d], inputs[d + 1 :]
    questions, answers = others[: len(others) // 2], others[len(others) // 2 :]
    enough = given.search.enough
    nothing = {
        "point": np.empty(0, dtype=np.int64),
        "answers": np.empty((0, enough)),
        "answer_counts": np.empty((0, enough), dtype=np.int64),
    }
    back = {
        name: np.concatenate([nothing[name], *(each[name] for each in parts)])
        for name, parts in (
            ("point", questions), ("answers", answers), ("answer_counts", answers),
        )
    }  # fmt: skip
    block = _block(given.scales, inputs[1:d])
    if given.share < 1.0:
        rows = _sampled(given, inputs[0])
        block = {name: values[rows] for name, values in block.items()}
    searched = {"squares": own["squares"], "counts": own["counts"]}
    figures = given.figures(given.search, {**block, **searched, **back})
    return Output({**figures, "asking": np.array(len(block["x"]))})


def _sampled(given: _Asking, records: Arrays) -> Order:
    """Choose the records of a part that ask; at least one."""
    rows = np.flatnonzero(in_sample(records["rows"], given.share))
    return rows if rows.size else np.zeros(1, dtype=np.int64)


def _block(scales: Scales, columns: Sequence[Arrays]) -> dict[str, Matrix]:
    """Give the original and the published records of a part, in coordinates."""
    x, after = (
        np.ascontiguousarray(scales.embed([column[side] for column in columns]))
        for side in ("original", "published")
    )
    return {"x": x, "after": after}


def _columns(masked: StreamedMasked, file: str) -> tuple[tuple[str, str], ...]:
    return tuple((file, column_part(j)) for j in range(len(masked.scales.columns)))


def _jobs(masked: StreamedMasked, files: Sequence[str]) -> list[Job]:
    return [Job(i, ((file, RECORDS), *_columns(masked, file))) for i, file in enumerate(files)]


def _linked(number: int) -> str:
    return f"linked-{number:06d}"


def _asked(number: int) -> str:
    return f"link-asked-{number:06d}"


def _answered(number: int) -> str:
    return f"link-answered-{number:06d}"
