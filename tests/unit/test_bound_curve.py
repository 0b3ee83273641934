"""The curve of bounds by k, against all partitions of small tables."""

import json
import os
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from algorithms.attributes import Number
from algorithms.attributes.category import Category
from algorithms.attributes.tree import Tree
from algorithms.bounds.distances import neighbour_bound
from algorithms.comparison import Comparison
from algorithms.evaluation import evaluate
from algorithms.masked import Grouping
from algorithms.masking import Plan, published_loss, represent
from algorithms.measure import DECIMALS
from algorithms.microaggregation import METHODS
from algorithms.strata import settle
from algorithms.table import Stratum, Table
from algorithms.types import Integers, Partition
from algorithms.utility import bound_curve as curves
from algorithms.utility.bound_curve import BoundCurve, bound_curve, ks_around, ks_between
from expectations.request.sections.microaggregation import MicroaggregationSection
from tasks.bound import bound
from tasks.ingest import ingest
from tasks.validate import validate
from tests.conftest import Request
from tests.oracles import mixed
from tests.tables import table_of

# kernels as plain Python, for coverage, are hundreds of times slower
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
ROUNDS = 40 if COMPILED else 12


def drawn(rng: np.random.Generator, n: int, strata: Integers | None = None) -> Table:
    """Draw a table of labels and numbers, with ties and outliers."""
    attributes = (Category("label", ("a", "b", "c")), Number("x"), Number("y"))
    keys = (
        rng.integers(0, 3, n),
        rng.integers(0, 4, n).astype(np.float64),
        rng.standard_cauchy(n),
    )
    return Table(attributes, keys, strata=() if strata is None else (Stratum("zone", strata),))


def least_il(table: Table, k: int) -> float:
    """Try every partition that crosses no stratum, and publish it."""
    blocks = np.zeros(len(table), dtype=np.int64) if table.blocks is None else table.blocks
    sst = ((table.embedding.x - table.embedding.centre) ** 2).sum()
    losses = []
    for labels in mixed.every_partition(len(table), k):
        groups = np.array(labels)
        if all(np.unique(blocks[groups == group]).size == 1 for group in set(labels)):
            losses.append(published_loss(table, Partition(groups, k)))
    return float(100.0 * min(losses) / sst)


@pytest.mark.parametrize("rounds", [0, ROUNDS])
def test_no_partition_loses_less_than_the_curve(rounds: int) -> None:
    rng = np.random.default_rng(7)
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    ratios = []
    for number in range(24 if COMPILED else 4):
        table = drawn(rng, 8, strata if number % 2 else None)
        found = bound_curve(table, [2, 3, 4], rounds=rounds)
        assert not found.note
        for k, least in found.least.items():
            best = least_il(table, k)
            assert least <= best * (1.0 + 1e-9)
            ratios.append(least / best)
    assert len(ratios) == 3 * (24 if COMPILED else 4)
    assert max(ratios) > 0.9


def test_the_curve_never_falls_and_is_cut_off_rather_than_rounded() -> None:
    rng = np.random.default_rng(2)
    x = np.repeat(rng.normal(size=(20, 2)) * 9.0, 3, axis=0)
    table = table_of(list(x.T))
    ks = ks_around(5)
    found = bound_curve(table, ks)
    assert list(found.least) == ks
    values = list(found.least.values())
    assert values == sorted(values)
    assert values[0] == values[1] == 0.0
    for k in ks:
        (alone,) = bound_curve(table, [k]).least.values()
        assert alone <= found.least[k]
        assert round(alone, DECIMALS) == alone == float(f"{alone:.4g}")


def test_the_curve_agrees_with_the_measure_of_a_masked_file() -> None:
    table = drawn(np.random.default_rng(5), 60, np.repeat([0, 1, 2], 20))
    plan = Plan(k=4, method=METHODS["mdav"])
    labels = np.repeat(np.arange(15), 4)
    groupings = (Grouping((0, 1, 2), Partition(labels, 4)),)
    files = Comparison(represent(settle(table, 4), plan, groupings))
    measured = evaluate(files).measures["il_bound"]
    least = bound_curve(table, [4]).least[4]
    assert least == pytest.approx(measured, rel=1e-3)
    assert least <= measured


def test_rounds_raise_the_curve_and_known_bounds_do() -> None:
    table = drawn(np.random.default_rng(3), 40)
    plain, rising = (bound_curve(table, [2, 4, 6], rounds=each).least for each in (0, ROUNDS))
    assert all(rising[k] >= plain[k] for k in plain)
    assert rising != plain
    known = bound_curve(table, [2, 4, 6], known={4: 99.12345}).least
    assert known == {2: plain[2], 4: 99.12, 6: 99.12}
    # what rounding may have added to a figure is taken off
    assert bound_curve(table, [4], known={4: 50.0}).least[4] < 50.0


def test_the_strongest_bounds_are_left_out_where_they_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = drawn(np.random.default_rng(3), 30)
    spent = []
    strongest = curves.strongest_bound

    def noted(*args: Any, rounds: int, **options: Any) -> Any:
        spent.append(rounds)
        return strongest(*args, rounds=rounds, **options)

    monkeypatch.setattr(curves, "strongest_bound", noted)
    monkeypatch.setattr(curves, "MOST_ROUNDS", 25)
    assert bound_curve(table, [2, 3], rounds=4).note == ""
    assert bound_curve(table, [2, 3], rounds=1000).note == "in at most 25 rounds for each k"
    assert spent == [4, 4, 25, 25]
    monkeypatch.setattr(curves, "MOST_WORK", 30 * 2 * 21)
    found = bound_curve(table, [2, 3], rounds=1000)
    assert found.note == "in at most 21 rounds for each k"
    monkeypatch.setattr(curves, "MOST_WORK", 30 * 2 * curves.FEWEST_ROUNDS - 1)
    weighted = bound_curve(table, [2, 3], rounds=1000)
    assert weighted.note == "by weighted distances; stronger bounds would take too long"
    assert spent[4:] == [21, 21]
    plain = bound_curve(table, [2, 3])
    assert all(plain.least[k] <= weighted.least[k] <= found.least[k] for k in (2, 3))


def test_withheld_records_lose_their_distance_to_the_mean_and_sets_are_not_mixed() -> None:
    x = np.array([0.0, 0.1, 9.0, -9.0, 0.2, 0.3, 0.4, 0.5])
    table = replace(table_of([x]), strata=(Stratum("zone", np.array([0, 0, 1, 1, 0, 0, 0, 0])),))
    refused = bound_curve(table, [2, 3, 4])
    assert list(refused.least) == [2]
    assert refused.note == (
        "up to k = 2, because strata or patterns of missing values are too small"
    )
    found = bound_curve(table, [2, 3, 6], "withhold")
    assert list(found.least) == [2, 3, 6]
    assert not found.note
    settled = settle(table, 6, "withhold")
    assert settled.withheld is not None
    centre, kept = table.embedding.centre, settled.table.embedding.x
    sst = ((table.embedding.x - centre) ** 2).sum()
    withheld = ((settled.withheld.embedding.x - centre) ** 2).sum()
    one_group = ((kept - kept.mean()) ** 2).sum()
    assert 0.999 * withheld <= found.least[3] * sst / 100.0
    assert found.least[3] <= found.least[6] <= 100.0 * (withheld + one_group) / sst


def test_a_bound_is_not_carried_over_to_merged_strata() -> None:
    tree = Tree.of([("N", "N1"), ("N", "N2")])
    leaves = [tree.leaves[name] for name in ("N1", "N1", "N2", "N2", "N2", "N2")]
    x = np.array([0.0, 9.0, 0.0, 0.0, 9.0, 9.0])
    table = replace(table_of([x]), strata=(Stratum("zone", np.array(leaves), tree),))
    found = bound_curve(table, [2, 3], "merge")
    # records that are far apart form a stratum, and at k = 3 they may join equal ones
    assert found.least[2] > found.least[3] == 0.0
    # so the bound for 2 must not seem to hold up to 4
    assert list(bound_curve(table, [2, 4], "merge").least) == [2, 3, 4]
    assert bound_curve(table, [7], "merge").least == {}


def test_a_curve_of_equal_records_says_that_nothing_varies() -> None:
    assert bound_curve(table_of([np.ones(12)]), [2, 3]) == BoundCurve(note="no key column varies")


def test_large_tables_get_a_cheaper_curve_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    table = drawn(np.random.default_rng(3), 30, np.repeat([0, 1], 15))
    monkeypatch.setattr(curves, "LARGEST_IN_ROUNDS", 29)
    found = bound_curve(table, [2, 3, 20], rounds=ROUNDS)
    assert found.note == (
        "by nearest neighbours; rounds are spent on curves of at most 29 records; up to k = 19, "
        "because strata or patterns of missing values are too small"
    )
    assert found.least == bound_curve(table, [2, 3]).least
    monkeypatch.setattr(curves, "LARGEST_WITH_LABELS", 29)
    why = "it is drawn for tables with labels of at most 29 records"
    assert bound_curve(table, [2]) == BoundCurve(note=why)
    numbers = table_of([np.arange(30.0)])
    assert list(bound_curve(numbers, [2]).least) == [2]
    monkeypatch.setattr(curves, "LARGEST_TABLE", 29)
    why = "it is drawn for tables of at most 29 records"
    assert bound_curve(numbers, [2]) == BoundCurve(note=why)


def test_one_search_for_neighbours_gives_the_bounds_for_every_k() -> None:
    rng = np.random.default_rng(6)
    for x in (rng.normal(size=(90, 3)), rng.integers(0, 3, (90, 2)).astype(np.float64)):
        near = curves._Neighbours(x, 40)
        for k in (2, 3, 7, 39, 40):
            assert near.bound(k) == neighbour_bound(x, k)


def test_no_group_is_larger_than_the_table() -> None:
    table = table_of([np.arange(5.0)])
    assert list(bound_curve(table, [2, 5, 6, 90]).least) == [2, 5]


@pytest.mark.parametrize("k", [2, 3, 5, 10, 25, 200])
def test_the_k_of_a_release_stands_between_its_neighbours(k: int) -> None:
    ks = ks_around(k)
    assert {max(k - 1, 2), k, k + 1, 2, 4 * k} <= set(ks)
    assert all(a < b for a, b in pairwise(ks))
    assert len(ks) <= curves.POINTS + 3


def test_gaps_between_values_of_k_are_filled_if_they_are_small() -> None:
    assert ks_between([4]) == [4]
    assert ks_between([15, 3, 5]) == list(range(3, 16))
    far = ks_between([2, 3, 1000])
    assert {2, 3, 1000} < set(far)
    assert len(far) <= curves.MOST_POINTS + 3


def test_the_stage_takes_the_rounds_of_the_spec_and_says_what_it_leaves_out(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = request_of.load(evaluation={"bound_rounds": 5})
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    found = bound.fn(table, spec, [2, 3], {})
    assert found == bound_curve(table, [2, 3], rounds=5)
    assert list(found.least) == [2, 3]
    monkeypatch.setattr("tasks.bound.DEFAULT_ROUNDS", 4)
    seconds = request_of.load(evaluation={"certify_seconds": 9.0})
    assert bound.fn(table, seconds, [2, 3], {}) == bound_curve(table, [2, 3], rounds=4)
    assert "not held in memory" in bound.fn(None, spec, [2], {}).note
    apart = MicroaggregationSection(method="mdav", k=3, each_column=True)
    spec = spec.model_copy(update={"microaggregation": apart})
    assert "each column is grouped on its own" in bound.fn(table, spec, [2], {}).note


def test_the_curve_holds_figures_and_no_value_of_a_record() -> None:
    x = np.random.default_rng(8).lognormal(3.0, 2.0, (50, 2))
    found = asdict(bound_curve(table_of(list(x.T)), ks_around(4)))
    assert set(found) == {"least", "note"}
    for value in found["least"].values():
        assert len(repr(value).replace(".", "").lstrip("0")) <= curves.DIGITS
    assert json.loads(json.dumps(found))["least"].keys() == {str(k) for k in ks_around(4)}
