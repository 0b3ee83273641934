"""Blocks, and what becomes of them."""

import numpy as np
import pytest

from algorithms.attributes import Number
from algorithms.errors import ContractError
from algorithms.masking import Plan, group, mask, paths, record_sets
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.problem import Budget
from algorithms.table import Stratum, Table
from algorithms.types import Found, Partition
from tests.tables import table_of


def random_table(n: int = 60, strata: int = 1) -> Table:
    rng = np.random.default_rng(n)
    columns = (rng.integers(0, 50, n), rng.normal(size=n), rng.normal(size=n))
    attributes = (Number("a", 0, whole=True), Number("b", places=1), Number("c"))
    by_row = Stratum("region", np.arange(n) % strata)
    return Table(attributes, columns, strata=(by_row,) if strata > 1 else ())


def test_groups_never_cross_strata_and_hold_k_in_each() -> None:
    table = random_table(strata=4)
    masked = mask(table, Plan(k=4, method=METHODS["mdav"]))
    (grouping,) = masked.groupings
    assert table.blocks is not None
    for group_number in range(grouping.partition.sizes.size):
        assert len(set(table.blocks[grouping.partition.labels == group_number])) == 1
    assert grouping.partition.sizes.min() >= 4
    assert len(record_sets(table, Plan(k=4, method=METHODS["mdav"]))) == 4


def test_strata_and_columns_make_a_block_of_each_pair() -> None:
    table = random_table(strata=3)
    plan = Plan(k=5, method=METHODS["imhmi"], ordering=ORDERINGS["zscore"], each_column=True)
    assert len(record_sets(table, plan)) == 9
    masked = mask(table, plan)
    assert [grouping.attributes for grouping in masked.groupings] == [(0,), (1,), (2,)]


def test_a_block_is_grouped_as_a_table_of_its_own() -> None:
    table = random_table(strata=2)
    plan = Plan(k=3, method=METHODS["kward"], recut=True, refine={"iterations": 20})
    (grouping,) = group(table, plan, paths(table, plan))
    assert table.blocks is not None
    for stratum in (0, 1):
        rows = np.flatnonzero(table.blocks == stratum)
        x, grid = table.embedding.x[rows], table.embedding.grid
        alone = Table(
            tuple(map(Number, "abc")), tuple(np.ascontiguousarray(x[:, j]) for j in range(3))
        )
        # on the scale of the whole table
        vars(alone)["embedding"] = type(table.embedding)(
            x, grid, table.embedding.columns, table.embedding.places
        )
        half = Plan(k=3, method=METHODS["kward"], recut=True, refine={"iterations": 10})
        (expected,) = group(alone, half, (None,))
        found = np.unique(grouping.partition.labels[rows], return_inverse=True)[1]
        assert found.tolist() == expected.partition.labels.tolist()


def test_a_search_gets_the_share_of_the_budget_that_its_block_has_of_the_records() -> None:
    assert Budget(30, 2.0).share(1.0) == Budget(30, 2.0)
    assert Budget(30, 2.0).share(0.5) == Budget(15, 1.0)
    assert Budget().share(0.5) == Budget()
    table = random_table(strata=2)
    plan = Plan(k=3, method=METHODS["best"], options={"iterations": 30, "seed": 5})
    (grouping,) = mask(table, plan).groupings
    assert grouping.iterations == 30


def test_the_progress_of_searches_is_passed_on() -> None:
    shares: list[float] = []

    def watch(done: int, share: float, found: Found | None = None, /) -> None:
        assert found is None  # computed only for those who ask for it
        shares.append(share)

    plan = Plan(k=3, method=METHODS["mdav"], refine={"iterations": 5})
    masked = mask(random_table(), plan, watch)
    assert shares[-1] == 1.0
    assert masked.groupings[0].iterations == 5
    assert mask(random_table(), Plan(k=3, method=METHODS["mdav"])).groupings[0].iterations is None


def test_a_table_cannot_be_changed() -> None:
    column = np.array([1.0, 2.0])
    table = table_of([column])
    with pytest.raises(ValueError, match="read-only"):
        table.keys[0][0] = 5.0
    column[0] = 7.0
    assert table.keys[0].tolist() == [1.0, 2.0]


def test_a_published_table_has_no_persons() -> None:
    table = Table((Number("a"),), (np.array([1.0, 2.0, 3.0]),), persons=np.arange(3))
    assert mask(table, Plan(k=3, method=METHODS["mdav"])).published.persons is None


@pytest.mark.parametrize("lengths", [(2, 3), (2, 2)])
def test_a_table_has_one_column_per_attribute_of_one_length(lengths: tuple[int, ...]) -> None:
    attributes = (Number("a"), Number("b")) if lengths[0] != lengths[1] else (Number("a"),)
    with pytest.raises(ContractError, match="one key column per attribute"):
        Table(attributes, tuple(np.zeros(length) for length in lengths))


def test_records_are_told_apart_beyond_the_digits_of_real_numbers() -> None:
    large = np.array([2**62, 2**62 + 1, 2**62])
    assert table_of([large]).sizes.tolist() == [2, 1]
    assert Partition(table_of([large]).classes, 1).sizes.size == 2
