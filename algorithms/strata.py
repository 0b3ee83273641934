"""Small strata: refused, withheld, or merged into wider ones."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from algorithms.attributes.tree import Tree
from algorithms.errors import RefusedError
from algorithms.table import Stratum, Table, combinations
from algorithms.types import Integers, Labels, Mask, units_per_group

SmallStrata = Literal["block", "withhold", "merge"]


@dataclass(frozen=True, eq=False)
class Settled:
    """A table in which every stratum is large enough.

    Attributes
    ----------
    table : Table
        The records that can be published.
    withheld : Table, optional
        The records that are left out; None if all can be published.
    merged : int
        Number of records whose stratum is published as a wider one.
    """

    table: Table
    withheld: Table | None = None
    merged: int = 0


def settle(table: Table, k: int, small: SmallStrata = "block") -> Settled:
    """Deal with strata, and patterns of missing values that stay apart, of fewer than ``k`` units.

    Parameters
    ----------
    table : Table
        The records.
    k : int
        Smallest number of records, or of units, that a stratum may hold.
    small : {"block", "withhold", "merge"}
        Refuse the table, leave the records of small strata out, or merge small strata of one parent
        in the tree of their column; what is still too small joins the smallest other stratum of
        that parent, and if there is none, goes one level up.

    Raises
    ------
    RefusedError
        If small strata remain; the message gives counts and never the name of a stratum.

    Examples
    --------
    >>> from algorithms.attributes import Number
    >>> keys = (np.array([1.0, 2.0, 9.0]),)
    >>> table = Table((Number("a"),), keys, strata=(Stratum("region", np.array([0, 0, 1])),))
    >>> len(settle(table, 2, "withhold").table)
    2
    """
    if table.blocks is None:
        return Settled(table)
    merged = 0
    if small == "merge":
        table, merged = _with_wider_strata(table, k)
    too_small = _in_small(table.blocks, table.units, k)
    if not too_small.any():
        return Settled(table, merged=merged)
    if small != "withhold" or too_small.all():
        raise RefusedError(_refusal(table, too_small, k, small))
    return Settled(
        table.take(np.flatnonzero(~too_small)), table.take(np.flatnonzero(too_small)), merged
    )


def _in_small(blocks: Labels | None, units: Integers | None, k: int) -> Mask:
    """Mark the records of blocks that hold fewer than ``k`` records or units."""
    assert blocks is not None
    counts = np.bincount(blocks) if units is None else units_per_group(blocks, units)
    small: Mask = (counts < k)[blocks]
    return small


def _refusal(table: Table, too_small: Mask, k: int, small: SmallStrata) -> str:
    assert table.blocks is not None
    blocks, records = np.unique(table.blocks[too_small]).size, int(too_small.sum())
    kind = "strata" if table.strata else "patterns of missing values"
    if (
        table.strata
        and len(np.unique(table.blocks))
        > np.unique(combinations([each.values for each in table.strata])).size
    ):
        kind = "strata or patterns of missing values"
    counted = "records" if table.units is None else "units"
    remedies = {
        "block": "merge or withhold them (microaggregation.small_strata), or choose coarser ones",
        "merge": "withhold them (microaggregation.small_strata), or choose coarser ones",
        "withhold": "choose coarser ones, for nothing would be left",
    }
    return (
        f"{kind} must hold at least k={k} {counted} each; {blocks} with {records} records hold "
        f"fewer: {remedies[small]}"
    )


def _with_wider_strata(table: Table, k: int) -> tuple[Table, int]:
    """Merge small strata along each tree, one column after the other, and count changed records.

    A column is merged only as far as those before it have left strata too small.
    """
    changed = np.zeros(len(table), dtype=bool)
    for j, stratum in enumerate(table.strata):
        if stratum.tree is not None:
            wider = _merged(table, stratum, k)
            changed |= wider != stratum.values
            strata = list(table.strata)
            strata[j] = replace(stratum, values=wider)
            coarser = replace(table, strata=tuple(strata))
            vars(coarser)["embedding"] = table.embedding
            table = coarser
    return table, int(changed.sum())


def _merged(table: Table, stratum: Stratum, k: int) -> Integers:
    """Replace the values of small strata by wider ones of the column's tree."""
    tree = stratum.tree
    assert tree is not None
    values = stratum.values.copy()
    rest = [each.values for each in table.strata if each is not stratum]
    others = combinations(rest) if rest else np.zeros(len(values), dtype=np.int64)
    for level in range(tree.levels, 0, -1):
        _merge_level(values, others, table.units, tree, level, k)
    return values


def _merge_level(
    values: Integers, others: Labels, units: Integers | None, tree: Tree, level: int, k: int
) -> None:
    """Move small strata of one level up to their parent, in place.

    Strata are merged apart in each combination of the other strata.
    """
    parents, depth = tree.parents, tree.depth
    blocks = combinations([values, others])
    small = _in_small(blocks, units, k)
    rising = small & (depth[values] == level)
    families = {
        (int(o), int(parents[v])) for o, v in zip(others[rising], values[rising], strict=True)
    }
    for other, parent in sorted(families):
        family = (others == other) & (parents[values] == parent) & (depth[values] == level)
        goes_up = family & small
        # what is published under the parent's name already counts as well
        named = (others == other) & (values == parent)
        while _count(goes_up | named, units) < k and (family & ~goes_up).any():
            rest = family & ~goes_up
            sizes = np.bincount(values[rest])
            siblings = np.flatnonzero(sizes)
            smallest = siblings[np.argmin(sizes[siblings])]
            goes_up |= rest & (values == smallest)
        values[goes_up] = parent


def _count(rows: Mask, units: Integers | None) -> int:
    return int(rows.sum()) if units is None else np.unique(units[rows]).size
