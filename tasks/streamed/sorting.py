"""Sorts the published records of a streamed table: ranges of the canonical order, one by one."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from algorithms.blocks.cuts import in_sample
from algorithms.blocks.running import Arrays
from algorithms.errors import ContractError
from algorithms.types import Labels
from expectations.request.sections.columns import ColumnsSection
from tasks.compute.engine import Job, Output
from tasks.publishable import sort_order
from tasks.streamed.hashing import RowSums, row_sums
from tasks.streamed.masking import CARRIED, StreamedMasked, column_part
from tasks.streamed.packing import TABLE, packed, unpacked, unpacked_all

RANGE = 2**17
"""About the number of rows that are sorted at a time; another number gives the same order."""

SPLITTERS = "sorting-splitters"

PER_RANGE = 64
"""Sampled rows for each range."""


class StreamedRows:
    """The rows that a streamed table publishes, sorted range by range."""

    masked = None

    def __init__(self, streamed: StreamedMasked, columns: ColumnsSection) -> None:
        self._streamed, self._public = streamed, columns.public
        self.attributes = streamed.scales.attributes
        self.rows = len(streamed)

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the public columns."""
        reads = reads_of(self._streamed.files[0], self._streamed)
        first = tuple(self._streamed.engine.store.read(*address) for address in reads)
        return published_rows(self._names, self._public, first).schema

    @cached_property
    def digest(self) -> str:
        """Digest of all rows in whatever order, as `judge` computes it."""
        return self._sums.digest

    def batches(self) -> Iterator[pa.Table]:
        """Read all rows in their order, a range at a time.

        Raises
        ------
        ContractError
            If they are not the rows of the digest.
        """
        engine = self._streamed.engine
        ranges = sorted({number for _, numbers in self._dealt for number in numbers})
        files = [(_dealt(job), frozenset(numbers)) for job, (_, numbers) in enumerate(self._dealt)]
        jobs = [
            Job(number, tuple((file, str(number)) for file, own in files if number in own))
            for number in ranges
        ]
        engine.map("publish", sort_range, None, jobs)
        read = RowSums()
        for job in jobs:
            table = unpacked(engine.store.read(_range(job.number), TABLE))
            read += row_sums(table)
            yield table
        if read != self._sums:
            raise ContractError("sorted rows must be the rows that were judged; they are not")

    @cached_property
    def _sums(self) -> RowSums:
        return sum((sums for sums, _ in self._dealt), RowSums())

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def _dealt(self) -> list[tuple[RowSums, list[int]]]:
        """Divide all rows by ranges; give the sums and the ranges of each part."""
        streamed, engine = self._streamed, self._streamed.engine
        jobs = [Job(i, reads_of(file, streamed)) for i, file in enumerate(streamed.files)]
        ranges = -(-self.rows // RANGE)
        share = min(PER_RANGE * ranges / self.rows, 1.0)
        engine.map("publish", sample_part, (self._names, self._public, share), jobs)
        sample = unpacked_all([engine.store.read(_sample(job.number), TABLE) for job in jobs])
        engine.store.remove("sorting-sample-")
        sample = sample.take(sort_order(sample))
        places = np.unique(np.arange(1, ranges) * sample.num_rows // ranges)
        engine.store.write(SPLITTERS, {TABLE: packed(sample.take(pa.array(places)))})
        with_splitters = [Job(job.number, ((SPLITTERS, TABLE), *job.reads)) for job in jobs]
        found: list[tuple[RowSums, list[int]]] = engine.map(
            "publish", deal_part, (self._names, self._public), with_splitters
        )
        return found


def reads_of(file: str, masked: StreamedMasked) -> tuple[tuple[str, str], ...]:
    """List the parts of a masked file that the published rows are made of."""
    columns = range(len(masked.scales.attributes))
    return ((file, CARRIED), *((file, column_part(j)) for j in columns))


def published_rows(
    names: tuple[str, ...], public: tuple[str, ...], inputs: tuple[Arrays, ...]
) -> pa.Table:
    """Put the published rows of one part together, in the form of published files."""
    carried = unpacked(inputs[0])
    keys = {
        name: pa.chunked_array([pa.array(part["published"])])
        for name, part in zip(names, inputs[1:], strict=True)
    }
    return pa.table({name: keys[name] if name in keys else carried[name] for name in public})


def sample_part(given: Any, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Take some published rows."""
    names, public, share = given
    rows = published_rows(names, public, inputs)
    chosen = np.flatnonzero(in_sample(np.arange(rows.num_rows), share))
    chosen = chosen if chosen.size else np.zeros(1, dtype=np.int64)
    return Output(None, {_sample(number): {TABLE: packed(rows.take(pa.array(chosen)))}})


def deal_part(given: Any, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Divide published rows by the range that they belong to."""
    names, public = given
    splitters, rows = unpacked(inputs[0]), published_rows(names, public, inputs[1:])
    ranges = _ranges(splitters, rows)
    numbers = np.unique(ranges).tolist()
    parts = {str(each): packed(rows.filter(pa.array(ranges == each))) for each in numbers}
    return Output((row_sums(rows), numbers), {_dealt(number): parts})


def _ranges(splitters: pa.Table, rows: pa.Table) -> Labels:
    """Count the splitters up to each row; a splitter precedes rows that are equal to it."""
    order = sort_order(pa.concat_tables([splitters, rows])).to_numpy().astype(np.int64)
    is_splitter = order < splitters.num_rows
    before = np.cumsum(is_splitter)
    ranges = np.empty(rows.num_rows, dtype=np.int64)
    ranges[order[~is_splitter] - splitters.num_rows] = before[~is_splitter]
    return ranges


def sort_range(_given: None, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Sort the rows of one range."""
    rows = unpacked_all(inputs)
    return Output(rows.num_rows, {_range(number): {TABLE: packed(rows.take(sort_order(rows)))}})


def _sample(number: int) -> str:
    return f"sorting-sample-{number:06d}"


def _dealt(number: int) -> str:
    return f"sorting-dealt-{number:06d}"


def _range(number: int) -> str:
    return f"sorted-{number:06d}"
