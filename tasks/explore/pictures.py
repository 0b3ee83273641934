"""The risk-utility map, and IL by k."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from algorithms.utility.bound_curve import BoundCurve
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, best, front, proven
from tasks.reporting.pictures import (
    DASHES,
    IL_LABEL,
    INK,
    K_LABEL,
    LINE,
    MARKERS,
    ROOM,
    SERIES,
    figure,
    out_of_reach,
    style,
    whole_numbers,
)

NAMED = len(SERIES)
"""Number of methods that get their own colour; more colours could not be distinguished."""

CLOSE = 0.05
"""Points closer than this share of the width and height of the axes share one label."""

CLOSEST = "best"
"""The method that shows how near to the bound one can get: it always has a colour of its own."""


@style()
def risk_utility_map(cells: Sequence[Cell], spec: ReleaseSpec) -> Figure:
    """Draw IL against DLD: a curve per method, the ceilings as a box, and the Pareto front."""
    drawing, axes = figure(820, 500)
    families = _families(cells)
    named = _worth_naming(families, cells)
    for family, points in families.items():
        _curve(axes, family, points, named)
    undominated = front(cells)
    axes.plot(
        [cell.measure("il") for cell in undominated],
        [cell.measure("dld") for cell in undominated],
        color=INK,
        linewidth=1.2,
        linestyle=(0, (1, 1.5)),
        zorder=2,
        label="front: no choice is better in both",
    )
    ceilings = spec.gate.ceilings
    if ceilings.il is not None and ceilings.dld is not None:
        _box(axes, ceilings.il, ceilings.dld)
    bound = proven(cells).get(spec.microaggregation.k)
    if bound is not None:
        axes.axvline(bound, color=INK, linewidth=1.0, linestyle="--", zorder=1)
        axes.annotate(
            f"no method can lose less\nat k = {spec.microaggregation.k}",
            (bound, 0.0),
            xytext=(3, 3),
            textcoords="offset points",
            color=INK,
            fontsize=8,
            va="bottom",
        )
    pick = best(cells)
    if pick is not None:
        axes.plot(
            [pick.measure("il")],
            [pick.measure("dld")],
            marker="o",
            markersize=13,
            fillstyle="none",
            markeredgecolor=INK,
            markeredgewidth=1.6,
            linestyle="none",
            label="recommended",
            zorder=5,
        )
    measured = [cell for cell in cells if cell.evaluation is not None]
    near = [cell for cell in measured if cell.family in named] or measured
    axes.set_xlim(0.0, _end(ceilings.il, [cell.measure("il") for cell in near]))
    axes.set_ylim(0.0, _end(ceilings.dld, [cell.measure("dld") for cell in near]))
    _label(axes, sorted(near, key=lambda cell: cell.measure("il")), named)
    axes.set_xlabel(IL_LABEL)
    axes.set_ylabel("DLD: records linked, %")
    drawing.legend(loc="outside right center")
    return drawing


@style()
def loss_by_k(cells: Sequence[Cell], spec: ReleaseSpec, curve: BoundCurve | None = None) -> Figure:
    """Draw IL against k: a curve per method, above what no method can reach.

    Parameters
    ----------
    cells : sequence of Cell
        The choices.
    spec : ReleaseSpec
        The spec, whose ceiling is drawn.
    curve : BoundCurve, optional
        The least possible IL by k; by default what the choices know of it.
    """
    drawing, axes = figure(820, 420)
    families = _families(cells)
    named = _worth_naming(families, cells)
    for family, points in families.items():
        _curve(axes, family, points, named, by_k=True)
    least = (curve.least if curve is not None else {}) or proven(cells)
    measured = [cell for cell in cells if cell.evaluation is not None]
    # around a single k, matplotlib would leave no whole number on the axis
    ks = [*(cell.choice.k for cell in measured), *least] or [spec.microaggregation.k]
    out_of_reach(axes, least, end=max(ks) + 0.5)
    ceiling = spec.gate.ceilings.il
    if ceiling is not None:
        axes.axhline(ceiling, color=INK, linewidth=1.2)
        axes.annotate(
            "ceiling",
            (0.0, ceiling),
            xycoords=("axes fraction", "data"),
            xytext=(4, 4),
            textcoords="offset points",
            color=INK,
            fontsize=8.5,
        )
    near = [cell for cell in measured if cell.family in named] or measured
    axes.set_ylim(0.0, _end(ceiling, [cell.measure("il") for cell in near]))
    axes.set_xlim(min(ks) - 0.5, max(ks) + 0.5)
    whole_numbers(axes)
    axes.set_xlabel(K_LABEL)
    axes.set_ylabel(IL_LABEL)
    if axes.get_legend_handles_labels()[0]:
        drawing.legend(loc="outside right center")
    return drawing


def _box(axes: Axes, il: float, dld: float) -> None:
    """Draw the ceilings."""
    corner = Rectangle((0.0, 0.0), il, dld, fill=False, edgecolor=INK, linewidth=1.2, zorder=1)
    axes.add_patch(corner)
    axes.annotate(
        "within the ceilings",
        (0.0, dld),
        xytext=(4, 4),
        textcoords="offset points",
        color=INK,
        fontsize=8.5,
    )


def _end(ceiling: float | None, values: Sequence[float]) -> float:
    """Leave room beyond the ceiling and all values; an axis of zeros only still has a length."""
    return ROOM * (max([ceiling or 0.0, *values]) or 1.0)


def _families(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    families: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.evaluation is not None:
            families[cell.family].append(cell)
    for points in families.values():
        points.sort(key=lambda cell: cell.choice.k)
    return families


def _worth_naming(families: dict[str, list[Cell]], cells: Sequence[Cell]) -> dict[str, int]:
    """Choose the methods that get a colour: those on the front, then those with the least loss.

    The method that comes closest to the bound takes the place of the last of them if it must.
    """
    on_front = list(dict.fromkeys(cell.family for cell in front(cells)))

    def mean_loss(family: str) -> float:
        points = families[family]
        return sum(cell.measure("il") / cell.choice.k for cell in points) / len(points)

    others = sorted((f for f in families if f not in on_front), key=mean_loss)
    chosen = [*on_front, *others][:NAMED]
    if CLOSEST in families and CLOSEST not in chosen:
        chosen[-1] = CLOSEST
    return {family: i for i, family in enumerate(chosen)}


def _curve(
    axes: Axes, family: str, points: list[Cell], named: dict[str, int], *, by_k: bool = False
) -> None:
    xs = [float(cell.choice.k) if by_k else cell.measure("il") for cell in points]
    ys = [cell.measure("il" if by_k else "dld") for cell in points]
    if family not in named:
        axes.plot(xs, ys, color=LINE, linewidth=0.8, marker=".", markersize=3, zorder=0)
        return
    colour, marker = SERIES[named[family]], MARKERS[named[family]]
    width, size, layer = (2.2, 6, 4) if family == CLOSEST else (1.4, 5, 3)
    axes.plot(
        xs,
        ys,
        color=colour,
        linewidth=0.0 if by_k else width,
        marker=marker,
        markersize=size,
        label=family,
        zorder=layer,
    )
    if by_k:
        for (first, start), (last, end) in pairwise(zip(xs, ys, strict=True)):
            # between points that are apart, a straight line may enter what no method can reach
            adjacent = last - first <= 1.0
            axes.plot(
                [first, last],
                [start, end],
                color=colour,
                linewidth=width if adjacent else 1.0,
                linestyle=DASHES[0] if adjacent else DASHES[2],
                zorder=layer,
            )


def _label(axes: Axes, cells: Sequence[Cell], named: dict[str, int]) -> None:
    """Write k beside each point, once if several points with the same k are close together."""
    width, height = axes.get_xlim()[1], axes.get_ylim()[1]
    placed: list[tuple[int, float, float]] = []
    for cell in cells:
        k, x, y = cell.choice.k, cell.measure("il") / width, cell.measure("dld") / height
        is_labelled = any(
            other == k and abs(x - a) < CLOSE and abs(y - b) < CLOSE for other, a, b in placed
        )
        if cell.family in named and not is_labelled:
            placed.append((k, x, y))
            axes.annotate(
                str(k),
                (cell.measure("il"), cell.measure("dld")),
                xytext=(5, 5),
                textcoords="offset points",
                fontsize=8,
                color=INK,
            )
