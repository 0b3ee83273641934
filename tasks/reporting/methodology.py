"""The public pages of a release: how the data were protected, and how to use and verify them.

They are computed from the published files alone and contain nothing that differs from run to run or
from machine to machine; for that reason the one picture is made of table cells.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.references import PAPERS
from algorithms.types import Matrix
from expectations.numbers import to_floats
from expectations.published.batches import COUNT, Batches, tally
from expectations.published.claims import KNOWN_SINCE, UNITS, Claims, Kind
from expectations.published.files import CSV, PACKAGE, PARQUET, PARTS
from expectations.published.verifier import field_type
from tasks.reporting.across import across, muted, revised
from tasks.reporting.page import in_words, render
from tasks.reporting.sizes import size_ranges

Term = Callable[[str, Matrix, Matrix], Matrix]
"""Calculates with a column, its values and the numbers of their records."""


@dataclass(frozen=True)
class Moments:
    """Published figures of one masked column, in its own unit."""

    mean: float
    deviation: float
    smallest: float
    largest: float


@dataclass(frozen=True)
class Facts:
    """Figures of the published table.

    Attributes
    ----------
    sizes : dict of int to int
        How many groups there are of each size.
    moments : dict of str to Moments
        Figures of each masked column of numbers.
    """

    sizes: dict[int, int]
    moments: dict[str, Moments]


def facts_of(batches: Batches, claims: Claims) -> Facts:
    """Compute the figures of a published table by exact sums, the same on every machine.

    Parameters
    ----------
    batches : callable
        Reads the columns that are counted into k, batch by batch, as often as it is called.
    claims : Claims
        The content of ``datapackage.json``.
    """
    schema = next(batches()).schema
    columns = {
        name: i
        for i, name in enumerate(claims.known)
        if name in claims.quasi_identifiers
        and field_type(schema.field(name).type) in ("integer", "number")
    }
    groups = _Groups(batches, claims)
    sizes: Counter[int] = Counter()
    extremes = {name: _Extremes() for name in columns}
    for part in groups.parts():
        for pair in pc.value_counts(part[COUNT]).to_pylist():
            sizes[pair["values"]] += pair["counts"]
        for name, i in columns.items():
            extremes[name].add(*_values(part, i))
    columns = {name: i for name, i in columns.items() if extremes[name].total >= 2}
    # from the smallest on: sums of large numbers overflow
    offsets = groups.sums(columns, lambda name, v, n: n * (v - extremes[name].least))
    means = {name: extremes[name].least + offsets[name] / extremes[name].total for name in columns}
    squares = groups.sums(columns, lambda name, v, n: n * (v - means[name]) ** 2)
    moments = {}
    for name in columns:
        found = extremes[name]
        deviation = math.sqrt(squares[name] / (found.total - 1))
        moments[name] = Moments(means[name], deviation, found.least, found.largest)
    return Facts(dict(sorted(sizes.items())), moments)


class _Groups:
    """The combinations of a table, counted again at every call unless there are few."""

    def __init__(self, batches: Batches, claims: Claims) -> None:
        self._count = partial(tally, batches, claims.known, claims.rows, claims.k)
        first, *others = islice(self._count(), 2)
        self._only = None if others else first

    def parts(self) -> Iterator[pa.Table]:
        """Give all combinations, part by part."""
        return self._count() if self._only is None else iter([self._only])

    def sums(self, columns: Mapping[str, int], term: Term) -> dict[str, float]:
        """Add up a term of each combination, column by column."""
        sums = {name: ExactSum() for name in columns}
        for part in self.parts():
            for name, i in columns.items():
                sums[name].add(term(name, *_values(part, i)))
        return {name: added.total for name, added in sums.items()}


class ExactSum:
    """A sum of numbers that come in parts, rounded once whatever the parts are."""

    def __init__(self) -> None:
        self._parts: list[float] = []

    def add(self, numbers: Matrix) -> None:
        """Add numbers."""
        left = numbers.tolist()
        # each sum is what those before it leave, down to nothing: together they are exact
        while remainder := math.fsum(left):
            self._parts.append(remainder)
            left.append(-remainder)

    @property
    def total(self) -> float:
        """The sum of all numbers."""
        return math.fsum(self._parts)


class _Extremes:
    """The number of values of a column, the smallest and the largest of them."""

    def __init__(self) -> None:
        self.total, self.least, self.largest = 0.0, math.inf, -math.inf

    def add(self, values: Matrix, counts: Matrix) -> None:
        """Add values, and the number of records that have each of them."""
        if values.size:
            self.total += float(counts.sum())
            self.least = min(self.least, float(values.min()))
            self.largest = max(self.largest, float(values.max()))


def _values(part: pa.Table, column: int) -> tuple[Matrix, Matrix]:
    """Give the values of a column that are not missing, and the numbers of their records."""
    present = part.filter(pc.is_valid(part[str(column)]))
    return to_floats(present[str(column)]), present[COUNT].to_numpy().astype(float)


def methodology(claims: Claims, facts: Facts) -> str:
    """Write the page.

    Parameters
    ----------
    claims : Claims
        The content of ``datapackage.json``.
    facts : Facts
        Figures of the table.
    """
    return render(
        "methodology.html",
        claims=claims,
        columns=_columns(claims),
        promise=promise(claims),
        secrets=secrets(claims),
        across=across(claims),
        muted=muted(claims),
        revised=revised(claims),
        blocks=blocks(claims),
        lines=_kinds_in_words(claims, LINES),
        labelled=_kinds_in_words(claims, LABELLED),
        moments=facts.moments,
        sizes=size_ranges(facts.sizes),
        methods=METHODS,
        orderings=ORDERINGS,
        papers=PAPERS,
        files=_files(claims),
        parts=_parts(claims),
    )


def readme(claims: Claims) -> str:
    """Write ``README.md``, the short form of the page."""
    return render(
        "readme.md",
        claims=claims,
        columns=_columns(claims),
        promise=promise(claims),
        secrets=secrets(claims),
        across=across(claims),
        muted=muted(claims),
        revised=revised(claims),
        lines=_kinds_in_words(claims, LINES),
        labelled=_kinds_in_words(claims, LABELLED),
        files=_files(claims),
        parts=_parts(claims),
    )


def _files(claims: Claims) -> dict[str, str]:
    """Name the data files, or all parts of them, and their description."""
    data = (f"{PARTS}/*.csv", f"{PARTS}/*.parquet") if _parts(claims) else (CSV, PARQUET)
    return dict(zip(("csv", "parquet", "package"), (*data, PACKAGE), strict=True))


def _parts(claims: Claims) -> int:
    """Give the number of parts of each data file; 0 for whole files."""
    return len(claims.resources) // 2 if claims.resources[0].path != CSV else 0


def promise(claims: Claims) -> str:
    """State what k guarantees, in one sentence with its numbers."""
    if claims.counts == UNITS:
        who = f"records of at least {claims.k} different persons, households or companies"
    else:
        who = f"at least {claims.k} records"
    if claims.format < KNOWN_SINCE:
        return f"every combination of values in the averaged columns occurs in {who}"
    names = in_words(claims.known)
    gaps = "; a missing value counts as a value" if _may_be_missing(claims) else ""
    return f"every combination of values in {names} occurs in {who}{gaps}"


def blocks(claims: Claims) -> str:
    """Say into which blocks the records were cut, in one sentence; empty if they were not."""
    if claims.blocks is None:
        return ""
    rows, seams = claims.blocks["rows"], claims.blocks["seams"]
    rounds = "once" if seams == 1 else f"{seams} times"
    mended = (
        f", and {rounds} the table was cut elsewhere and records moved to groups across the former "
        "borders, where this brought the averages closer to the original values"
    )
    return (
        f"Sets of more than {rows:,} records were cut into blocks of about that size, across the "
        f"directions in which the records differ most; each block was grouped on its own"
        f"{mended if seams else ''}."
    )


def _may_be_missing(claims: Claims) -> bool:
    return any(kind.missing for kind in claims.kinds.values()) or bool(claims.of_role("other"))


def secrets(claims: Claims) -> str:
    """Say what attackers are held not to know, and what follows if they know it all the same."""
    count = len(claims.of_role("confidential"))
    if not count:
        return ""
    held = f"The publisher holds that attackers do not know {'it' if count == 1 else 'them'}. "
    unique = [claims.measures.get(name) for name in ("unique_with_one", "unique_with_all")]
    one, several = (None if share is None else f"{share:.2f} %" for share in unique)
    if one is None or several is None:
        return f"{held}An attacker who does may tell the records of a group apart."
    if count == 1:
        return f"{held}To an attacker who does, {one} of the records are unique."
    return (
        f"{held}To an attacker who knows one of these columns all the same, up to {one} of "
        f"the records are unique; to one who knows all of them, {several}."
    )


LINES = {"number": "numbers", "date": "dates", "ordered": "levels"}
"""Kinds of columns that lie on a line, in words."""

LABELLED = {"category": "labels", "hierarchy": "codes"}
"""Kinds of columns that hold labels, in words."""


def _kinds_in_words(claims: Claims, words: Mapping[str, str]) -> str:
    """Name those of some kinds of columns that a release has; empty if it has none."""
    kinds = {kind.kind for kind in claims.kinds.values()}
    there = [word for kind, word in words.items() if kind in kinds]
    return f"columns of {in_words(there)}" if there else ""


def _columns(claims: Claims) -> list[tuple[str, str, str]]:
    """List the name, type and treatment of each column."""
    return [(name, kind, _treatment(name, claims)) for name, kind in claims.types.items()]


AS_COLLECTED = {
    "stratum": "as collected; all records of a group share it",
    "weight": "averaged over the group",
    "confidential": "as collected",
    "other": "as collected; counted into k",
}
RULES = {
    "mode": "the most frequent label of the group",
    "majority": "the label of more than half of the group, otherwise *",
    "calibrated": "one label per group, chosen so that the totals of labels hardly change",
    "nearest": "the code, or group of codes, of more than half of the group",
    "leaf": "the code nearest to those of the group",
    "common": "the narrowest group of codes that holds all codes of the group",
}
MISSING = {
    "state": "missing where that is nearest to the records of the group",
    "blank": "missing if it is missing for any record of the group",
    "fill": "missing only if it is missing for all records of the group",
    "apart": "missing exactly where it was missing: such records have groups of their own",
}


def _treatment(column: str, claims: Claims) -> str:
    """Describe the treatment of a column in a few words."""
    role = claims.roles[column]
    if column not in claims.kinds:
        if role == "stratum" and claims.small_strata == "merge":
            return f"{AS_COLLECTED[role]}; small strata are merged into wider ones"
        # format 2 counted no other column into k
        words = "as collected" if claims.format < KNOWN_SINCE else AS_COLLECTED[role]
        return f"{words}; empty in muted records" if _is_emptied(column, claims) else words
    kind = claims.kinds[column]
    return "; ".join(filter(None, (_representative(kind), MISSING.get(kind.missing))))


def _is_emptied(column: str, claims: Claims) -> bool:
    return bool(claims.muted) and column in claims.emptied


def _representative(kind: Kind) -> str:
    """Describe what a group publishes of a column."""
    if kind.published:
        return RULES[kind.published]
    if kind.kind == "ordered":
        return "the level nearest to the average of the group"
    if kind.kind == "date":
        return f"averaged, rounded to {kind.unit}s"
    if kind.whole:
        return "averaged, rounded to whole numbers"
    if kind.places is None:
        return "averaged"
    return f"averaged, rounded to {kind.places} decimal{'' if kind.places == 1 else 's'}"
