"""Timelines of a dataset: each measure with its limit, period by period."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.reporting.pictures import INK, MUTED, PAPER, SERIES, Drawing, Svg, as_svg, figure, style
from tasks.store.history import MOST_PERIODS, NO_LIMIT, Limited, Past
from tasks.store.shifts import PREVIOUS, REVIEWED, K, Shift, shifts, title_of, unit_of

WIDTH, HEIGHT = 340, 190
"""Size of the picture of one measure, in pixels."""

LEFT, RIGHT, ABOVE, BELOW = 40, 22, 24, 26
"""Pixels around its axes."""

MOST_LABELS = 5
"""Periods whose names have room below the axis of one measure."""

CHARACTER = 4.6
"""Pixels that a character of the words beside a mark takes."""

ROW = 13
"""Pixels that a row of such words takes."""

MOST_ROWS = 3
"""Rows of such words; the table has those that do not fit."""


@dataclass(frozen=True)
class Panel:
    """One measure by period, with its limits.

    Attributes
    ----------
    measure : str
        Its name.
    points : tuple of Limited
        The measure and the limit in each period.
    """

    measure: str
    points: tuple[Limited, ...]

    @property
    def title(self) -> str:
        """The measure with its unit, and the limit of the last period that had one."""
        title = ", ".join(filter(None, (title_of(self.measure), unit_of(self.measure))))
        limited = [point for point in self.points if not math.isnan(point.limit)]
        if not limited:
            return title
        kind = "floor" if limited[-1].floor else "ceiling"
        return f"{title} ({kind} {limited[-1].limit:g})"

    @property
    def values(self) -> list[float]:
        """The measure in each period; not a number where there is none."""
        return [math.nan if point.value is None else point.value for point in self.points]

    @property
    def limits(self) -> list[float]:
        """The limit in each period; not a number where there is none."""
        return [point.limit for point in self.points]


@dataclass(frozen=True)
class _Mark:
    """A vertical line between periods, and words beside it."""

    place: float
    words: str


def panels(pasts: Sequence[Past]) -> list[Panel]:
    """List the measures that were gated in any period: IL, DLD and k first."""
    gated = [past.gated for past in pasts]
    names = dict.fromkeys(name for each in gated for name in each)
    return [
        Panel(name, tuple(each.get(name, Limited(None, NO_LIMIT)) for each in gated))
        for name in sorted(names, key=_rank)
    ]


@style()
def over_time(pasts: Sequence[Past]) -> Figure:
    """Draw every gated measure by period in one picture, two panels in a row."""
    shown = list(pasts)[-MOST_PERIODS:]
    drawn, changes = panels(shown), shifts(shown)
    rows = math.ceil(len(drawn) / 2)
    width, height = 2 * WIDTH, rows * HEIGHT
    drawing = Drawing(figsize=(width / 72, height / 72))
    for number, panel in enumerate(drawn):
        row, column = divmod(number, 2)
        axes = drawing.add_axes(
            (
                (column * WIDTH + LEFT) / width,
                1.0 - ((row + 1) * HEIGHT - BELOW) / height,
                (WIDTH - LEFT - RIGHT) / width,
                (HEIGHT - ABOVE - BELOW) / height,
            )
        )
        _draw(axes, panel, shown, changes)
    return drawing


def timeline(pasts: Sequence[Past], dataset: str) -> list[Svg]:
    """Draw every gated measure of a dataset by period, one picture each."""
    shown = list(pasts)[-MOST_PERIODS:]
    changes = shifts(shown)
    return [
        as_svg(_one(panel, shown, changes), _described(panel, shown, dataset))
        for panel in panels(shown)
    ]


@style()
def _one(panel: Panel, pasts: Sequence[Past], changes: Sequence[Shift]) -> Figure:
    drawing, axes = figure(WIDTH, HEIGHT, (LEFT, RIGHT, ABOVE, BELOW))
    _draw(axes, panel, pasts, changes)
    return drawing


def _rank(measure: str) -> int:
    """Put the measures first that every release has, then those of a series."""
    first = ("il", "dld", K, "candidates_min", "muted")
    return first.index(measure) if measure in first else len(first)


def _draw(axes: Axes, panel: Panel, pasts: Sequence[Past], changes: Sequence[Shift]) -> None:
    """Draw one measure: limits as steps, values as markers, changes as vertical lines."""
    places = range(len(pasts))
    edges = [place - 0.5 for place in range(len(pasts) + 1)]
    axes.stairs(
        panel.limits, edges, baseline=None, color=SERIES[1], linewidth=1.2, linestyle=(0, (4, 2))
    )
    axes.plot(places, panel.values, color=SERIES[0], linewidth=1.2, zorder=2)
    for face, published in ((SERIES[0], True), (PAPER, False)):
        kept = [
            value if past.is_published == published else math.nan
            for past, value in zip(pasts, panel.values, strict=True)
        ]
        axes.plot(
            places, kept, marker="o", markersize=5.5, color=SERIES[0], linestyle="", zorder=3,
            markerfacecolor=face, clip_on=False,
        )  # fmt: skip
    for place, (past, value) in enumerate(zip(pasts, panel.values, strict=True)):
        if past.revision and not math.isnan(value):
            axes.annotate(
                f"r{past.revision}", (place, value), (0, 6), textcoords="offset points",
                ha="center", fontsize=8, color=INK,
            )  # fmt: skip
    axes.set_title(panel.title)
    axes.set_xlim(-0.5, max(len(pasts) - 0.5, 0.5))
    axes.grid(visible=False, axis="x")
    _label_periods(axes, pasts)
    rows = _draw_marks(axes, list(_marks(panel.measure, changes, pasts)), len(pasts))
    _scale(axes, panel, rows)


def _label_periods(axes: Axes, pasts: Sequence[Past]) -> None:
    """Name as many periods as there is room for, always the last one."""
    step = math.ceil(len(pasts) / MOST_LABELS)
    kept = range((len(pasts) - 1) % step, len(pasts), step)
    axes.set_xticks(kept, [pasts[place].plain_period for place in kept])


def _scale(axes: Axes, panel: Panel, rows: int) -> None:
    """Start at zero, and leave room above for words."""
    known = [value for value in (*panel.values, *panel.limits) if math.isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = 0.14 + rows * ROW / (HEIGHT - ABOVE - BELOW)
    axes.set_ylim(low, high + (high - low or 1.0) * room / (1.0 - min(room, 0.6)))
    whole = not unit_of(panel.measure) and all(value.is_integer() for value in known)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=whole))


def _marks(measure: str, changes: Sequence[Shift], pasts: Sequence[Past]) -> Iterator[_Mark]:
    """Find what changed in the limit of a measure, and in k, which every measure depends on."""
    places = {past.attempt: place for place, past in enumerate(pasts)}
    grouped: dict[tuple[int, str], dict[str, Shift]] = {}
    for shift in changes:
        if shift.measure in (measure, K):
            key = places[shift.past.attempt], shift.measure
            grouped.setdefault(key, {})[shift.against] = shift
    for (place, name), found in grouped.items():
        of_other = name != measure
        if PREVIOUS in found:
            step, by_run = found[PREVIOUS].step, " by the run" if REVIEWED in found else ""
            yield _Mark(place - 0.5, f"k {step}" if of_other else f"{step}{by_run}")
        elif not of_other:
            yield _Mark(place - 0.5, f"{found[REVIEWED].after:g} by the run")


def _draw_marks(axes: Axes, marks: Sequence[_Mark], periods: int) -> int:
    """Draw marks, and put their words into rows so that none overlaps; give the number of rows."""
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - ABOVE - BELOW
    ends: list[float] = []
    for mark in sorted(marks, key=lambda mark: mark.place):
        x, length = (mark.place + 0.5) * width / periods, CHARACTER * len(mark.words) + 6
        rightwards = x + length <= width
        start = x if rightwards else x - length
        row = next((row for row, end in enumerate(ends) if end <= start), len(ends))
        # the line must not cross the words above it
        axes.axvline(
            mark.place, ymax=1.0 - row * ROW / height, color=MUTED, linewidth=1,
            linestyle=(0, (1, 1.5)), zorder=1,
        )  # fmt: skip
        if row >= MOST_ROWS:
            continue
        ends[row : row + 1] = [start + length]
        axes.annotate(
            mark.words, (mark.place, 1.0), (3 if rightwards else -3, -2 - row * ROW),
            xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=8, color=INK,
            ha="left" if rightwards else "right", va="top",
        )  # fmt: skip
    return len(ends)


def _described(panel: Panel, pasts: Sequence[Past], dataset: str) -> str:
    """Describe a picture for people who cannot see it."""
    values: Mapping[str, Limited] = {
        past.period: point for past, point in zip(pasts, panel.points, strict=True)
    }
    told = ", ".join(
        f"{period} {'none' if point.value is None else f'{point.value:g}'}"
        for period, point in values.items()
    )
    return f"Timeline of {dataset}: {panel.title}: {told}"
