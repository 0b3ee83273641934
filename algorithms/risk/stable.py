"""Values of stable columns that are left for a person if those of its groups are intersected.

An attacker who knows the key values of a person finds its group in every release. A value that the
person keeps is among the values of all these groups, so intersecting them leaves few values, even
where no record can be followed [XT07]_.
"""

from collections.abc import Sequence

import numpy as np

from algorithms.comparison import Comparison
from algorithms.history import ABSENT, Records
from algorithms.jit import kernel
from algorithms.measure import Measure, Omitted
from algorithms.risk.links import all_records
from algorithms.table import Table, combinations
from algorithms.types import Integers, Labels


def fewest_values(files: Comparison, *, stable: tuple[str, ...] = ()) -> float | Omitted | None:
    """Count the values of a stable column that are left for the person with the fewest.

    Columns are intersected each on its own and, if there are several, all together, which leaves
    fewer values of each. Persons whose present values are not left have changed them, and the
    attacker would be wrong; they do not count.
    """
    if files.history is None or files.earlier is None or not stable:
        return None
    records = all_records(files.history.past)
    if isinstance(records, Omitted):
        return records
    if not files.masked.visible.any():
        return Omitted("every record is muted")
    groups, visible = files.earlier
    values = _Values.of(files, records, stable)
    seen = np.where(visible, groups, ABSENT)[files.masked.visible]
    left = [values.left(seen, [j], j) for j in range(len(stable))]
    if len(stable) > 1:
        left += [values.left(seen, list(range(len(stable))), j) for j in range(len(stable))]
    counts = np.concatenate(left)
    if not counts.any():
        return Omitted("nobody has kept a value of a stable column")
    return float(counts[counts > 0].min())


class _Values:
    """The values of stable columns and the groups of all visible records, the new ones first."""

    def __init__(self, columns: Integers, groups: Labels, ends: Integers) -> None:
        self._columns, self._groups, self._ends = columns, groups, ends

    @classmethod
    def of(cls, files: Comparison, earlier: Sequence[Records], stable: Sequence[str]) -> "_Values":
        """Read the tables behind all releases."""
        rows = np.flatnonzero(files.masked.visible)
        columns, groups = [_tokens(files.original, stable)[rows]], [files.masked.groups[rows]]
        for records in earlier:
            own, own_groups = _shown(records, stable)
            columns.append(own)
            groups.append(own_groups)
        ends = np.cumsum([each.size for each in groups])
        return cls(np.concatenate(columns), np.concatenate(groups), ends)

    def left(self, seen: Labels, together: list[int], column: int) -> Integers:
        """Count the values of a column that are left if some columns are intersected together."""
        # numbered by the column first, so that tuples with the same value of it follow each other
        ordered = [*(j for j in together if j != column), column]
        tuples = combinations([self._columns[:, j] for j in ordered])
        count = int(tuples.max()) + 1
        value_of = np.empty(count, dtype=np.int64)
        value_of[tuples] = self._columns[:, column]
        own, *earlier = np.split(self._groups * count + tuples, self._ends[:-1])
        keys = [np.unique(each) for each in earlier]
        entries = np.unique(own)
        return values_left(
            own // count,
            own % count,
            seen,
            np.searchsorted(entries, count * np.arange(own.max() // count + 2)),
            entries % count,
            value_of,
            np.concatenate([*keys, np.empty(0, dtype=np.int64)]),
            np.cumsum([0, *(each.size for each in keys)]),
        )


def _tokens(table: Table, names: Sequence[str]) -> Integers:
    return np.column_stack([table.tokens[name] for name in names])


def _shown(records: Records, stable: Sequence[str]) -> tuple[Integers, Labels]:
    """Give the values and the groups of the visible records of an earlier release."""
    shown = records.rows[records.visible]
    return _tokens(records.table, stable)[shown], records.groups[records.visible]


@kernel
def values_left(
    groups: Labels,
    own: Labels,
    seen: Labels,
    starts: Integers,
    tuples: Integers,
    value_of: Integers,
    keys: Integers,
    ends: Integers,
) -> Integers:
    """Count the values that are left for each visible record; 0 if its own is not among them.

    ``tuples`` from ``starts[g]`` to ``starts[g + 1]`` are the different ones of new group g, in
    their order, and ``value_of`` is the value that is counted of each. The keys from ``ends[t]`` to
    ``ends[t + 1]`` are the sorted ``group * value_of.size + tuple`` of release t, in which
    ``seen[:, t]`` are the groups of the records.
    """
    counts = np.zeros(groups.size, dtype=np.int64)
    for i in range(groups.size):
        distinct, last, kept = 0, -1, False
        for entry in range(starts[groups[i]], starts[groups[i] + 1]):
            t, found = 0, True
            while found and t < seen.shape[1]:
                if seen[i, t] != ABSENT:
                    known = keys[ends[t] : ends[t + 1]]
                    key = seen[i, t] * value_of.size + tuples[entry]
                    place = np.searchsorted(known, key)
                    found = place < known.size and known[place] == key
                t += 1
            if found:
                distinct += last < 0 or value_of[tuples[entry]] != value_of[last]
                last = tuples[entry]
                kept |= last == own[i]
        if kept:
            counts[i] = distinct
    return counts


MEASURES = (
    Measure(
        name="l_across",
        title="values left across releases",
        kind="risk",
        unit="",
        better="higher",
        definition=(
            "Smallest number of values of a stable column that are left for a visible person who "
            "kept its value, if the values of its groups in all releases are intersected. Needs "
            "no links between records."
        ),
        paper="XT07",
        run=fewest_values,
        least=1.0,
    ),
)
