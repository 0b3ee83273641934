"""Small series of releases, for tests."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from algorithms.comparison import Comparison
from algorithms.history import History, Past
from algorithms.masked import Grouping, Masked
from algorithms.table import Table
from algorithms.types import Partition
from tests.tables import table_of


def past_of(
    persons: Sequence[int],
    groups: Sequence[int],
    muted: Sequence[int] = (),
    original: Table | None = None,
) -> Past:
    """Write down an earlier release; ``muted`` are persons."""
    everybody = np.array(persons, dtype=np.int64)
    visible = ~np.isin(everybody, np.array(muted, dtype=np.int64))
    return Past("2026-Q1", 2, everybody, np.array(groups, dtype=np.int64), visible, original)


def release_of(
    groups: Sequence[int],
    history: History | None,
    k: int = 2,
    muted: Sequence[int] = (),
    table: Table | None = None,
) -> Comparison:
    """Release persons 0, 1, ... in given groups; without a table, of one key column."""
    n = len(groups)
    if table is None:
        table = replace(table_of([np.arange(n)]), persons=np.arange(n))
    mask = np.isin(np.arange(n), np.array(muted, dtype=np.int64))
    published = replace(table, persons=None, units=None).mute(mask)
    grouping = Grouping((0,), Partition(np.array(groups), 1), muted=mask)
    return Comparison(Masked(published, (grouping,), k, table.embedding.x, table), history)


def random_past(rng: np.random.Generator, persons: int) -> Past:
    """Draw a release of some of the persons, in groups of some two to six, some of them muted."""
    there = rng.permutation(persons)[: rng.integers(0, persons + 1)]
    drawn = rng.integers(0, max(len(there) // 4, 1), len(there))
    groups = np.unique(drawn, return_inverse=True)[1].reshape(-1)
    return past_of(there.tolist(), groups.tolist(), rng.integers(0, persons, persons // 5).tolist())


def random_release(rng: np.random.Generator, window: int | None = None) -> Comparison:
    """Draw a release of persons 0, 1, ... after some others with more persons."""
    n = int(rng.integers(1, 40))
    past = tuple(random_past(rng, n + 5) for _ in range(rng.integers(0, 5)))
    if past and rng.random() < 0.5:
        past = (*past[:-1], _almost(past[-1], rng))
    groups = rng.integers(0, max(n // 6, 1), n)
    if past:
        # groups that last, as far as persons are there
        before, _ = History(past[-1:]).groups_of(np.arange(n))
        groups = np.where(rng.random(n) < 0.9, before[:, 0] + 1, groups)
    labels = np.unique(groups, return_inverse=True)[1].reshape(-1)
    muted = rng.integers(0, n, n // 6).tolist()
    return release_of(labels.tolist(), History(past, window), k=3, muted=muted)


def _almost(past: Past, rng: np.random.Generator) -> Past:
    """Leave out a person or two."""
    kept = np.sort(rng.permutation(len(past.persons))[: max(len(past.persons) - 2, 0)])
    groups = np.unique(past.groups[kept], return_inverse=True)[1].reshape(-1)
    return replace(past, persons=past.persons[kept], groups=groups, visible=past.visible[kept])
