"""Candidates across releases: the persons who may be behind a record if releases are compared.

An attacker knows the key values of a person in every release, knows that the person is in them,
and recognises the person's visible records from release to release. Candidates are the persons
who were visible in the same group as that person in all releases in which the person was visible
[GKS08]_. If links are measured, only releases into which a record can be followed are compared.

A person who is not in the new release keeps the candidates that it had, so only persons in the new
release need to be counted, and only within their new groups.
"""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.history import ABSENT, History
from algorithms.jit import kernel
from algorithms.measure import Measure, Omitted
from algorithms.risk.links import linked_releases
from algorithms.types import Integers, Labels, Mask

_NOT_SEEN = ABSENT - 1
"""Stands for the group of a person whom an attacker knows to be absent or muted."""


def seen_groups(history: History, groups: Labels, visible: Mask) -> Labels:
    """Keep the groups in which persons were visible, in the releases within the window.

    Parameters
    ----------
    history : History
        The earlier releases.
    groups, visible : Labels and Mask of shape (n, m)
        Group of each person in each of them, and whether it was visible, as
        `History.groups_of` gives them.

    Returns
    -------
    Labels of shape (n, number of releases within the window)
        `ABSENT` where a person was absent or muted.
    """
    first = len(history.past) - len(history.within_window)
    return np.where(visible[:, first:], groups[:, first:], ABSENT)


def count_candidates(
    groups: Labels, visible: Mask, seen: Labels, units: Labels, known: Labels | None = None
) -> Integers:
    """Count the candidates of each visible record.

    Parameters
    ----------
    groups : Labels of shape (n,)
        Group of each record in the new release.
    visible : Mask of shape (n,)
        Whether a record is visible in the new release.
    seen : Labels of shape (n, m)
        Group in which the person of each record was visible in each earlier release; `ABSENT`
        where it was not.
    units : Labels of shape (n,)
        What is counted: the person, household or company of each record, as an arbitrary number.
    known : Labels of shape (n, m), optional
        The part of ``seen`` that an attacker can use against the person of a record; `ABSENT`
        elsewhere. By default all of it.

    Returns
    -------
    Integers of shape (n,)
        Number of different units among the candidates of each record; 0 if it is muted.

    Examples
    --------
    >>> together, seen = np.zeros(4, dtype=np.int64), np.array([[0], [0], [1], [ABSENT]])
    >>> count_candidates(together, np.ones(4, dtype=bool), seen, np.arange(4))
    array([2, 2, 1, 4])
    """
    rows = np.flatnonzero(visible)
    rows = rows[np.lexsort((units[rows], groups[rows]))]
    own = seen[rows]
    counts = np.zeros(len(groups), dtype=np.int64)
    counts[rows] = count_sorted(
        groups[rows], own, own if known is None else known[rows], units[rows]
    )
    return counts


@kernel
def count_sorted(groups: Labels, seen: Labels, known: Labels, units: Labels) -> Integers:
    """Count the candidates of visible records that are sorted by group and, within it, by unit."""
    n, m = seen.shape
    counts = np.zeros(n, dtype=np.int64)
    start = 0
    while start < n:
        end = start
        while end < n and groups[end] == groups[start]:
            end += 1
        for i in range(start, end):
            counted = -1
            for j in range(start, end):
                if counted >= 0 and units[j] == units[counted]:
                    continue
                t = 0
                while t < m and (known[i, t] == ABSENT or known[i, t] == seen[j, t]):
                    t += 1
                if t == m:
                    counted = j
                    counts[i] += 1
        start = end
    return counts


def candidates(files: Comparison) -> Integers | None:
    """Count the candidates of each visible record, once; None if releases are not compared."""
    return files.once(_candidates)


def _candidates(files: Comparison) -> Integers | None:
    seen = files.once(_seen)
    return None if seen is None else _counted(files, seen)


def _seen(files: Comparison) -> Labels | None:
    if files.history is None or files.earlier is None:
        return None
    return seen_groups(files.history, *files.earlier)


def _counted(files: Comparison, seen: Labels) -> Integers:
    """Count the candidates of visible records only."""
    table, masked = files.original, files.masked
    units = table.persons if table.units is None else table.units
    assert units is not None
    return count_candidates(masked.groups, masked.visible, seen, units, _followed(files, seen))[
        masked.visible
    ]


def _followed(files: Comparison, seen: Labels) -> Labels | None:
    """Keep the groups of releases into which records can be followed; None for all."""
    history = files.history
    if history is None or history.links == "perfect":
        return None
    return np.where(files.once(linked_releases, history), seen, ABSENT)


def _share(marks: Mask) -> float:
    """Give the share of visible records that are marked, in per cent; 0 if all are muted."""
    return 100.0 * float(marks.mean()) if marks.size else 0.0


def fewest_candidates(files: Comparison) -> float | Omitted | None:
    """Count the candidates of the visible record that has the fewest."""
    counts = candidates(files)
    if counts is None:
        return None
    return float(counts.min()) if counts.size else Omitted("every record is muted")


def under_k(files: Comparison) -> float | None:
    """Give the share of visible records with fewer than k candidates, in per cent."""
    counts = candidates(files)
    return None if counts is None else _share(counts < files.k)


def singled_out(files: Comparison) -> float | None:
    """Give the share of visible records with one candidate, in per cent."""
    counts = candidates(files)
    return None if counts is None else _share(counts == 1)


def exactly_singled_out(files: Comparison) -> float | None:
    """Give the share of records that remain if absences are known, too, in per cent."""
    seen = files.once(_seen)
    if seen is None:
        return None
    return _share(_counted(files, np.where(seen == ABSENT, _NOT_SEEN, seen)) == 1)


def muted_share(files: Comparison) -> float | None:
    """Give the share of muted records, in per cent."""
    return None if files.history is None else 100.0 * float((~files.masked.visible).mean())


MEASURES = (
    Measure(
        name="candidates_min",
        title="fewest candidates across releases",
        kind="risk",
        unit="",
        better="higher",
        definition=(
            "Smallest number of candidates of a visible record if releases are compared: the "
            "persons who were visible in the same group as its person in all releases in which "
            "its person was visible; within the window, and where records can be followed if "
            "links are measured. Units are counted instead if the spec names a unit."
        ),
        paper="GKS08",
        run=fewest_candidates,
        least=1.0,
    ),
    Measure(
        name="under_k_across",
        title="below k across releases",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of visible records with fewer than k candidates if all releases are compared."
        ),
        paper="GKS08",
        run=under_k,
        most=100.0,
    ),
    Measure(
        name="singled_out",
        title="singled out across releases",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of visible records with one candidate, the person itself, if all releases are "
            "compared."
        ),
        paper="GKS08",
        run=singled_out,
        most=100.0,
    ),
    Measure(
        name="exact_singled_out",
        title="singled out by known absences",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of visible records that are singled out by an attacker who also knows of "
            "everybody in which releases they are absent or muted. No grouping prevents this where "
            "persons come and go, so it is for information."
        ),
        paper="XT07",
        run=exactly_singled_out,
        most=100.0,
    ),
    Measure(
        name="muted",
        title="muted",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records whose confidential and other columns are empty, because comparing "
            "releases would leave fewer than k candidates."
        ),
        paper="SWE02",
        run=muted_share,
        most=100.0,
    ),
)
