"""The register as a page: every release and every attempt, and how each ended."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.reporting.page import render
from tasks.reporting.pictures import INK, MARKERS, SERIES, Drawing, Svg, as_svg, style
from tasks.store.audit import Audit
from tasks.store.chain import PUBLISHED
from tasks.store.history import MOST_PERIODS, Past, by_period, latest

CANDIDATES = "candidates"


@dataclass(frozen=True)
class Dataset:
    """Everything that the page shows of one dataset.

    Attributes
    ----------
    name : str
        Its name.
    picture : Svg, optional
        The timeline; None if nothing was measured.
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
        picture=as_svg(over_time(measured), f"Timeline of {name}") if measured else None,
        attempts=tuple(sorted(own, key=by_period, reverse=True)),
        specs=specs,
    )


@dataclass(frozen=True)
class _Line:
    """A measure by period, and the limit of each period as a step."""

    name: str
    limit_name: str
    values: Sequence[float | None]
    limits: Sequence[float]


@style()
def over_time(pasts: Sequence[Past]) -> Figure:
    """Draw IL and DLD by period with their ceilings, and below them how releases compare."""
    shown = list(pasts)[-MOST_PERIODS:]
    panels = _panels(shown)
    drawing = Drawing(
        figsize=(640 / 72, (260 + 110 * (len(panels) - 1)) / 72), layout="constrained"
    )
    heights = [2.0] + [1.0] * (len(panels) - 1)
    rows = drawing.subplots(len(panels), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    published = [past.decision in (PUBLISHED, "unchanged") for past in shown]
    series = itertools.count()
    for axes, (label, lines) in zip(rows, panels.items(), strict=True):
        for line in lines:
            _draw_line(axes, next(series), line, published)
        axes.margins(y=0.12)
        axes.set_ylim(bottom=0)
        steps, whole = (5, False) if axes is rows[0] else (3, label == CANDIDATES)
        axes.yaxis.set_major_locator(MaxNLocator(steps, integer=whole))
        axes.set_ylabel(label, color=INK)
    few = len(shown) < 8
    rows[-1].set_xticks(
        range(len(shown)),
        [past.period for past in shown],
        rotation=0 if few else 60,
        ha="center" if few else "right",
    )
    rows[-1].set_xlim(-0.5, max(len(shown) - 0.5, 0.5))
    drawing.legend(loc="outside upper left", ncols=4)
    return drawing


def _panels(pasts: Sequence[Past]) -> dict[str, list[_Line]]:
    """Put measures of one unit into one panel; a series has two panels more."""
    panels = {
        "per cent": [
            _Line("IL", "ceiling of IL", *_columns(pasts, "il", "il_ceiling")),
            _Line("DLD", "ceiling of DLD", *_columns(pasts, "dld", "dld_ceiling")),
        ]
    }
    if any(past.is_compared for past in pasts):
        panels |= {
            "candidates": [
                _Line("fewest candidates", "k", *_columns(pasts, "candidates_min", "k"))
            ],
            "muted, %": [
                _Line("muted", "ceiling of muted", *_columns(pasts, "muted", "muted_ceiling"))
            ],
        }
    return panels


def _columns(
    pasts: Sequence[Past], measure: str, limit: str
) -> tuple[list[float | None], list[float]]:
    return [getattr(past, measure) for past in pasts], [getattr(past, limit) for past in pasts]


def _draw_line(axes: Axes, series: int, line: _Line, published: Sequence[bool]) -> None:
    """Draw one measure by period; its markers are hollow where nothing was published."""
    colour = SERIES[series]
    values = [math.nan if value is None else value for value in line.values]
    edges = [place - 0.5 for place in range(len(values) + 1)]
    axes.stairs(
        line.limits, edges, baseline=None, color=colour, linewidth=1, linestyle="--",
        label=line.limit_name,
    )  # fmt: skip
    axes.plot(range(len(values)), values, color=colour, linewidth=1.2, zorder=2)
    for place, (value, filled) in enumerate(zip(values, published, strict=True)):
        axes.plot(
            [place], [value], marker=MARKERS[series], markersize=6, color=colour, linestyle="",
            markerfacecolor=colour if filled else "white", label=line.name if place == 0 else None,
            zorder=3, clip_on=False,
        )  # fmt: skip
