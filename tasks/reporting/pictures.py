"""Pictures for pages: drawn without a screen, the same bytes each time, in the page's colours."""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NewType, cast
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from algorithms.profile import ColumnProfile, LabelProfile, Profile
from algorithms.types import Matrix
from tasks.reporting.page import MINUS
from tasks.reporting.sizes import size_ranges

Svg = NewType("Svg", str)
"""A picture as an element of a page; the only text that templates do not escape."""

INK, MUTED, LINE = "#1b1d21", "#5d626b", "#d8dbe0"
"""Colours of text, of remarks and of rules; within a page they follow the page."""

PAPER = "#fefefe"
"""Colour of the page itself, for what must hide the lines behind it."""

SERIES = (
    "#0072b2", "#d55e00", "#00805d", "#b0558a", "#9a6a00", "#2f8fca", "#5b4bb5", "#6b6e75",
)  # fmt: skip
"""Distinguishable with any colour vision; still, give each a marker or a dash of its own."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
BEFORE, AFTER = SERIES[0], SERIES[1]

IN_PAGE = {
    INK: "currentColor",
    MUTED: f"var(--muted, {MUTED})",
    LINE: f"var(--line, {LINE})",
    PAPER: f"var(--paper, {PAPER})",
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
    "text.parse_math": False,
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
K_LABEL, IL_LABEL = "k: smallest number of records in a group", "IL: information lost, %"
ROOM = 1.08
"""Length of an axis, as a multiple of the largest value on it."""

LARGER = 1.4
"""Largest factor by which a picture may grow to fill its place."""

MOST_NUMBERS = 12
"""Columns of a matrix up to which its cells carry their numbers."""

STEPS = (1, 2, 5, 10)
"""Steps between numbers on a linear axis, times a power of ten: levels get whole numbers."""

MOST_BARS = 12
"""Labels of a column whose totals are drawn."""

LONGEST_LABEL = 28
"""Characters of a label that are drawn."""

NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that a column name may contain and XML may not."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the pages, whatever the settings of the machine; also a decorator."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(cast(Any, STYLE))
        yield


class Drawing(Figure):
    """A figure that a notebook shows, whatever its settings."""

    def _repr_png_(self) -> bytes:
        return as_png(self)


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
    drawing = Drawing(
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
def as_svg(drawing: Figure, label: str) -> Svg:
    """Write a picture to be set into a page: text as text, and in the colours of the page.

    Parameters
    ----------
    drawing : Figure
        The picture.
    label : str
        Description for people who cannot see it.
    """
    # a page may hold a name only once, and names within a picture are hashed with the salt
    mpl.rcParams["svg.hashsalt"] = label
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None})
    return Svg(_inline(buffer.getvalue(), label))


@style()
def as_png(drawing: Figure, scale: float = 2.0) -> bytes:
    """Write a picture as PNG on white, with ``scale`` pixels per pixel of the drawing."""
    buffer = io.BytesIO()
    drawing.savefig(
        buffer, format="png", dpi=72 * scale, facecolor="white", metadata={"Software": None}
    )
    return buffer.getvalue()


def _inline(svg: str, label: str) -> str:
    """Turn an SVG file into an element of a page."""
    drawing = ElementTree.fromstring(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", svg))
    _strip(drawing)
    box = drawing.attrib["viewBox"]
    drawing.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": box,
        "role": "img",
        "aria-label": label,
        "style": f"max-width: {LARGER * float(box.split()[2]):.0f}px",
    }
    text = ElementTree.tostring(drawing, encoding="unicode")
    text = re.sub(r'font-family: [^;"]+', "font-family: system-ui, sans-serif", text)
    for colour, variable in IN_PAGE.items():
        text = text.replace(colour, variable)
    return text


def _strip(drawing: ElementTree.Element) -> None:
    """Remove namespaces, indentation, unused names, and elements that draw nothing."""
    for element in drawing.iter():
        element.tag = _without_namespace(element.tag)
        element.attrib = {_without_namespace(key): text for key, text in element.attrib.items()}
    texts = [text for element in drawing.iter() for text in element.attrib.values()]
    referenced = {name for text in texts for name in re.findall(r"#(\w+)", text)}
    for element in drawing.iter():
        if element.get("id") not in referenced:
            element.attrib.pop("id", None)
        if element.tag not in ("text", "tspan"):
            element.text = None
            for child in element:
                child.tail = "\n"
    _prune(drawing)


def _prune(element: ElementTree.Element) -> None:
    """Remove what a page does not need: metadata, style sheets and empty groups."""
    for child in list(element):
        _prune(child)
        empty = child.tag in ("g", "defs") and len(child) == 0
        if empty or child.tag in ("metadata", "style"):
            element.remove(child)


def _without_namespace(name: str) -> str:
    return name.rpartition("}")[2]


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
        axis.set_major_locator(MaxNLocator(4, steps=STEPS))
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
def totals(column: LabelProfile) -> Figure:
    """Draw the totals of the most frequent labels; an original total below k has no bar."""
    drawn = column.margins[:MOST_BARS]
    rows = np.arange(len(drawn))
    drawing, axes = figure(480, 74 + 26 * len(drawn))
    before = [np.nan if margin.before is None else margin.before for margin in drawn]
    axes.barh(rows - 0.2, before, height=0.36, color=BEFORE, label="original")
    axes.barh(
        rows + 0.2, [margin.after for margin in drawn], height=0.36, color=AFTER, label="published"
    )
    axes.set_yticks(rows, [_shortened(margin.label) for margin in drawn])
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=STEPS, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(shown))
    axes.set_xlabel("records")
    drawing.legend(loc="outside upper left", ncols=2)
    return drawing


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"


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
                j, i, _two_decimals(float(matrix[i, j])), ha="center", va="center",
                fontsize=min(10.0, 72.0 / d), color="#ffffff" if dark else "#000000",
            )  # fmt: skip
    return drawing


def _two_decimals(value: float) -> str:
    """Write a correlation; one that rounds to zero has no sign."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)


@style()
def overview(losses: Mapping[str, float], sizes: Mapping[int, int]) -> Figure:
    """Draw the information loss of each column, and the number of groups by their size.

    Parameters
    ----------
    losses : mapping of str to float
        IL in per cent, by the name of the column.
    sizes : mapping of int to int
        Number of groups, by the number of their records.
    """
    rows, ranges = np.arange(len(losses)), size_ranges(sizes)
    drawing = Drawing(
        figsize=(760 / 72, (90 + 21 * max(len(losses), 6)) / 72), layout="constrained"
    )
    left, right = drawing.subplots(1, 2)
    left.barh(rows, list(losses.values()), height=0.7, color=SERIES[0])
    left.set_yticks(rows, [_shortened(name) for name in losses])
    left.set_ylim(len(rows) - 0.4, -0.6)
    left.grid(visible=False, axis="y")
    left.set_xlabel(IL_LABEL)
    right.bar([each.label for each in ranges], [each.groups for each in ranges], color=SERIES[1])
    right.grid(visible=False, axis="x")
    right.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS, integer=True))
    right.set_xlabel("records in a group")
    right.set_ylabel("groups")
    return drawing


@style()
def bounds(least: Mapping[int, float], k: int, il: float) -> Figure:
    """Draw the least possible IL by k, and a release above it.

    Parameters
    ----------
    least : mapping of int to float
        The least possible IL in per cent, by k in increasing order.
    k : int
        The k of the release.
    il : float
        Its IL in per cent.
    """
    drawing, axes = figure(620, 320)
    out_of_reach(axes, least, end=max(*least, k) + 0.5)
    axes.plot(
        [k], [il], linestyle="", marker="s", markersize=8, color=AFTER, label="this release",
        zorder=4,
    )  # fmt: skip
    axes.set_xlim(min(*least, k) - 0.5, max(*least, k) + 0.5)
    axes.set_ylim(0.0, ROOM * max(il, *least.values()) or 1.0)
    whole_numbers(axes)
    axes.set_xlabel(K_LABEL)
    axes.set_ylabel(IL_LABEL)
    drawing.legend(loc="outside upper left", ncols=2)
    return drawing


def out_of_reach(axes: Axes, least: Mapping[int, float], end: float) -> None:
    """Shade what no method can reach: a bound holds up to the next k for which there is one.

    Parameters
    ----------
    axes : Axes
        IL against k.
    least : mapping of int to float
        The least possible IL in per cent, by k in increasing order.
    end : float
        Where the last bound ends on the axis of k.
    """
    if not least:
        return
    ks, values = [*least, end], [*least.values(), [*least.values()][-1]]
    axes.fill_between(
        ks, values, step="post", color=MUTED, alpha=0.22, linewidth=0, zorder=0,
        label="no method can get here (proven)",
    )  # fmt: skip
    axes.plot(ks, values, color=INK, linewidth=1.2, drawstyle="steps-post", zorder=2)
    axes.plot(
        list(least), list(least.values()), color=INK, linestyle="", marker=".", markersize=5,
        zorder=2,
    )  # fmt: skip


def whole_numbers(axes: Axes) -> None:
    """Give an axis of k whole numbers; around a single k, matplotlib would show none."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


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
        color=SERIES[1], label="all except this one",
    )  # fmt: skip
    axes.set_yticks(rows, [entry.name for entry in profile.linkage])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("DLD, %")
    drawing.legend(loc="outside upper left", ncols=3)
    return drawing
