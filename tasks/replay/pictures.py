"""The pictures of a replay: what each choice mutes and loses, release by release and on average."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.replay.choice import OVER_FRESH, Replayed
from tasks.replay.findings import Findings
from tasks.reporting.pictures import DASHES, INK, MARKERS, SERIES, figure, style


@style()
def by_release(found: Findings, measure: str, label: str) -> Figure:
    """Draw a measure of each choice, release by release."""
    drawing, axes = figure(820, 300)
    periods = [period.name for period in found.periods]
    for number, each in enumerate(found.replays):
        values = each.values(measure)
        axes.plot(range(len(values)), values, label=each.choice.name, **_line(number))
    few = len(periods) < 8
    axes.set_xticks(
        range(len(periods)),
        periods,
        rotation=0 if few else 60,
        ha="center" if few else "right",
    )
    axes.set_xlim(-0.3, len(periods) - 0.7)
    axes.set_ylim(bottom=0.0)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set_ylabel(label, color=INK)
    drawing.legend(loc="outside right center")
    return drawing


@style()
def price(found: Findings) -> Figure:
    """Draw what choices mute against what they lose, with the least loss if nobody is muted."""
    drawing, axes = figure(820, 360)
    for number, each in enumerate(found.replays):
        if each.steps:
            axes.plot(
                [each.mean(OVER_FRESH)],
                [_zero(each.mean("muted"))],
                label=f"{each.choice.name}{'' if each.keeps_k else ' (k does not hold)'}",
                **_point(number, each),
            )
    _draw_bound(axes, found)
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)
    axes.margins(0.08)
    axes.set_xlabel("loss as a multiple of that of fresh groups of mdav, mean of all releases")
    axes.set_ylabel("records muted, mean, %")
    drawing.legend(loc="outside right center")
    return drawing


def _draw_bound(axes: Axes, found: Findings) -> None:
    ratios = [stretches[0].ratio for stretches in found.bounds.values() if stretches]
    if ratios:
        axes.axvline(max(ratios), color=INK, linewidth=1.0, linestyle="--", zorder=1)
        axes.annotate(
            "no method that mutes\nnobody can lose less",
            (max(ratios), 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4, -3),
            textcoords="offset points",
            color=INK,
            fontsize=8,
            va="top",
            ha="right",
        )


def _line(number: int) -> dict[str, Any]:
    return {
        "color": SERIES[number % len(SERIES)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number // len(SERIES) % len(DASHES)],
        "markersize": 5,
        "linewidth": 1.4,
    }


def _point(number: int, each: Replayed) -> dict[str, Any]:
    """Fill the marker of a choice that keeps k over all releases."""
    colour = SERIES[number % len(SERIES)]
    return {
        **_line(number),
        "linestyle": "",
        "markersize": 8,
        "markerfacecolor": colour if each.keeps_k else "none",
        "zorder": 3,
    }


def _zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def drawn(found: Findings) -> dict[str, tuple[Figure, str]]:
    """Draw all pictures, each with a description for people who cannot see it."""
    return {
        "price": (price(found), "Records muted against information lost, by choice"),
        "muted": (by_release(found, "muted", "records muted, %"), "Records muted by release"),
        "under-k": (
            by_release(found, "under_k_across", "persons with fewer than k candidates, %"),
            "Persons with fewer than k candidates by release",
        ),
        "over-fresh": (
            by_release(found, OVER_FRESH, "loss over that of fresh groups"),
            "Loss over that of fresh groups by release",
        ),
    }
