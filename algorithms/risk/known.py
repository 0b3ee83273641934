"""Attackers who know all columns that are counted into k, and more."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from algorithms.comparison import Comparison, Released
from algorithms.measure import Measure
from algorithms.risk.dld import squared_distances
from algorithms.table import Table, combinations
from algorithms.types import Labels, Matrix, units_per_group

CANDIDATES = 16
"""Nearest published groups that are compared exactly; more of them rarely tie."""


@dataclass(frozen=True)
class Exposure:
    """How many records stand out by a set of columns.

    Attributes
    ----------
    columns : tuple of str
        Columns that the attacker knows beside those that are counted into k; empty for none.
    unique : int
        Records whose combination of values occurs once.
    below : int
        Records whose combination of values occurs fewer than k times.
    """

    columns: tuple[str, ...]
    unique: int
    below: int


def exposures(table: Table, k: int) -> tuple[Exposure, ...]:
    """Count records that stand out if an attacker also knows confidential columns.

    Returns
    -------
    tuple of Exposure
        Without them, with each of them, and with all of them if there are several.
    """
    names = list(table.confidential)
    sets: list[tuple[str, ...]] = [(), *((name,) for name in names)]
    sets += [tuple(names)] if len(names) > 1 else []
    return tuple(exposure(table, columns, k) for columns in sets)


def exposure(table: Table, columns: tuple[str, ...], k: int) -> Exposure:
    """Count records that stand out by the columns counted into k and some confidential ones.

    Muted records show no confidential value by which they could.
    """
    codes = [table.confidential[name].values for name in columns]
    classes = combinations([table.classes, *codes])[~table.silent] if codes else table.classes
    sizes = np.bincount(classes)
    return Exposure(columns, int((sizes == 1).sum()), int(sizes[sizes < k].sum()))


def unchanged_exposures(table: Table, k: int) -> tuple[Exposure, ...]:
    """Count records that stand out by columns that are published unchanged, whatever is masked.

    Returns
    -------
    tuple of Exposure
        By strata and other columns together, by these with each confidential column, and with all
        confidential columns if there are several.
    """
    shared = {each.name: each.values for each in table.strata}
    shared |= {name: codes.values for name, codes in table.other.items()}
    names = list(table.confidential)
    sets: list[tuple[str, ...]] = [(), *((name,) for name in names)]
    sets += [tuple(names)] if len(names) > 1 else []
    found = []
    for added in sets:
        columns = {**shared, **{name: table.confidential[name].values for name in added}}
        if columns:
            sizes = np.bincount(combinations(list(columns.values())))
            unique, below = int((sizes == 1).sum()), int(sizes[sizes < k].sum())
            found.append(Exposure(tuple(columns), unique, below))
    return tuple(found)


def linked_by_known(files: Comparison) -> float:
    """Measure how many records an attacker links who knows all columns that are counted into k.

    For each original record, the attacker looks among the published records with the same strata,
    other columns and missing-value pattern that stays apart, takes those nearest by the key
    columns, and picks one of them at random.

    Returns
    -------
    float
        Expected share of records that are linked to their own published record, in per cent.
    """
    published = files.masked.published
    exact = [*(each.values for each in published.strata)]
    exact += [codes.values for codes in published.other.values()]
    cells = combinations(exact) if exact else np.zeros(len(published), dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    shares = np.zeros(len(published))
    for rows in np.split(order, np.cumsum(np.bincount(cells))[:-1]):
        shares[rows] = _linked(files.before[rows], files.after[rows])
    return float(100.0 * shares.mean())


def _linked(original: Matrix, published: Matrix) -> Matrix:
    """Give the chance that each original is linked to its own record."""
    # imported late: reading a spec must not wait for scipy
    from scipy.spatial import cKDTree

    points, of_record, counts = np.unique(
        published, axis=0, return_inverse=True, return_counts=True
    )
    own = squared_distances(original, published)
    count = min(CANDIDATES, len(points))
    _, near = cKDTree(points).query(original, k=np.arange(1, count + 1))
    squares = np.stack([squared_distances(original, points[column]) for column in near.T], axis=1)
    nearest = np.minimum(squares.min(axis=1), own)
    is_nearest = squares == nearest[:, np.newaxis]
    ties = (counts[near] * is_nearest).sum(axis=1)
    # the own point is one of the nearest, even where the tree left it out among many ties
    ties = np.maximum(ties, counts[of_record.reshape(-1)])
    chances: Matrix = np.where(own == nearest, 1.0 / ties, 0.0)
    return chances


def smallest_number_of_units(files: Comparison) -> float | None:
    """Count the units of the published combination that has the fewest; None without units."""
    units = files.original.units
    return None if units is None else float(units_per_group(files.classes, units).min())


def one_value(files: Released) -> float | None:
    """Give the share of records whose class has one value of a confidential column, in per cent.

    Muted records show no value, so that they neither share one nor keep others from sharing one.
    """
    shown = ~files.table.silent
    counts = [
        _alike(files.classes[shown], codes.values[shown])
        for codes in files.table.confidential.values()
    ]
    return 100.0 * (max(counts) / len(shown)) if counts else None


def _alike(classes: Labels, codes: Labels) -> int:
    pairs = np.unique(np.column_stack([classes, codes]), axis=0)
    values = np.bincount(pairs[:, 0])
    return int((values[classes] == 1).sum())


def _with_one(files: Released) -> Iterator[Exposure]:
    for name in files.table.confidential:
        yield files.once(_exposure, (name,))


def _with_all(files: Released) -> Exposure | None:
    names = tuple(files.table.confidential)
    return files.once(_exposure, names) if names else None


def _exposure(files: Released, columns: tuple[str, ...]) -> Exposure:
    return exposure(files.table, columns, files.k)


def _unique_with_one(files: Released) -> float | None:
    found = [each.unique for each in _with_one(files)]
    return 100.0 * max(found) / len(files.table) if found else None


def _below_with_one(files: Released) -> float | None:
    found = [each.below for each in _with_one(files)]
    return 100.0 * max(found) / len(files.table) if found else None


def _unique_with_all(files: Released) -> float | None:
    found = _with_all(files)
    return None if found is None else 100.0 * found.unique / len(files.table)


def _below_with_all(files: Released) -> float | None:
    found = _with_all(files)
    return None if found is None else 100.0 * found.below / len(files.table)


MEASURES = (
    Measure(
        name="k_units",
        title="k in units",
        kind="risk",
        unit="",
        better="higher",
        definition=(
            "Number of different persons, households or companies whose records share the rarest "
            "combination of published values that are counted into k."
        ),
        paper="SWE02",
        run=smallest_number_of_units,
        least=1.0,
    ),
    Measure(
        name="linked_known",
        title="linked by all known columns",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records linked to their own published record by an attacker who knows the "
            "original values of all columns that are counted into k: among published records with "
            "the same strata and other columns, one of the nearest is picked at random."
        ),
        paper="DT01",
        run=linked_by_known,
        most=100.0,
        over_k=True,
    ),
    Measure(
        name="unique_with_one",
        title="unique with one confidential column",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records that are unique if an attacker also knows one confidential column, "
            "for the column where that is most frequent."
        ),
        paper="SWE02",
        run=_unique_with_one,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="below_k_with_one",
        title="below k with one confidential column",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records with fewer than k alike if an attacker also knows one confidential "
            "column, for the column where that is most frequent."
        ),
        paper="SWE02",
        run=_below_with_one,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="unique_with_all",
        title="unique with all confidential columns",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records that are unique if an attacker also knows all confidential columns."
        ),
        paper="SWE02",
        run=_unique_with_all,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="below_k_with_all",
        title="below k with all confidential columns",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records with fewer than k alike if an attacker also knows all confidential "
            "columns."
        ),
        paper="SWE02",
        run=_below_with_all,
        needs_original=False,
        most=100.0,
    ),
    Measure(
        name="one_value",
        title="groups with one confidential value",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records whose group shares one value of a confidential column, which "
            "everyone who finds the group then knows, for the column where that is most frequent."
        ),
        paper="MKG07",
        run=one_value,
        needs_original=False,
        most=100.0,
    ),
)
