"""Pictures for pages: drawn without a screen, the same bytes each time, in the page's colours."""

import hashlib
import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from algorithms.profile import ColumnProfile, Profile
from algorithms.types import Matrix
from tasks.reporting.page import MINUS, Html

INK, MUTED, LINE = "#1b1d21", "#5d626b", "#d8dbe0"
"""Colours of text, of remarks and of rules; within a page they follow the page."""

SERIES = (
    "#0072b2", "#d55e00", "#00805d", "#b0558a", "#9a6a00", "#2f8fca", "#5b4bb5", "#6b6e75",
)  # fmt: skip
"""Told apart by people with any colour vision; yet give each a marker or a dash of its own."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
BEFORE, AFTER = SERIES[0], SERIES[1]

IN_PAGE = {
    INK: "currentColor",
    MUTED: f"var(--muted, {MUTED})",
    LINE: f"var(--line, {LINE})",
    **{colour: f"var(--series-{i}, {colour})" for i, colour in enumerate(SERIES, start=1)},
}

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 9.5,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9,
}

DIVERGING = LinearSegmentedColormap.from_list(
    "orange-white-blue",
    ["#b35806", "#f1a340", "#fee0b6", "#f7f7f7", "#d8daeb", "#5e9fd0", "#08519c"],
)
LARGER = 1.4
"""How much a picture may grow to fill its place."""

MOST_NUMBERS = 12
"""Columns of a matrix up to which its cells carry their numbers."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the pages, whatever the settings of the machine; also a decorator."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(cast(Any, STYLE))
        yield


@style()
def figure(
    width: int = 340, height: int = 210, margins: tuple[float, float, float, float] | None = None
) -> tuple[Figure, Axes]:
    """Start a picture in the page's style.

    Parameters
    ----------
    width, height : int
        In pixels.
    margins : tuple of float, optional
        Pixels left of, right of, above and below the axes; by default what their labels need.
    """
    drawing = Figure(
        figsize=(width / 72, height / 72), layout="constrained" if margins is None else None
    )
    axes = drawing.add_subplot()
    if margins is not None:
        left, right, above, below = margins
        drawing.subplots_adjust(
            left / width, below / height, 1.0 - right / width, 1.0 - above / height
        )
    return drawing, axes


@style()
def as_svg(drawing: Figure, label: str) -> Html:
    """Write a picture to be set into a page: text as text, and in the colours of the page.

    Parameters
    ----------
    drawing : Figure
        The picture.
    label : str
        What it shows, for those who do not see it.
    """
    mpl.rcParams["svg.hashsalt"] = label
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None})
    return Html(_inline(buffer.getvalue(), label))


@style()
def as_png(drawing: Figure, scale: float = 2.0) -> bytes:
    """Write a picture as PNG, on white, at so many pixels for each of its own."""
    buffer = io.BytesIO()
    drawing.savefig(
        buffer, format="png", dpi=72 * scale, facecolor="white", metadata={"Software": None}
    )
    return buffer.getvalue()


def _inline(svg: str, label: str) -> str:
    """Take from a file of its own what a page needs of it."""
    drawing = svg[svg.index("<svg") :]
    drawing = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", drawing, flags=re.S
    )
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
    assert box is not None
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box[0]} role="img" aria-label="{escape(label)}" '
        f'style="max-width: {LARGER * float(box[1]):.0f}px">'
    )
    drawing = opening + drawing[drawing.index(">") + 1 :]
    drawing = drawing.replace("xlink:href", "href")
    # the same names are given in every picture, and a page may hold a name only once
    referred = set(re.findall(r'(?:url\(|href=")#([^)"]+)', drawing))
    own = hashlib.sha256(label.encode()).hexdigest()[:8]
    for name in re.findall(r' id="([^"]+)"', drawing):
        drawing = drawing.replace(
            f' id="{name}"', f' id="{own}-{name}"' if name in referred else "", 1
        )
    drawing = re.sub(r"(url\(|href=\")#", rf"\g<1>#{own}-", drawing)
    drawing = re.sub(r'font-family: [^;"]+', "font-family: system-ui, sans-serif", drawing)
    for colour, variable in IN_PAGE.items():
        drawing = drawing.replace(colour, variable)
    drawing = re.sub(r"<g>\s*</g>|<defs>\s*</defs>", "", drawing)
    return re.sub(r"\n\s*", "\n", drawing).strip()


def shown(value: float, _position: int | None = None) -> str:
    """Write a number on an axis, short."""
    size = abs(value)
    for least, unit, name in ((1e9, 1e9, " bn"), (1e6, 1e6, " M"), (1e4, 1e3, " k")):
        if size >= least:
            return f"{value / unit:.4g}{name}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def _show_values(axes: Axes, which: str, column: ColumnProfile) -> None:
    """Give an axis the range of a column that may be shown, and few numbers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = float(column.grid[0]), float(column.grid[-1])
    if column.stretch is None:
        margin = 0.02 * (high - low)
        limits = (low - margin, high + margin)
        axis.set_major_locator(MaxNLocator(4))
    else:
        limits = (low, high)
        stretch: Any = axes.set_xscale if which == "x" else axes.set_yscale
        stretch("asinh", linear_width=column.stretch)
        axis.set_major_locator(FixedLocator(decades(low, high, column.stretch)))
    axis.set_minor_locator(FixedLocator([]))
    axis.set_major_formatter(FuncFormatter(shown))
    axes.set(**{f"{which}lim": limits})


def decades(low: float, high: float, stretch: float) -> list[float]:
    """Choose zero and powers of ten within a range, and their threefold if those are few."""
    top = math.floor(math.log10(max(abs(low), abs(high))))
    powers = [10.0**power for power in range(math.ceil(math.log10(stretch)), top + 1)]
    inside = [power for power in powers if low <= power <= high or low <= -power <= high]
    chosen = (
        [factor * power for power in powers for factor in (1.0, 3.0)]
        if len(inside) < 4
        else powers[:: -math.ceil(len(inside) / 4)]
    )
    return sorted(v for v in (*(-v for v in chosen), 0.0, *chosen) if low <= v <= high)


@style()
def density(column: ColumnProfile) -> Figure:
    """Draw how densely records lie, before and after."""
    drawing, axes = figure(margins=(8, 8, 26, 40))
    axes.fill_between(column.grid, column.density_before, color=BEFORE, alpha=0.15, linewidth=0)
    axes.plot(column.grid, column.density_before, color=BEFORE, label="original")
    axes.plot(
        column.grid, column.density_after, color=AFTER, linestyle=DASHES[1], label="published"
    )
    _show_values(axes, "x", column)
    axes.set_ylim(bottom=0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(column.name)
    drawing.legend(loc="upper left", ncols=2, borderpad=0)
    return drawing


@style()
def quantiles(column: ColumnProfile) -> Figure:
    """Draw the quantiles of what is published over those of the original."""
    drawing, axes = figure(margins=(54, 8, 26, 40))
    axes.plot(column.grid, column.grid, color=MUTED, linewidth=1, label="no change")
    axes.plot(
        column.before, column.after, color=AFTER, linestyle="", marker="o", markersize=3.2,
        label="quantiles",
    )  # fmt: skip
    _show_values(axes, "x", column)
    _show_values(axes, "y", column)
    axes.set_xlabel(f"{column.name}, original")
    axes.set_ylabel("published")
    drawing.legend(loc="upper left", ncols=2, borderpad=0)
    return drawing


@style()
def correlation(matrix: Matrix, names: Sequence[str]) -> Figure:
    """Draw correlations as a matrix of colours and, if there are not too many, numbers."""
    d = len(names)
    drawing, axes = figure(400, 400)
    edges = np.arange(d + 1) - 0.5
    axes.pcolormesh(
        edges, edges, matrix, cmap=DIVERGING, vmin=-1, vmax=1, edgecolors=LINE, linewidth=0.4
    )
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    axes.set_xticks(range(d), names, rotation=90)
    axes.set_yticks(range(d), names)
    if d <= MOST_NUMBERS:
        for i, j in np.ndindex(d, d):
            red, green, blue, _ = DIVERGING((matrix[i, j] + 1.0) / 2.0)
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            axes.text(
                j, i, f"{matrix[i, j]:.2f}".replace("-", MINUS), ha="center", va="center",
                fontsize=min(10.0, 72.0 / d), color="#ffffff" if dark else "#000000",
            )  # fmt: skip
    return drawing


@style()
def linkage(profile: Profile) -> Figure:
    """Draw DLD by each column alone and without it, with that by all columns as a line."""
    rows = list(range(len(profile.linkage)))
    drawing, axes = figure(480, 84 + 21 * len(rows))
    axes.axvline(profile.linkage_all, color=INK, linewidth=1, label="all columns")
    axes.plot(
        [entry.alone for entry in profile.linkage], rows, linestyle="", marker="o", markersize=6,
        color=SERIES[0], label="this column alone",
    )  # fmt: skip
    axes.plot(
        [np.nan if entry.without is None else entry.without for entry in profile.linkage], rows,
        linestyle="", marker="s", markersize=6, markerfacecolor="none", markeredgewidth=1.5,
        color=SERIES[1], label="all without this one",
    )  # fmt: skip
    axes.set_yticks(rows, [entry.name for entry in profile.linkage])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("DLD, %")
    drawing.legend(loc="outside upper left", ncols=3)
    return drawing
