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
        values = combinations([self._columns[:, column]])
        tuples = combinations([self._columns[:, j] for j in together])
        first = int(self._ends[0])
        entries = np.unique(
            np.column_stack([self._groups[:first], values[:first], tuples[:first]]), axis=0
        )
        starts = np.searchsorted(entries[:, 0], np.arange(entries[-1, 0] + 2))
        count = int(tuples.max()) + 1
        keys = [
            np.unique(groups * count + own)
            for groups, own in zip(
                np.split(self._groups, self._ends[:-1])[1:],
                np.split(tuples, self._ends[:-1])[1:],
                strict=True,
            )
        ]
        return values_left(
            self._groups[:first],
            tuples[:first],
            seen,
            starts,
            entries,
            np.concatenate([*keys, np.empty(0, dtype=np.int64)]),
            np.cumsum([0, *(each.size for each in keys)]),
            count,
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
    entries: Integers,
    keys: Integers,
    ends: Integers,
    count: int,
) -> Integers:
    """Count the values that are left for each visible record; 0 if its own is not among them.

    ``entries`` are the different (group, value, tuple) of the new release in their order, and
    ``starts`` says where each group starts. The keys between ``ends[t]`` and ``ends[t + 1]`` are
    the sorted ``group * count + tuple`` of release t, in which ``seen[:, t]`` are the groups of the
    records.
    """
    counts = np.zeros(groups.size, dtype=np.int64)
    for i in range(groups.size):
        distinct, last, kept = 0, ABSENT, False
        for entry in range(starts[groups[i]], starts[groups[i] + 1]):
            t, found = 0, True
            while found and t < seen.shape[1]:
                if seen[i, t] != ABSENT:
                    own_keys = keys[ends[t] : ends[t + 1]]
                    key = seen[i, t] * count + entries[entry, 2]
                    place = np.searchsorted(own_keys, key)
                    found = place < own_keys.size and own_keys[place] == key
                t += 1
            if found:
                distinct += entries[entry, 1] != last
                last = entries[entry, 1]
                kept |= entries[entry, 2] == own[i]
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
