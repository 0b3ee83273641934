"""Pictures of a table before and after masking, in averages over at least k records."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from algorithms.comparison import Comparison
from algorithms.risk.dld import distance_linkage
from algorithms.types import Labels, Matrix
from algorithms.utility.structure import correlations

MOST_BLOCKS, FEWEST_BLOCKS = 100, 5
GRID = 160
"""Points of a curve."""

NARROWEST = 50
"""The range of an axis over the least width of a kernel."""

BUNCHED = 0.1
"""Share of an axis on which the middle half of the records may not lie; else it is stretched."""

LARGEST = 10_000
"""Records up to which the linkage by columns is measured on all."""

SEED = 1


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """A column before and after, without any of its single values.

    Attributes
    ----------
    name : str
        Of the column.
    shares : Matrix of shape (m,)
        Share of all records below the middle of each block of sorted records.
    before, after : Matrix of shape (m,)
        Average original and published value of each block.
    grid : Matrix of shape (g,)
        Values from the average of the first to that of the last block, in the column's own unit.
    density_before, density_after : Matrix of shape (g,)
        How densely records lie there, as drawn on the axis.
    stretch : float or None
        Where the axis turns from linear to logarithmic; none for a linear axis.
    """

    name: str
    shares: Matrix
    before: Matrix
    after: Matrix
    grid: Matrix
    density_before: Matrix
    density_after: Matrix
    stretch: float | None

    @property
    def drawn(self) -> bool:
        """Whether there is a curve: the records are many enough and differ enough."""
        return self.grid.size > 0


@dataclass(frozen=True)
class ColumnLinkage:
    """DLD in per cent, by one column alone and by all others; none if there are no others."""

    name: str
    alone: float
    without: float | None


@dataclass(frozen=True, eq=False)
class Profile:
    """What may be drawn of originals.

    Attributes
    ----------
    k : int
        Fewest records behind any figure.
    columns : tuple of ColumnProfile
        One per quasi-identifier that has a number line.
    correlations_before, correlations_after : Matrix of shape (d, d)
        Between these.
    linkage : tuple of ColumnLinkage
        One per quasi-identifier.
    linkage_all : float
        DLD by all columns, on the same records.
    linkage_note : str
        How the linkage was found if not on all records; else empty.
    """

    k: int
    columns: tuple[ColumnProfile, ...]
    correlations_before: Matrix
    correlations_after: Matrix
    linkage: tuple[ColumnLinkage, ...]
    linkage_all: float
    linkage_note: str


def profile(files: Comparison) -> Profile:
    """Summarise a table before and after masking so that no record can be read off.

    Of each sorted column the k - 1 smallest and the k - 1 largest values are left out. The rest is
    cut into disjoint blocks of at least k records, and only their averages go on: quantiles,
    ranges, widths and densities are all computed from these.

    Parameters
    ----------
    files : Comparison
        Records before and after.

    Examples
    --------
    >>> x = np.arange(100.0)
    >>> column = profile(compare([x], [x], k=10)).columns[0]
    >>> column.before.round(1)
    array([13.5, 23.5, 33.5, 44. , 54.5, 64.5, 74.5, 85. ])
    """
    rows, note = _sample(files)
    before, after = files.before[rows], files.after[rows]
    attributes, places = files.original.attributes, files.original.embedding.places
    lines = _on_number_lines(files)
    coordinates = [i for j in lines for i in range(places[j].start, places[j].stop)]
    return Profile(
        k=files.k,
        columns=tuple(
            _column(attributes[j].name, original, published, files.k)
            for j, (original, published) in lines.items()
        ),
        correlations_before=correlations(files.before[:, coordinates]),
        correlations_after=correlations(files.after[:, coordinates]),
        linkage=tuple(
            _linkage(attribute.name, place, before, after)
            for attribute, place in zip(attributes, places, strict=True)
        ),
        linkage_all=distance_linkage(before, after).expected,
        linkage_note=note,
    )


def _on_number_lines(files: Comparison) -> dict[int, tuple[Matrix, Matrix]]:
    """Take the columns that have a number line, by position, before and after."""
    columns = {}
    for j, attribute in enumerate(files.original.attributes):
        before = attribute.numbers(files.original.keys[j])
        after = attribute.numbers(files.masked.published.keys[j])
        if before is not None and after is not None:
            columns[j] = before, after
    return columns


def _column(name: str, original: Matrix, published: Matrix, k: int) -> ColumnProfile:
    starts = _blocks(len(original), k)
    middles = (starts[:-1] + starts[1:]) / (2.0 * len(original))
    before, after = (_averages(column, starts) for column in (original, published))
    if len(middles) == 0 or not _varies(before):
        nothing = np.empty(0)
        return ColumnProfile(name, middles, before, after, nothing, nothing, nothing, None)
    stretch = _stretch(before)
    on_axis, after_on_axis = (_stretched(values, stretch) for values in (before, after))
    places = np.linspace(on_axis[0], on_axis[-1], GRID)
    width = _width(on_axis, len(original))
    return ColumnProfile(
        name=name,
        shares=middles,
        before=before,
        after=after,
        grid=places if stretch is None else stretch * np.sinh(places),
        density_before=_density(on_axis, places, width),
        density_after=_density(after_on_axis, places, width),
        stretch=stretch,
    )


def _blocks(n: int, k: int) -> Labels:
    """Cut all but k - 1 sorted records at either end into blocks: where each starts, and the end.

    Empty, save the end, if there are too few records for a picture.
    """
    count = min((n - 2 * (k - 1)) // k, MOST_BLOCKS)
    if count < FEWEST_BLOCKS:
        return np.array([n - k + 1])
    starts: Labels = k - 1 + np.arange(count + 1) * (n - 2 * (k - 1)) // count
    return starts


def _averages(column: Matrix, starts: Labels) -> Matrix:
    ordered = np.sort(column)
    blocks = [ordered[start:end] for start, end in pairwise(starts)]
    # averages of differences: a block of equal values gives that value, to the last digit
    return np.array([block[0] + (block - block[0]).mean() for block in blocks])


def _varies(averages: Matrix) -> bool:
    """Tell whether averages differ by more than their last digits."""
    largest = max(1e-12 * float(np.abs(averages).max()), 1e-290)
    return bool(averages[-1] - averages[0] > largest)


def _stretch(averages: Matrix) -> float | None:
    """Choose a power of ten below most values, if on a linear axis they would lie on a heap."""
    low, high = np.quantile(averages, [0.25, 0.75])
    if high - low >= BUNCHED * (averages[-1] - averages[0]):
        return None
    size = np.median(np.abs(averages[averages != 0.0])) / 10.0
    return float(10.0 ** np.floor(np.log10(size)))


def _stretched(values: Matrix, stretch: float | None) -> Matrix:
    on_axis: Matrix = values if stretch is None else np.arcsinh(values / stretch)
    return on_axis


def _width(averages: Matrix, n: int) -> float:
    """Choose the width of a kernel by the normal rule, and never a narrow one."""
    low, high = np.quantile(averages, [0.25, 0.75])
    spread = min(float(averages.std()), float(high - low) / 1.34) or float(averages.std())
    return max(1.06 * spread * math.pow(n, -0.2), float(averages[-1] - averages[0]) / NARROWEST)


def _density(averages: Matrix, places: Matrix, width: float) -> Matrix:
    """Spread each average over the axis, at least as far as to its neighbours.

    What lies beyond the axis is not drawn.
    """
    gaps = np.gradient(averages)
    inside = (averages >= places[0]) & (averages <= places[-1])
    widths = np.maximum(gaps, width)[inside]
    away = (places[:, np.newaxis] - averages[inside]) / widths
    kernels = np.exp(-0.5 * away**2)
    # what a kernel would put beyond an end stays within
    density: Matrix = (kernels / (kernels.sum(axis=0) * (places[1] - places[0]))).sum(axis=1)
    return density / len(averages)


def _linkage(name: str, place: slice, before: Matrix, after: Matrix) -> ColumnLinkage:
    every = np.arange(before.shape[1])
    own, others = every[place], np.delete(every, place)
    return ColumnLinkage(
        name=name,
        alone=distance_linkage(before[:, own], after[:, own]).expected,
        without=distance_linkage(before[:, others], after[:, others]).expected
        if others.size
        else None,
    )


def _sample(files: Comparison) -> tuple[Labels, str]:
    """Take all records, or whole classes drawn at random."""
    n = len(files.original)
    if n <= LARGEST:
        return np.arange(n), ""
    drawn = np.random.default_rng(SEED).permutation(files.sizes.size)
    count = max(int(np.searchsorted(np.cumsum(files.sizes[drawn]), LARGEST, "right")), 1)
    rows = np.flatnonzero(np.isin(files.classes, drawn[:count]))
    return rows, (
        f"measured on {len(rows)} of {n} records, in whole groups drawn at random; an attacker has "
        "it easier in a sample, so compare columns with each other only"
    )
