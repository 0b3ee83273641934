"""Checks a streamed source, and counts what all later stages must know of the whole table."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add, or_
from typing import Any

import numpy as np
import pyarrow as pa

from algorithms.attributes import Number
from algorithms.blocks.running import Arrays
from algorithms.errors import DataError, RefusedError
from algorithms.moments import Moments, moments_of
from algorithms.types import Watch
from expectations.numbers import Decimals, decimals_of, to_floats, to_integers
from expectations.request.spec import ReleaseSpec
from expectations.suites.input_suite import about_columns, input_suite, shape_suite
from expectations.suites.require import (
    Finding,
    joined,
    require,
    require_met,
    with_great_expectations,
)
from expectations.suites.rules import Rule, Suite
from expectations.tables import frame_of
from tasks.compute.engine import Engine, Job, Output
from tasks.streamed.hashing import KEYS, hashed
from tasks.streamed.packing import unpacked
from tasks.streamed.source import StreamedSource

UNIQUE = "ExpectColumnValuesToBeUnique"
"""The one rule of the input suite that no chunk can tell by itself."""

Stratum = tuple[Any, ...]
"""The values of all strata of a record."""


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A checked table in the scratch folder.

    Attributes
    ----------
    source : StreamedSource
        Its chunks.
    attributes : tuple of Number
        Its quasi-identifiers, with the decimals that are published.
    moments : tuple of Moments
        Exact sums of each quasi-identifier.
    strata : mapping of Stratum to int
        Number of records of each stratum, in the order of strata.
    """

    source: StreamedSource
    attributes: tuple[Number, ...]
    moments: tuple[Moments, ...]
    strata: dict[Stratum, int]

    @property
    def engine(self) -> Engine:
        """What works on its parts."""
        return self.source.engine

    def __len__(self) -> int:
        return self.source.rows


@dataclass(frozen=True, eq=False)
class _Counts:
    """What one chunk adds to the counts of the table; findings only, if it has faults."""

    findings: tuple[Finding, ...]
    decimals: tuple[Decimals, ...] = ()
    moments: tuple[Moments, ...] = ()
    strata: Counter[Stratum] = field(default_factory=Counter)


def check_streamed(
    source: StreamedSource, spec: ReleaseSpec, watch: Watch | None = None
) -> tuple[StreamedTable, tuple[Finding, ...]]:
    """Check all chunks of a source against the input suites, as `validate` does with a table."""
    engine = source.engine
    head = unpacked(engine.store.read(*source.addresses[0]))
    hint = about_columns(source.schema.names, spec.columns)
    shape = require(shape_suite(spec), frame_of(head), DataError, hint)
    suite = input_suite(spec)
    jobs = [Job(i, (place,)) for i, place in enumerate(source.addresses)]
    counts: list[_Counts] = engine.map("validate", check_chunk, spec, jobs, watch)
    repeated = _repeated(engine, spec, len(jobs))
    found = iter(joined([each.findings for each in counts]))
    findings = tuple(
        _unique(suite, rule, repeated[rule.given["column"]])
        if rule.expectation == UNIQUE
        else next(found)
        for rule in suite.rules
    )
    require_met(findings, DataError, "correct the source, or the roles in the spec")
    attributes = _attributes(
        spec, [reduce(or_, each) for each in zip(*(c.decimals for c in counts), strict=True)]
    )
    strata: Counter[Stratum] = sum((each.strata for each in counts), Counter())
    _check_strata(strata, spec.microaggregation.k)
    moments = tuple(reduce(add, each) for each in zip(*(c.moments for c in counts), strict=True))
    table = StreamedTable(
        source,
        attributes,
        moments,
        dict(sorted(strata.items())),
    )
    return table, shape + findings


def check_chunk(spec: ReleaseSpec, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Check the values of one chunk, and count what the whole table needs."""
    table = unpacked(inputs[0])
    suite = input_suite(spec)
    alone = Suite(suite.name, tuple(r for r in suite.rules if r.expectation != UNIQUE))
    findings = with_great_expectations(alone, frame_of(table))
    counts = _Counts(findings)
    if all(finding.met for finding in findings):
        counts = _counted(table, spec, findings)
    return Output(counts, {f"identifiers-{number:06d}": _identifiers(table, spec)})


def _counted(table: pa.Table, spec: ReleaseSpec, findings: tuple[Finding, ...]) -> _Counts:
    """Count what the whole table needs, in a chunk without faults."""
    attributes = numbers_of(spec)
    values = [read_number(attribute, table) for attribute in attributes]
    return _Counts(
        findings,
        tuple(
            Decimals() if attribute.whole else decimals_of(table[attribute.name])
            for attribute in attributes
        ),
        tuple(moments_of(np.asarray(column, dtype=np.float64)) for column in values),
        strata_of(table, spec.columns.strata)[1],
    )


def numbers_of(spec: ReleaseSpec) -> list[Number]:
    """List the quasi-identifiers; those of a streamed table are all numbers."""
    return [each for each in spec.columns.attributes if isinstance(each, Number)]


def read_number(attribute: Number, table: pa.Table) -> Any:
    """Read the values of a quasi-identifier from a part of the source."""
    read = to_integers if attribute.whole else to_floats
    return read(table[attribute.name])


def strata_of(table: pa.Table, names: tuple[str, ...]) -> tuple[list[Stratum], Counter[Stratum]]:
    """Give the strata of some records in the order in which they occur, and count their records."""
    if not names:
        return [()], Counter({(): table.num_rows})
    counts = table.select(list(names)).group_by(list(names), use_threads=False)
    counted = counts.aggregate([([], "count_all")])
    rows = list(zip(*(counted[name].to_pylist() for name in names), strict=True))
    return rows, Counter(dict(zip(rows, counted["count_all"].to_pylist(), strict=True)))


def _identifiers(table: pa.Table, spec: ReleaseSpec) -> dict[str, Arrays]:
    """Deal the hashes of identifiers to as many parts as there are chunks of a long table."""
    parts: dict[str, Arrays] = {}
    for name in spec.columns.identifiers:
        hashes = [hashed(table[name], key) for key in KEYS]
        of_part = hashes[0] % PARTS
        for part in range(PARTS):
            chosen = of_part == part
            parts[f"{name}/{part}"] = {"one": hashes[0][chosen], "two": hashes[1][chosen]}
    return parts


PARTS = 64
"""Parts in which identifiers are compared."""


def _repeated(engine: Engine, spec: ReleaseSpec, chunks: int) -> dict[str, int]:
    """Count the records whose identifier occurs more than once, by column."""
    counts = {}
    for name in spec.columns.identifiers:
        jobs = [
            Job(part, tuple((f"identifiers-{i:06d}", f"{name}/{part}") for i in range(chunks)))
            for part in range(PARTS)
        ]
        counts[name] = sum(engine.map("validate", count_repeated, None, jobs))
    engine.store.remove("identifiers-")
    return counts


def count_repeated(_given: None, _number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Count the hashes that occur more than once."""
    one, two = (np.concatenate([part[name] for part in inputs if part]) for name in ("one", "two"))
    order = np.lexsort((two, one))
    same = (one[order][1:] == one[order][:-1]) & (two[order][1:] == two[order][:-1])
    return Output(int((np.append(same, False) | np.append(False, same)).sum()))


def _unique(suite: Suite, rule: Rule, repeated: int) -> Finding:
    return Finding(suite.name, rule.words, repeated == 0, repeated)


def _attributes(spec: ReleaseSpec, decimals: list[Decimals]) -> tuple[Number, ...]:
    attributes = []
    for attribute, counted in zip(numbers_of(spec), decimals, strict=True):
        if not attribute.whole and attribute.places is None and not attribute.all_digits:
            attribute = replace(attribute, places=counted.kept)
        attributes.append(attribute)
    return tuple(attributes)


def _check_strata(strata: Counter[Stratum], k: int) -> None:
    small = [count for count in strata.values() if count < k]
    if small:
        raise RefusedError(
            f"strata must hold at least k={k} records each; {len(small)} with {sum(small)} records "
            "hold fewer: choose coarser ones, or hold the table in memory (compute.memory_rows), "
            "where they can be merged or withheld"
        )
