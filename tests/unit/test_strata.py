"""Small strata: refused, withheld or merged."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.attributes import Number, WithMissing
from algorithms.attributes.tree import Tree
from algorithms.errors import ContractError, RefusedError
from algorithms.masking import Plan, mask
from algorithms.microaggregation import METHODS
from algorithms.strata import settle
from algorithms.table import Codes, Stratum, Table
from algorithms.types import Integers

TREE = Tree.of([("N", "N1"), ("N", "N2"), ("N", "N3"), ("S", "S1"), ("S", "S2")])


def table_in(strata: str, tree: Tree | None = TREE, units: Integers | None = None) -> Table:
    """Draw records in strata that are named one after the other."""
    names = strata.split()
    numbers = (
        {name: i for i, name in enumerate(sorted(set(names)))} if tree is None else tree.leaves
    )
    values = np.array([numbers[name] for name in names])
    n = len(values)
    return Table(
        (Number("a"),),
        (np.arange(n) ** 2.0,),
        strata=(Stratum("region", values, tree),),
        units=units,
    )


def named(table: Table) -> list[str]:
    (stratum,) = table.strata
    assert stratum.tree is not None
    return [stratum.tree.names[i] for i in stratum.values]


def test_a_table_without_strata_is_settled() -> None:
    table = Table((Number("a"),), (np.arange(3.0),))
    assert settle(table, 9).table is table


def test_strata_that_are_large_enough_stay() -> None:
    table = table_in("N1 N1 S1 S1", tree=None)
    settled = settle(table, 2)
    assert settled.table is table
    assert (settled.withheld, settled.merged) == (None, 0)


@pytest.mark.parametrize("small", ["block", "merge"])
def test_small_strata_are_refused_with_counts_and_without_names(small: str) -> None:
    with pytest.raises(RefusedError) as raised:
        settle(table_in("N1 N1 N1 S1 S2 S2", tree=None), 3, small)  # type: ignore[arg-type]
    assert str(raised.value).startswith(
        "strata must hold at least k=3 records each; 2 with 3 records hold fewer: "
    )
    assert "S1" not in str(raised.value)


def test_patterns_of_missing_values_that_stay_apart_are_blocks_too() -> None:
    gaps = np.array([1.0, 2.0, np.nan, np.nan, np.nan])
    table = Table((WithMissing(Number("a"), "apart"),), (gaps,))
    with pytest.raises(RefusedError, match=r"^patterns of missing values must hold at least k=3"):
        settle(table, 3)
    both = replace(table, strata=(Stratum("region", np.zeros(5, dtype=np.int64)),))
    with pytest.raises(RefusedError, match=r"^strata or patterns of missing values must hold"):
        settle(both, 3)
    assert len(settle(both, 3, "withhold").table) == 3
    groups = mask(table, Plan(k=2, method=METHODS["mdav"])).published.keys[0]
    assert np.array_equal(groups, [1.5, 1.5, np.nan, np.nan, np.nan], equal_nan=True)


def test_small_strata_are_withheld_on_the_scale_of_the_whole_table() -> None:
    table = table_in("N1 S1 N1 S1 N1 N2", tree=None)
    settled = settle(table, 2, "withhold")
    assert settled.withheld is not None
    assert settled.table.keys[0].tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]
    assert settled.withheld.keys[0].tolist() == [25.0]
    assert settled.table.embedding.x.tolist() == table.embedding.x[:5].tolist()


def test_not_everything_is_withheld() -> None:
    with pytest.raises(RefusedError, match="for nothing would be left"):
        settle(table_in("N1 N2 S1", tree=None), 2, "withhold")


@pytest.mark.parametrize(
    ("strata", "k", "expected"),
    [
        # small strata of one parent are enough together
        ("N1 N1 N2 N3 S1 S1", 2, "N1 N1 N N S1 S1"),
        # too small together: the smallest other stratum of that parent joins
        ("N1 N1 N1 N2 N2 N3 S1 S1", 2, "N1 N1 N1 N N N S1 S1"),
        # no other stratum of that parent: one level up, where others have come as well
        ("N1 N2 S1 S2", 4, "* * * *"),
        ("N1 N2 N3 S1 S2 S2", 3, "N N N S S S"),
    ],
)
def test_small_strata_are_merged_along_the_tree(strata: str, k: int, expected: str) -> None:
    table = table_in(strata)
    settled = settle(table, k, "merge")
    assert named(settled.table) == expected.split()
    changed = sum(a != b for a, b in zip(strata.split(), expected.split(), strict=True))
    assert settled.merged == changed
    assert settled.table.embedding is table.embedding


def test_a_stratum_that_finds_no_other_on_its_level_is_refused() -> None:
    with pytest.raises(RefusedError, match="1 with 1 records hold fewer: withhold them"):
        settle(table_in("N1 N1 S1"), 2, "merge")


def test_units_are_counted_where_there_are_any() -> None:
    units = np.array([1, 1, 1, 2, 3, 4])
    table = table_in("N1 N1 N1 N2 S1 S2", units=units)
    with pytest.raises(RefusedError, match="k=2 units each; 4 with 6 records hold fewer"):
        settle(table, 2)
    assert named(settle(table, 2, "merge").table) == ["N", "N", "N", "N", "S", "S"]


def test_strata_are_merged_apart_for_each_value_of_the_others() -> None:
    table = table_in("N1 N1 N2 N2 N1 N2 N1 N2")
    sex = Stratum("sex", np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    merged = settle(replace(table, strata=(*table.strata, sex)), 2, "merge").table
    assert named(replace(merged, strata=merged.strata[:1])) == [
        "N1",
        "N1",
        "N2",
        "N2",
        "N1",
        "N2",
        "N1",
        "N2",
    ]
    merged = settle(replace(table, strata=(*table.strata, sex)), 3, "merge").table
    assert named(replace(merged, strata=merged.strata[:1])) == ["N"] * 8


def test_an_importance_stretches_coordinates() -> None:
    columns = (np.array([1.0, 2.0, 4.0, 9.0]), np.array([3.0, 1.0, 2.0, 2.0]))
    plain = Table((Number("a", places=0), Number("b")), columns)
    table = replace(plain, importance=(4.0, 1.0))
    assert table.embedding.x == pytest.approx(plain.embedding.x * [2.0, 1.0])
    assert table.embedding.grid.step == pytest.approx(plain.embedding.grid.step * [2.0, 1.0])
    assert table.embedding.centre == pytest.approx([0.0, 0.0])
    assert table.embedding.one_label.tolist() == [False, False]
    masked = mask(table, Plan(k=2, method=METHODS["mdav"]))
    means = plain.embedding.columns[0].embed(np.array([1.5, 1.5, 6.5, 6.5]))
    assert masked.averages[:, 0] == pytest.approx(2.0 * means[:, 0])


def test_a_table_has_one_importance_per_key_column() -> None:
    with pytest.raises(ContractError, match="one importance per key column"):
        Table((Number("a"),), (np.arange(3.0),), importance=(1.0, 2.0))


def test_selected_records_keep_everything_about_them() -> None:
    numbers = Codes(np.array([0, 1, 2]), ordered=True, numbers=np.array([5.0, 6.0, 7.0]))
    table = Table(
        (Number("a"),),
        (np.array([1.0, 2.0, 4.0]),),
        carried={"c": np.array(["x", "y", "z"])},
        confidential={"c": numbers},
        other={"o": Codes(np.array([1, 0, 1]))},
        persons=np.arange(3),
        strata=(Stratum("region", np.array([0, 1, 0])),),
        units=np.array([7, 8, 7]),
        weights=np.array([1.0, 2.0, 3.0]),
    )
    taken = table.take(np.array([2, 0]))
    assert taken.carried["c"].tolist() == ["z", "x"]  # type: ignore[attr-defined]
    # numbered again: a value that is left out counts no more
    assert taken.confidential["c"].values.tolist() == [1, 0]
    assert taken.confidential["c"].numbers is not None
    assert taken.confidential["c"].numbers.tolist() == [7.0, 5.0]
    assert taken.other["o"].values.tolist() == [0, 0]
    assert taken.other["o"].numbers is None
    assert [column.tolist() for column in (taken.persons, taken.units, taken.weights)] == [  # type: ignore[union-attr]
        [2, 0], [7, 7], [3.0, 1.0],
    ]  # fmt: skip
    assert taken.strata[0].values.tolist() == [0, 0]


def test_everything_that_is_published_beside_confidential_columns_counts_into_k() -> None:
    keys = (np.zeros(4), np.array([1.0, np.nan, np.nan, 1.0]))
    attributes = (Number("a"), WithMissing(Number("b"), "state"))
    table = Table(attributes, keys)
    assert table.sizes.tolist() == [2, 2]
    assert replace(table, weights=np.array([1.0, 1.0, 1.0, 2.0])).sizes.size == 3
    assert replace(table, other={"o": Codes(np.arange(4))}).sizes.size == 4
    assert replace(table, strata=(Stratum("s", np.array([0, 1, 0, 0])),)).sizes.size == 3


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("averaged", [1.5, 1.5, 3.5, 3.5]), ("never", None), ("as_it_is", [1.0, 2.0, 3.0, 4.0])],
)
def test_weights_are_published_by_their_rule(rule: str, expected: list[float] | None) -> None:
    table = Table(
        (Number("a"),), (np.array([0.0, 1.0, 8.0, 9.0]),), weights=np.array([1.0, 2.0, 3.0, 4.0])
    )
    plan = Plan(k=2, method=METHODS["mdav"], weight_published=rule)  # type: ignore[arg-type]
    weights = mask(table, plan).published.weights
    assert (None if weights is None else weights.tolist()) == expected
