"""Data for pictures of a table before and after masking: averages over at least k records."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from algorithms.attributes import is_missing
from algorithms.comparison import Files
from algorithms.risk.known import Exposure, exposures
from algorithms.search.linkage import distance_linkage
from algorithms.types import Labels, Matrix
from algorithms.utility.structure import correlations, covariances

MOST_BLOCKS, FEWEST_BLOCKS = 100, 5
GRID = 160
"""Number of points on a curve."""

NARROWEST = 50
"""Range of an axis divided by the smallest width of a kernel."""

BUNCHED = 0.1
"""An axis is stretched if the middle half of the records covers a smaller share of it."""

MOST_LINKED = 10_000
"""Largest number of records for the linkage by columns; longer tables are sampled."""

LINKAGE_SEED = 1


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """A column before and after masking, without any single value.

    Attributes
    ----------
    name : str
        Name of the column.
    shares : Matrix of shape (m,)
        Share of all records below the middle of each block of sorted records.
    before, after : Matrix of shape (m,)
        Average original and published value of each block.
    grid : Matrix of shape (g,)
        Values from the average of the first to that of the last block, in the column's own unit.
    density_before, density_after : Matrix of shape (g,)
        Density of records at these values, as drawn on the axis.
    stretch : float or None
        Value at which the axis changes from linear to logarithmic; None for a linear axis.
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
        """Whether there is a curve: there are enough records, and they differ enough."""
        return self.grid.size > 0


@dataclass(frozen=True)
class Margin:
    """The total of one label before and after; None where it stands for fewer than k records."""

    label: str
    before: int | None
    after: int


@dataclass(frozen=True)
class LabelProfile:
    """A column of labels or codes before and after masking.

    Attributes
    ----------
    name : str
        Name of the column.
    margins : tuple of Margin
        Labels that stand for at least k original records, the most frequent first, and labels
        that are published.
    rare_labels, rare_records : int
        Original labels that stand for fewer than k records, and their records.
    error : float
        Share of records whose published label is not theirs, in per cent.
    """

    name: str
    margins: tuple[Margin, ...]
    rare_labels: int
    rare_records: int
    error: float


@dataclass(frozen=True)
class ColumnLinkage:
    """DLD in per cent, by one column alone and by all others; None if there are no others."""

    name: str
    alone: float
    without: float | None


@dataclass(frozen=True)
class StrataProfile:
    """Sets of records that no group crosses.

    Attributes
    ----------
    count, smallest, largest : int
        Number of strata, and records of the smallest and the largest.
    il : tuple of float
        Smallest, median and largest IL of a stratum, each relative to the spread of all records.
    withheld, merged : int
        Records that are left out, and records whose stratum is published as a wider one.
    """

    count: int
    smallest: int
    largest: int
    il: tuple[float, ...]
    withheld: int
    merged: int


@dataclass(frozen=True, eq=False)
class Profile:
    """The summary of originals that a report may draw.

    Attributes
    ----------
    k : int
        Smallest number of records behind any figure.
    columns : tuple of ColumnProfile
        One per quasi-identifier that has a number line.
    correlations_before, correlations_after : Matrix of shape (d, d)
        Correlations between these columns.
    linkage : tuple of ColumnLinkage
        One per quasi-identifier.
    linkage_all : float
        DLD by all columns, on the same records.
    linkage_note : str
        How the linkage was measured, if not on all records; otherwise empty.
    labels : tuple of LabelProfile
        One per quasi-identifier that holds labels or codes.
    exposures : tuple of Exposure
        Records that stand out by the columns counted into k, and with confidential columns.
    strata : StrataProfile, optional
        Sizes and losses of strata; None if groups may cross the whole table.
    """

    k: int
    columns: tuple[ColumnProfile, ...]
    correlations_before: Matrix
    correlations_after: Matrix
    linkage: tuple[ColumnLinkage, ...]
    linkage_all: float
    linkage_note: str
    labels: tuple[LabelProfile, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    strata: StrataProfile | None = None


def profile(files: Files) -> Profile:
    """Summarise a table before and after masking so that pictures reveal no record.

    The k - 1 smallest and the k - 1 largest values of each column are left out. The sorted rest is
    cut into disjoint blocks of at least k records, and only the averages of blocks are used:
    quantiles, ranges, widths and densities are all computed from them.

    Parameters
    ----------
    files : Files
        Records before and after.

    Examples
    --------
    >>> x = np.arange(100.0)
    >>> column = profile(compare([x], [x], k=10)).columns[0]
    >>> column.before.round(1)
    array([13.5, 23.5, 33.5, 44. , 54.5, 64.5, 74.5, 85. ])
    """
    rows, note = _sample(files)
    before, after = files.some(rows)
    attributes = files.original.attributes
    correlations_before, correlations_after = map(correlations, covariances(files))
    return Profile(
        k=files.k,
        columns=tuple(
            _column(attribute.name, *files.numbers(j), files.k)
            for j, attribute in enumerate(attributes)
            if attribute.has_line
        ),
        correlations_before=correlations_before,
        correlations_after=correlations_after,
        linkage=tuple(
            _linkage(attribute.name, place, before, after)
            for attribute, place in zip(attributes, files.places, strict=True)
        ),
        linkage_all=distance_linkage(before, after).expected,
        linkage_note=note,
        labels=tuple(
            _labels(files, j) for j, attribute in enumerate(attributes) if not attribute.has_line
        ),
        exposures=exposures(files.released),
        strata=_strata(files),
    )


def _labels(files: Files, j: int) -> LabelProfile:
    attribute, k = files.original.attributes[j], files.k
    before, after = files.original.keys[j], files.published.keys[j]
    codes = np.unique(np.concatenate([before, after]))
    totals, published = (
        np.bincount(np.searchsorted(codes, column), minlength=codes.size)
        for column in (before, after)
    )
    names = np.where(is_missing(codes), "(missing)", attribute.write(codes))
    margins = [
        Margin(str(name), int(total) if total >= k or total == 0 else None, int(count))
        for name, total, count in zip(names, totals, published, strict=True)
        if total >= k or count
    ]
    margins.sort(key=lambda margin: (-max(margin.before or 0, margin.after), margin.label))
    rare = (totals > 0) & (totals < k)
    return LabelProfile(
        name=attribute.name,
        margins=tuple(margins),
        rare_labels=int(rare.sum()),
        rare_records=int(totals[rare].sum()),
        error=float(100.0 * (before != after).mean()),
    )


def _strata(files: Files) -> StrataProfile | None:
    sets = files.sets
    if sets is None:
        return None
    sizes = np.bincount(sets)
    # of all records alike, whatever their weights
    centre = files.centre if files.original.weights is None else files.original.embedding.centre
    squares, spread = np.empty(files.rows), 0.0
    start = 0
    for chunk in files.chunks():
        end = start + len(chunk.before)
        squares[start:end] = ((chunk.before - chunk.after) ** 2).sum(axis=1)
        spread += float(((chunk.before - centre) ** 2).sum())
        start = end
    losses = np.bincount(sets, weights=squares) / sizes
    quantiles = np.quantile(100.0 * losses / (spread / files.rows or 1.0), [0.0, 0.5, 1.0])
    withheld = 0 if files.withheld is None else len(files.withheld)
    return StrataProfile(
        count=sizes.size,
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        il=tuple(map(float, quantiles)),
        withheld=withheld,
        merged=files.merged,
    )


def _column(name: str, original: Matrix, published: Matrix, k: int) -> ColumnProfile:
    count = min(_blocks(len(original), k).size, _blocks(len(published), k).size) - 1
    starts, published_starts = (_blocks(len(column), k, count) for column in (original, published))
    middles = (starts[:-1] + starts[1:]) / (2.0 * max(len(original), 1))
    before, after = _averages(original, starts), _averages(published, published_starts)
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


def _blocks(n: int, k: int, most: int = MOST_BLOCKS) -> Labels:
    """Cut all but k - 1 sorted records at either end into blocks; give their starts and the end.

    Only the end if there are too few records for a picture.
    """
    count = min((n - 2 * (k - 1)) // k, most)
    if count < FEWEST_BLOCKS:
        return np.array([n - k + 1])
    starts: Labels = k - 1 + np.arange(count + 1) * (n - 2 * (k - 1)) // count
    return starts


def _averages(column: Matrix, starts: Labels) -> Matrix:
    ordered = np.sort(column)
    blocks = [ordered[start:end] for start, end in pairwise(starts)]
    # differences are averaged, so that a block of equal values gives that value to the last digit
    return np.array([block[0] + (block - block[0]).mean() for block in blocks])


def _varies(averages: Matrix) -> bool:
    """Check whether averages differ by more than rounding errors."""
    largest = max(1e-12 * float(np.abs(averages).max()), 1e-290)
    return bool(averages[-1] - averages[0] > largest)


def _stretch(averages: Matrix) -> float | None:
    """Choose a power of ten below most values, if they would be crowded on a linear axis."""
    low, high = np.quantile(averages, [0.25, 0.75])
    if high - low >= BUNCHED * (averages[-1] - averages[0]):
        return None
    size = np.median(np.abs(averages[averages != 0.0])) / 10.0
    return float(10.0 ** np.floor(np.log10(size)))


def _stretched(values: Matrix, stretch: float | None) -> Matrix:
    on_axis: Matrix = values if stretch is None else np.arcsinh(values / stretch)
    return on_axis


def _width(averages: Matrix, n: int) -> float:
    """Choose the width of a kernel by the normal reference rule, but not below a minimum."""
    low, high = np.quantile(averages, [0.25, 0.75])
    spread = min(float(averages.std()), float(high - low) / 1.34) or float(averages.std())
    return max(1.06 * spread * math.pow(n, -0.2), float(averages[-1] - averages[0]) / NARROWEST)


def _density(averages: Matrix, places: Matrix, width: float) -> Matrix:
    """Spread each average over the axis, at least as far as its neighbours.

    Averages beyond the axis are not drawn.
    """
    gaps = np.gradient(averages)
    inside = (averages >= places[0]) & (averages <= places[-1])
    widths = np.maximum(gaps, width)[inside]
    away = (places[:, np.newaxis] - averages[inside]) / widths
    kernels = np.exp(-0.5 * away**2)
    # the mass that a kernel would put beyond an end stays on the axis
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


def _sample(files: Files) -> tuple[Labels, str]:
    """Select all records, or whole classes drawn at random."""
    n = files.rows
    if n <= MOST_LINKED:
        return np.arange(n), ""
    drawn = np.random.default_rng(LINKAGE_SEED).permutation(files.sizes.size)
    count = max(int(np.searchsorted(np.cumsum(files.sizes[drawn]), MOST_LINKED, "right")), 1)
    rows = np.flatnonzero(np.isin(files.classes, drawn[:count]))
    return rows, (
        f"measured on {len(rows)} of {n} records, in whole groups drawn at random; linking is "
        "easier in a sample, so compare columns only with each other"
    )
