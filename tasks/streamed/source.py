"""Reads a Parquet file chunk by chunk into the scratch folder."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet

from algorithms.attributes import Number
from algorithms.errors import DataError, SpecError
from algorithms.types import Watch
from expectations.manifest import InputFacts
from expectations.published.files import OpenFile
from expectations.request.sections.source import SourceSection
from expectations.request.spec import ReleaseSpec
from tasks.compute.computing import compute_of_site
from tasks.compute.engine import Engine
from tasks.sources.fingerprint import streamed_fingerprint
from tasks.sources.opening import opened_source
from tasks.sources.parquet import FILE
from tasks.sources.reader import Decoded, unreadable
from tasks.sources.table import converted
from tasks.streamed.packing import TABLE, packed

CHUNK = 2**17
"""Rows of a chunk; another number gives the same release."""


@dataclass(frozen=True, eq=False)
class StreamedSource:
    """A source in the scratch folder.

    Attributes
    ----------
    engine : Engine
        What works on its chunks, and the store that holds them.
    schema : pyarrow.Schema
        Names and types of its columns.
    ends : tuple of int
        Number of rows up to the end of each chunk.
    """

    engine: Engine
    schema: pa.Schema
    ends: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of all rows."""
        return self.ends[-1]

    @property
    def starts(self) -> tuple[int, ...]:
        """Number of rows before each chunk."""
        return (0, *self.ends[:-1])

    @property
    def addresses(self) -> list[tuple[str, str]]:
        """Where the chunks are in the store."""
        return [address(number) for number in range(len(self.ends))]


def address(number: int) -> tuple[str, str]:
    """Name the place of a chunk in the store."""
    return f"source-{number:06d}", TABLE


def is_streamed(spec: ReleaseSpec) -> bool:
    """Tell whether the source of a spec is too large to be held in memory.

    Raises
    ------
    SpecError
        If it is, and the spec asks for something that needs the whole table in memory.
    """
    source, compute = spec.source, compute_of_site(spec.compute)
    if (
        compute.scratch_folder is None
        or not isinstance(source, SourceSection)
        or source.kind != "parquet"
        or source.compression
    ):
        return False
    try:
        rows = pyarrow.parquet.read_metadata(source.path).num_rows
    except (pa.ArrowException, OSError):
        return False  # reading the file tells what is wrong with it
    if rows <= compute.memory_rows or spec.plan.blocks_for(rows) is None:
        return False
    _check_streamable(spec, rows, compute.memory_rows)
    return True


def _check_streamable(spec: ReleaseSpec, rows: int, memory_rows: int) -> None:
    columns, how = spec.columns, spec.microaggregation
    in_memory = {
        "columns.unit": columns.unit is not None,
        "columns.weight": columns.weight is not None,
        "columns.other": bool(columns.other),
        "columns.missing": bool(columns.missing),
        "a hierarchy of a stratum": any(name in columns.hierarchies for name in columns.strata),
        "quasi-identifiers that are not numbers": any(
            not isinstance(attribute, Number) for attribute in columns.attributes
        ),
        "small_strata other than block": how.small_strata != "block",
        "the option gap": spec.plan.gap is not None,
        "series": spec.series is not None,
        "evaluation.bound_rounds": bool(spec.evaluation.bound_rounds),
        "evaluation.certify_seconds": bool(spec.evaluation.certify_seconds),
    }
    found = [words for words, asked in in_memory.items() if asked]
    if found:
        raise SpecError(
            f"a source of more than compute.memory_rows ({memory_rows:,}) records is "
            f"worked on in parts, which is not possible with {', '.join(found)}; it has {rows:,}: "
            "raise compute.memory_rows if the machine can hold the table, or change the spec"
        )


def stream_source(
    spec: ReleaseSpec, engine: Engine, watch: Watch | None = None
) -> tuple[StreamedSource, InputFacts]:
    """Read the source of a spec once, chunk by chunk, and compute the checksum of its bytes."""
    assert isinstance(spec.source, SourceSection)
    path = spec.source.path
    file = opened_source(path)
    chunks = _Chunks(file, spec, engine, watch)
    tables = iter(chunks)
    first = next(tables, None)
    if first is None:
        raise DataError("the source must have rows; it has none: check source.path")
    content = streamed_fingerprint(first.schema, itertools.chain([first], tables))
    facts = InputFacts(
        path=str(path),
        sha256=file.sha256,
        bytes=file.size,
        rows=chunks.ends[-1],
        columns=len(first.schema),
        content=content,
        missing_codes={name: dict(counts) for name, counts in chunks.missing.items()},
    )
    return StreamedSource(engine, first.schema, tuple(chunks.ends)), facts


class _Chunks:
    """Reads the chunks of a file, keeps each in the store, and counts rows and missing codes."""

    def __init__(
        self, file: OpenFile, spec: ReleaseSpec, engine: Engine, watch: Watch | None
    ) -> None:
        self._file, self._spec, self._engine, self._watch = file, spec, engine, watch
        self.ends: list[int] = []
        self.missing: dict[str, Counter[str]] = {}

    def __iter__(self) -> Iterator[pa.Table]:
        source = self._spec.source
        assert isinstance(source, SourceSection)
        for number, (chunk, total) in enumerate(_chunks(self._file)):
            read = converted(Decoded(chunk), source, self._spec.columns)
            for name, counts in read.missing_codes.items():
                self.missing.setdefault(name, Counter()).update(counts)
            file_name, part = address(number)
            self._engine.store.write(file_name, {part: packed(read.table)})
            self.ends.append((self.ends[-1] if self.ends else 0) + read.table.num_rows)
            if self._watch is not None:
                self._watch(number, self.ends[-1] / total)
            yield read.table


def _chunks(file: OpenFile) -> Iterator[tuple[pa.Table, int]]:
    """Read the chunks of a file, and the number of all its rows."""
    try:
        parquet = pyarrow.parquet.ParquetFile(file.reader())
        for batch in parquet.iter_batches(batch_size=CHUNK):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            yield table, parquet.metadata.num_rows
    except (pa.ArrowException, OSError, UnicodeError):
        raise unreadable(FILE) from None
