"""Groups a streamed table block by block, and computes the values that would be published.

Records travel through the scratch folder only. A *part* holds the records of one block, or those of
several strata that are too small to be cut. After each round, whole groups go to the parts of the
next cuts, so that no group is ever divided.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from algorithms.attributes.number import NumberCoordinates, number_coordinates
from algorithms.blocks.cuts import in_sample, share_sampled
from algorithms.blocks.grouping import NO_SEARCH, cuts_of, group_block, mend_block
from algorithms.blocks.running import Arrays
from algorithms.masking import how_of
from algorithms.rounding.centroids import in_steps
from algorithms.search.pool import centroids_of
from algorithms.table import Stretched
from algorithms.types import Found, Integers, Labels, Partition, Watch, numbered
from expectations.request.spec import ReleaseSpec
from tasks.compute.engine import Engine, Job, Output
from tasks.streamed.checking import StreamedTable, read_number
from tasks.streamed.hashing import KEYS, hashed_rows, traces_of
from tasks.streamed.packing import packed, unpacked
from tasks.streamed.records import Given, Layout, Records, Scales, layout_of

RECORDS, CARRIED = "records", "carried"
"""Parts of a masked file: numbers of each record, and the columns that are published unchanged."""

SMALL = -1
"""Stands for the stratum of a file with several small strata."""

JOBS, GROUPS = 2**24, 2**32
"""More jobs than a round has, and more groups than a part has: numbers are never used twice."""


@dataclass(frozen=True, eq=False)
class Standardised:
    """A streamed table with its scales and its cuts.

    Attributes
    ----------
    table : StreamedTable
        The records.
    given : Given
        What every part needs to know.
    layouts : tuple of Layout
        Where records go at first, and for each round of mending.
    """

    table: StreamedTable
    given: Given
    layouts: tuple[Layout, ...]


@dataclass(frozen=True, eq=False)
class StreamedMasked:
    """A masked table in the scratch folder.

    Attributes
    ----------
    table : StreamedTable
        The table that was masked.
    given : Given
        What every part needs to know.
    files : tuple of str
        Files with the records of each part.
    sizes : tuple of int
        Number of records of each file.
    strata : tuple of int
        For each file the number of its stratum, if that was cut; -1 for several small strata.
    traces : tuple of int
        Sums of hashes of each column that is published unchanged, as it was read.
    iterations : int, optional
        Iterations of the search; None if there was no search.
    """

    table: StreamedTable
    given: Given
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    strata: tuple[int, ...]
    traces: tuple[int, ...]
    iterations: int | None = None

    def __len__(self) -> int:
        return len(self.table)

    @property
    def engine(self) -> Engine:
        """What works on its parts."""
        return self.table.engine

    @property
    def scales(self) -> Scales:
        """The quasi-identifiers and their coordinates."""
        return self.given.scales

    @property
    def k(self) -> int:
        """Smallest group allowed."""
        return self.given.how.k

    @property
    def sets(self) -> tuple[list[str], list[list[str]]]:
        """The files of small strata, and those of each stratum that was cut."""
        files: dict[int, list[str]] = {}
        for file, stratum in zip(self.files, self.strata, strict=True):
            files.setdefault(stratum, []).append(file)
        return files.pop(SMALL, []), list(files.values())

    def gathered(self, part: str, *names: str) -> tuple[NDArray[Any], ...]:
        """Put some arrays of all files together, in the order of files."""
        read = [self.engine.store.read(file, part) for file in self.files]
        return tuple(np.concatenate([arrays[name] for arrays in read]) for name in names)


def standardise_streamed(
    table: StreamedTable, spec: ReleaseSpec, watch: Watch | None = None
) -> Standardised:
    """Find the scale of each column, and the cuts of each large stratum in a sample of it."""
    plan = spec.plan
    blocks = plan.blocks_for(len(table))
    assert blocks is not None
    sizes = list(table.strata.values())
    scales = _scales(table, spec)
    how = how_of(plan, scales.grid, len(table))
    given = Given(
        scales=scales,
        names=spec.columns.strata,
        carried=spec.columns.untouched,
        strata=tuple(table.strata),
        shares=tuple(
            share_sampled(size, blocks.rows) if size > blocks.rows else 0.0 for size in sizes
        ),
        known=tuple(name for name in spec.columns.untouched if name in spec.columns.known),
        how=how.in_blocks(blocks.rows),
        how_whole=how,
    )
    engine = table.engine
    jobs = _chunk_jobs(table)
    counted = engine.map("standardise", sample_chunk, given, jobs, watch)
    columns = tuple(all(each) for each in zip(*counted, strict=True))
    given = replace(given, scales=replace(scales, counted=columns))
    samples = [engine.store.read(f"sample-{job.number:012d}", "") for job in jobs]
    x, strata = (np.concatenate([part[name] for part in samples]) for name in ("x", "strata"))
    engine.store.remove("sample-")
    uncut = (None,) * (1 + blocks.seams)
    cuts = [
        cuts_of(x[strata == number], size, blocks) if size > blocks.rows else uncut
        for number, size in enumerate(sizes)
    ]
    layouts = [layout_of(own, sizes, blocks.rows) for own in zip(*cuts, strict=True)]
    return Standardised(table, given, tuple(layouts))


def sample_chunk(given: Given, start: int, inputs: tuple[Arrays, ...]) -> Output:
    """Take the sampled records of one chunk, and tell which columns have no more decimals."""
    records = _read(given, start, unpacked(inputs[0]))
    shares = np.array(given.shares)[records.strata]
    sampled = np.zeros(len(shares), dtype=bool)
    for share in np.unique(shares[shares > 0.0]):
        sampled |= (shares == share) & in_sample(records.rows, share)
    chosen = np.flatnonzero(sampled)
    x = given.scales.embed([key[chosen] for key in records.keys])
    arrays = {"x": np.ascontiguousarray(x), "strata": records.strata[chosen]}
    counted = tuple(
        attribute.places is not None and not attribute.whole and in_steps(key, attribute.places)
        for attribute, key in zip(given.scales.attributes, records.keys, strict=True)
    )
    return Output(counted, {f"sample-{start:012d}": {"": arrays}})


def group_streamed(standardised: Standardised, watch: Watch | None = None) -> "StreamedMasked":
    """Group all blocks, mend the seams between them, and compute what would be published."""
    table, layouts = standardised.table, standardised.layouts
    engine, jobs = table.engine, _chunk_jobs(table)
    given = replace(standardised.given, layout=layouts[0])
    spread = engine.map("microaggregate", spread_chunk, given, jobs)
    counts = sum(each for each, _ in spread)
    traces = tuple(sum(each) % 2**64 for each in zip(*(each for _, each in spread), strict=True))
    engine.store.remove("source-")
    files = [f"spread-{job.number:012d}" for job in jobs]
    parts = _merged_parts(layouts[0], counts, given.how.k)
    searches: list[int] = []
    found: list[_Grouped] = []
    for turn, layout in enumerate(layouts):
        last = turn + 1 == len(layouts)
        given = replace(
            given, layout=layout, following=None if last else layouts[turn + 1], mends=turn > 0
        )
        jobs = [
            Job(turn * JOBS + i, tuple((file, str(part)) for part in merged for file in files))
            for i, merged in enumerate(parts)
        ]
        found = engine.map("microaggregate", group_part, given, jobs, _share(watch, turn, layouts))
        for file in files:
            engine.store.remove(file)
        files = [_grouped(job.number) for job in jobs]
        parts = [(part,) for part in sorted({part for each in found for part in each.goes_to})]
        searches += [each.iterations for each in found if each.iterations != NO_SEARCH]
    return StreamedMasked(
        table,
        given,
        tuple(files),
        tuple(each.size for each in found),
        tuple(each.stratum for each in found),
        traces,
        sum(searches) if searches else None,
    )


@dataclass(frozen=True)
class _Grouped:
    """What the coordinator is told of a part: where its groups go, and counts."""

    goes_to: tuple[int, ...]
    iterations: int
    size: int
    stratum: int


def spread_chunk(given: Given, start: int, inputs: tuple[Arrays, ...]) -> Output:
    """Deal the records of one chunk to their parts, and count them."""
    assert given.layout is not None
    records = _read(given, start, unpacked(inputs[0]))
    parts = given.layout.assign(given.scales.embed(records.keys), records.strata)
    counts = np.bincount(parts, minlength=given.layout.parts)
    traces = traces_of(records.rows, records.carried, given.carried)
    return Output((counts, traces), {f"spread-{start:012d}": records.dealt(parts)})


def group_part(given: Given, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Group the records of one part, or mend their groups.

    The groups then go to the next parts, or get the values that would be published. The figures are
    the numbers of the next parts, and the iterations of the search.
    """
    assert given.layout is not None
    records = Records.gathered(inputs)
    x = given.scales.embed(records.keys)
    labels, spent, groups = np.empty(len(x), dtype=np.int64), NO_SEARCH, 0
    for stratum in np.unique(records.strata):
        own = np.flatnonzero(records.strata == stratum)
        is_cut = given.layout.cuts[stratum] is not None
        if given.mends and not is_cut:
            labels[own] = groups + numbered(records.groups[own])
        elif given.mends:
            block = {"x": x[own], "labels": records.groups[own]}
            labels[own] = groups + mend_block(given.how, block)["labels"]
        else:
            how = given.how if is_cut else given.how_whole
            found = group_block(how, {"x": x[own]})
            labels[own] = groups + found["labels"]
            if found["iterations"][0] != NO_SEARCH:
                spent = max(spent, 0) + int(found["iterations"][0])
        groups = int(labels[own].max()) + 1
    if given.following is None:
        masked = _masked(given, records, labels)
        one = int(records.strata[0])
        stratum = SMALL if given.layout.cuts[one] is None else one
        return Output(_Grouped((), spent, len(x), stratum), {_grouped(number): masked})
    first = np.unique(labels, return_index=True)[1]
    parts = given.following.assign(centroids_of(x, labels), records.strata[first])[labels]
    dealt = replace(records, groups=number * GROUPS + labels).dealt(parts)
    return Output(_Grouped(tuple(map(int, dealt)), spent, len(x), SMALL), {_grouped(number): dealt})


def _masked(given: Given, records: Records, labels: Labels) -> dict[str, Arrays]:
    """Compute the published values of grouped records, each column as a part of its own."""
    groups = Partition(labels, given.how.k)
    published = given.scales.represent(records.keys, groups)
    averages = given.scales.averages(records.keys, groups)
    columns = {
        column_part(j): {"original": key, "published": value, "average": averages[:, j]}
        for j, (key, value) in enumerate(zip(records.keys, published, strict=True))
    }
    known = [pa.chunked_array([pa.array(values)]) for values in published]
    known += [records.carried[name] for name in given.known]
    one, two = (hashed_rows(known, key) for key in KEYS)
    numbers = {"rows": records.rows, "strata": records.strata, "hash_one": one, "hash_two": two}
    return {RECORDS: numbers, CARRIED: packed(records.carried), **columns}


def column_part(j: int) -> str:
    """Name the part of a masked file that holds a quasi-identifier."""
    return f"column-{j}"


def _grouped(number: int) -> str:
    return f"grouped-{number:015d}"


def _read(given: Given, start: int, table: pa.Table) -> Records:
    """Read the records of one chunk, whose first row has the number ``start``."""
    n = table.num_rows
    return Records(
        np.arange(start, start + n),
        given.strata_of(table),
        np.full(n, -1, dtype=np.int64),
        [read_number(attribute, table) for attribute in given.scales.attributes],
        table.select(list(given.carried)),
    )


def _chunk_jobs(table: StreamedTable) -> list[Job]:
    places = zip(table.source.starts, table.source.addresses, strict=True)
    return [Job(start, (address,)) for start, address in places]


def _merged_parts(layout: Layout, counts: Integers, k: int) -> list[tuple[int, ...]]:
    """List the parts that are grouped together: a block of too few records joins its neighbour."""
    merged: list[tuple[int, ...]] = []
    seen = set()
    for cuts, first in zip(layout.cuts, layout.firsts.tolist(), strict=True):
        if first in seen:
            continue
        seen.add(first)
        if cuts is None:
            merged.append((first,))
            continue
        sizes = counts[first : first + cuts.count]
        own = cuts.merged(partial(_enough, sizes, k))
        merged += [tuple(first + np.flatnonzero(own == new)) for new in range(own.max() + 1)]
    return [parts for parts in merged if counts[list(parts)].any()]


def _enough(sizes: Integers, k: int, some: Integers) -> bool:
    return bool(sizes[some].sum() >= k)


def _scales(table: StreamedTable, spec: ReleaseSpec) -> Scales:
    columns: list[NumberCoordinates | Stretched] = []
    for attribute, moments in zip(table.attributes, table.moments, strict=True):
        scale = number_coordinates(attribute, moments)
        importance = spec.columns.importance.get(attribute.name, 1.0)
        columns.append(scale if importance == 1.0 else Stretched(scale, math.sqrt(importance)))
    return Scales(table.attributes, tuple(columns), ())


def _share(watch: Watch | None, turn: int, layouts: Sequence[Layout]) -> Watch | None:
    if watch is None:
        return None

    def told(done: int, share: float, _found: Found | None = None, /) -> None:
        watch(done, (turn + share) / len(layouts))

    return told
