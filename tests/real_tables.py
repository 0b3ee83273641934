"""Any table of any kinds with a spec, and the recount of what was published of it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from hypothesis import strategies as st

from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec

Row = Mapping[str, str]

LEVELS = ("none", "primary", "secondary", "tertiary")
CODES = ("A11", "A12", "A21", "B11", "B12", "C3")
CELLS: dict[str, tuple[str, ...]] = {
    "integer": ("0", "1", "2", "-3", "40", "1000000"),
    "number": ("0.5", "-0.5", "1.25", "0", "-7.5", "90"),
    "all digits": ("0.1", "-0.1", "1.3", "7", "1e3"),
    "day": ("2026-03-09", "2026-03-10", "1969-12-31", "2000-02-29", "0001-01-01"),
    "month": ("2026-03", "2026-04-30", "1969-12", "1900-01"),
    "year": ("2026", "1969-07-20", "1970", "1800-01"),
    "ordered": LEVELS,
    "category": ("x", "y", "z", "007", "é,\n"),
    "hierarchy": CODES,
}
"""Cells of each kind as they stand in a source."""

POLICIES = ("state", "blank", "fill", "apart")
RULES = {"category": ("mode", "majority", "calibrated"), "hierarchy": ("nearest", "leaf", "common")}
SMALL = {0: ("block",), 1: ("block", "withhold"), 2: ("block", "withhold", "merge")}
SEARCH = {"iterations": 20}


@dataclass(frozen=True)
class Drawn:
    """A source and its spec.

    Attributes
    ----------
    rows : sequence of Row
        Cells as text; an empty one is missing. ``row`` numbers the rows, and is confidential.
    kinds : mapping of str to str
        Kind of each key column, as in `CELLS`.
    content : mapping
        The sections ``columns``, ``microaggregation`` and ``gate`` of a spec.
    """

    rows: Sequence[Row]
    kinds: Mapping[str, str]
    content: Mapping[str, Any]


@st.composite
def releases(draw: st.DrawFn, methods: Sequence[str]) -> Drawn:
    """Draw a table of up to 40 rows, and a spec that fits its columns, with one of the methods."""
    k = draw(st.integers(2, 6))
    kinds = {f"key{j}": draw(st.sampled_from([*CELLS])) for j in range(draw(st.integers(1, 4)))}
    missing = {name: draw(st.sampled_from(POLICIES)) for name in kinds if draw(st.booleans())}
    n = draw(st.integers(k, 40))
    columns: dict[str, list[str]] = {"id": [f"id{i}" for i in range(n)]}
    columns["row"] = [str(i) for i in range(n)]
    for name, kind in kinds.items():
        cells = (*CELLS[kind], "", "") if name in missing else CELLS[kind]
        columns[name] = _column(draw, cells, n)
    rules = {name: RULES[kind] for name, kind in kinds.items() if kind in RULES}
    roles = declared_kinds(kinds) | {
        "published": {name: draw(st.sampled_from(choices)) for name, choices in rules.items()},
        "identifiers": ["id"],
        "confidential": ["row"],
        "quasi_identifiers": [*kinds],
        "missing": missing,
    }
    small = "block"
    strata = draw(st.sampled_from((0, 0, 1, 2)))
    if strata:
        roles["strata"] = [f"stratum{j}" for j in range(strata)]
        for name in roles["strata"]:
            columns[name] = _column(draw, ("a1", "a2", "b1"), n)
        with_tree = draw(st.booleans())
        if with_tree:
            roles["hierarchies"] |= {name: {"prefixes": [1]} for name in roles["strata"]}
        small = draw(st.sampled_from(SMALL[1 + with_tree]))
    elif "apart" in missing.values():
        small = draw(st.sampled_from(SMALL[1]))
    if draw(st.sampled_from((False, False, True))):
        roles["unit"] = "unit"
        owners = max(k, n // 2)
        columns["unit"] = _column(draw, [f"u{i}" for i in range(owners)], n)
    if draw(st.sampled_from((False, False, True))):
        roles["weight"] = "weight"
        roles["weight_published"] = draw(st.sampled_from(("averaged", "averaged", "never")))
        columns["weight"] = _column(draw, ("1", "2.5", "0.3"), n)
    if draw(st.booleans()):
        roles["importance"] = {"key0": draw(st.sampled_from((0.25, 2.0)))}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    content = {
        "columns": roles,
        "microaggregation": {"k": k, "small_strata": small, **_method(draw, methods)},
        "gate": {"ceilings": {"il": 100.0, "dld": 100.0, **_withheld(small)}},
    }
    return Drawn(rows, kinds, content)


def _withheld(small: str) -> dict[str, float]:
    return {"withheld": 100.0} if small == "withhold" else {}


def _column(draw: st.DrawFn, cells: Sequence[str], n: int) -> list[str]:
    return draw(st.lists(st.sampled_from(cells), min_size=n, max_size=n))


def declared_kinds(kinds: Mapping[str, str]) -> dict[str, Any]:
    """Declare kinds as a spec does."""

    def those(*wanted: str) -> list[str]:
        return [name for name, kind in kinds.items() if kind in wanted]

    return {
        "integers": those("integer"),
        "decimals": dict.fromkeys(those("all digits"), "all"),
        "dates": {name: kinds[name] for name in those("day", "month", "year")},
        "ordered": {name: list(LEVELS) for name in those("ordered")},
        "categories": those("category"),
        "hierarchies": {name: {"prefixes": [1, 2]} for name in those("hierarchy")},
    }


def _method(draw: st.DrawFn, methods: Sequence[str]) -> dict[str, Any]:
    name = draw(st.sampled_from(methods))
    chosen: dict[str, Any] = {"method": name}
    method = METHODS[name]
    if method.searches:
        chosen["options"] = SEARCH
    elif method.reads_path:
        chosen["ordering"] = draw(st.sampled_from([*ORDERINGS]))
    else:
        chosen["recut"] = draw(st.booleans())
        chosen["refine"] = draw(st.sampled_from((None, None, SEARCH)))
    return chosen


def recount(drawn: Drawn, spec: ReleaseSpec, published: Sequence[Row], withheld: int) -> None:
    """Check all that a published table promises, on its text, by means of its own."""
    columns, k = spec.columns, spec.microaggregation.k
    assert len(published) + withheld == len(drawn.rows)
    assert len({row["row"] for row in published}) == len(published)
    source = {row["row"]: row for row in drawn.rows}
    classes: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in published:
        assert tuple(row) == columns.public
        classes[tuple(row[name] for name in columns.known)].append(source[row["row"]])
    for members in classes.values():
        assert len(members) >= k
        if columns.unit is not None:
            assert len({row["unit"] for row in members}) >= k
        for name in columns.missing:
            if columns.missing[name] == "apart":
                assert len({row[name] == "" for row in members}) == 1
    for name in columns.strata:
        for row in published:
            before = source[row["row"]][name]
            wider = {before[:1], "*"} if spec.microaggregation.small_strata == "merge" else set()
            assert row[name] in {before} | wider
    for name, kind in drawn.kinds.items():
        cells = {row[name] for row in published} - {""}
        own = {row[name] for row in drawn.rows} - {""}
        assert all(is_of_domain(cell, name, kind, own, columns) for cell in cells), (name, cells)
        _recount_missing(
            columns.missing.get(name),
            [(source[row["row"]][name] == "", row[name] == "") for row in published],
        )


def _recount_missing(policy: str | None, pairs: Iterable[tuple[bool, bool]]) -> None:
    """Count the cells that were filled and blanked; some policies allow none."""
    counts = Counter(pairs)
    filled, blanked = counts[True, False], counts[False, True]
    if policy in (None, "blank", "apart"):
        assert not filled
    if policy in (None, "fill", "apart"):
        assert not blanked


def is_of_domain(cell: str, name: str, kind: str, own: set[str], columns: ColumnsSection) -> bool:
    """Check whether a published cell is a value that its column can have."""
    match kind:
        case "integer":
            return re.fullmatch(r"-?[0-9]+", cell) is not None
        case "number":
            return re.fullmatch(r"(?!-0(?:\.0*)?$)-?[0-9]+(\.[0-9]{1,2})?", cell) is not None
        case "all digits":
            return float(cell) == float(cell)
        case "day":
            return date.fromisoformat(cell).isoformat() == cell
        case "month":
            return date.fromisoformat(f"{cell}-01").isoformat() == f"{cell}-01"
        case "year":
            return re.fullmatch(r"[0-9]{4}", cell) is not None
        case "ordered":
            return cell in LEVELS
        case "category":
            return cell in own or (cell == "*" and columns.published[name] == "majority")
    nodes = {code[:length] for code in own for length in (1, 2, 3)} | {"*"}
    return cell in (own if columns.published[name] == "leaf" else nodes)
