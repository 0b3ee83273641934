"""The register as a page: every release and every attempt, and how each ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.reporting.page import render
from tasks.reporting.pictures import INK, MARKERS, SERIES, Svg, as_svg, figure, style
from tasks.store.audit import Audit
from tasks.store.history import MOST_PERIODS, Past, by_period, latest
from tasks.store.register import PUBLISHED


@dataclass(frozen=True)
class Dataset:
    """Everything that the page shows of one dataset.

    Attributes
    ----------
    name : str
        Its name.
    picture : Svg, optional
        IL and DLD by period; None if nothing was measured.
    attempts : tuple of Past
        All attempts, the latest period first.
    specs : dict of (str, str) to list of Past
        Name and SHA-256 of each reviewed spec, and the attempts that used it.
    """

    name: str
    picture: Svg | None
    attempts: tuple[Past, ...]
    specs: dict[tuple[str, str], list[Past]]


def register_page(found: Mapping[Path, tuple[Audit, Sequence[Past]]]) -> str:
    """Write one page of several registers, each with its audit and its attempts."""
    attempts = [past for _, pasts in found.values() for past in pasts]
    names = sorted({past.dataset for past in attempts})
    return render(
        "register.html",
        datasets=[_dataset(name, attempts) for name in names],
        attempts=attempts,
        published=[past for past in attempts if past.decision == PUBLISHED],
        audits={folder: audit for folder, (audit, _) in found.items()},
        faults=[fault for audit, _ in found.values() for fault in audit.faults],
    )


def _dataset(name: str, attempts: Sequence[Past]) -> Dataset:
    own = [past for past in attempts if past.dataset == name]
    measured = latest(own, name)
    specs: dict[tuple[str, str], list[Past]] = {}
    for past in own:
        if past.spec_file:
            specs.setdefault((past.spec_file, past.spec_sha256), []).append(past)
    return Dataset(
        name=name,
        picture=as_svg(over_time(measured), f"IL and DLD of {name} over time")
        if measured
        else None,
        attempts=tuple(sorted(own, key=by_period, reverse=True)),
        specs=specs,
    )


@style()
def over_time(pasts: Sequence[Past]) -> Figure:
    """Draw IL and DLD by period, with their ceilings as steps."""
    shown = list(pasts)[-MOST_PERIODS:]
    published = [past.decision in (PUBLISHED, "unchanged") for past in shown]
    drawing, axes = figure(640, 260)
    il, dld = ([past.il or 0.0 for past in shown], [past.dld or 0.0 for past in shown])
    _draw_measure(axes, 0, "IL", il, [past.il_ceiling for past in shown], published)
    _draw_measure(axes, 1, "DLD", dld, [past.dld_ceiling for past in shown], published)
    few = len(shown) < 8
    axes.set_xticks(
        range(len(shown)),
        [past.period for past in shown],
        rotation=0 if few else 60,
        ha="center" if few else "right",
    )
    axes.set_xlim(-0.5, max(len(shown) - 0.5, 0.5))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set_ylabel("per cent", color=INK)
    drawing.legend(loc="outside upper left", ncols=4)
    return drawing


def _draw_measure(
    axes: Axes,
    series: int,
    name: str,
    values: Sequence[float],
    ceilings: Sequence[float],
    published: Sequence[bool],
) -> None:
    """Draw one measure by period; its markers are hollow where nothing was published."""
    colour = SERIES[series]
    edges = [place - 0.5 for place in range(len(values) + 1)]
    axes.stairs(
        ceilings, edges, baseline=None, color=colour, linewidth=1, linestyle="--",
        label=f"ceiling of {name}",
    )  # fmt: skip
    axes.plot(range(len(values)), values, color=colour, linewidth=1.2, zorder=2)
    for place, (value, filled) in enumerate(zip(values, published, strict=True)):
        axes.plot(
            [place], [value], marker=MARKERS[series], markersize=6, color=colour, linestyle="",
            markerfacecolor=colour if filled else "white", label=name if place == 0 else None,
            zorder=3,
        )  # fmt: skip
