"""Muted records: what is checked of them before publication, and what anyone can check later."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from algorithms.attributes import Number
from algorithms.comparison import Comparison, Released
from algorithms.errors import ContractError, IntegrityError
from algorithms.evaluation import evaluate_released
from algorithms.masked import Grouping, Masked
from algorithms.strata import Settled
from algorithms.table import Codes, Table
from algorithms.types import Mask, Partition
from expectations.gate import Verdicts
from expectations.manifest import Record
from expectations.published.recomputed import recompute
from expectations.published.verifier import silent_rows, verify
from tasks.evaluate import evaluate
from tasks.ingest import ingest
from tasks.judge import Judgement, judge
from tasks.publish import publish
from tasks.round_integers import round_integers
from tasks.validate import validate
from tests.conftest import Request
from tests.publishing import rewrite
from tests.vaults import remembered

MUTED = np.array([True, False, False, False, True, False, False])


def masked_with(
    request_of: Request, muted: Mask, labels: Sequence[int] = (0, 0, 0, 1, 1, 1, 1), **sections: Any
) -> tuple[Masked, Any]:
    """Mask the small table in two groups, with some records muted."""
    spec = request_of.load(**sections)
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    k = spec.microaggregation.k
    grouping = Grouping((0, 1), Partition(np.array(labels), k=k), muted=muted)
    return round_integers.fn(Settled(table), spec.plan, (grouping,)), spec


def judgement_on(masked: Masked, spec: Any) -> Judgement:
    found = evaluate.fn(Comparison(masked), spec)
    verdicts = Verdicts(found, spec.gate, spec.microaggregation.k, spec.columns, series=spec.series)
    return judge.fn(masked, verdicts, spec)


def judged(masked: Masked, spec: Any) -> list[str]:
    return [finding.rule for finding in judgement_on(masked, spec).findings]


def test_cells_of_muted_records_must_be_empty_and_all_others_unchanged(request_of: Request) -> None:
    rules = judged(*masked_with(request_of, MUTED))
    assert rules[-4:] == [
        "'zone' must be unchanged in records that are not muted",
        "'score' must be unchanged in records that are not muted",
        "'zone' must be empty in muted records",
        "'score' must be empty in muted records",
    ]
    assert "'zone' must be unchanged" not in rules


def test_a_table_may_be_muted_as_a_whole_or_not_at_all(request_of: Request) -> None:
    assert "'zone' must be empty in muted records" in judged(
        *masked_with(request_of, np.ones(7, dtype=bool))
    )
    rules = judged(*masked_with(request_of, np.zeros(7, dtype=bool)))
    assert "'zone' must be unchanged" in rules
    assert "'zone' must be empty in muted records" not in rules


def test_a_stratum_stays_as_it_is_in_muted_records(request_of: Request) -> None:
    columns = {"strata": ["zone"], "confidential": ["score"]}
    by_zone = (0, 1, 0, 1, 0, 1, 0)
    masked, spec = masked_with(request_of, MUTED, by_zone, columns=columns)
    with pytest.raises(ContractError) as raised:
        judged(replace(masked, published=shuffled(masked.published, "zone")), spec)
    assert "'zone' must be unchanged" in str(raised.value)


def shuffled(table: Table, name: str) -> Table:
    column: Any = table.carried[name]
    order = np.roll(np.arange(len(table)), 1)
    return replace(table, carried={**table.carried, name: column.take(order)})


def test_a_record_that_should_be_muted_and_is_not_is_never_published(request_of: Request) -> None:
    masked, spec = masked_with(request_of, MUTED)
    published = replace(masked.published, muted=np.roll(MUTED, 1))
    with pytest.raises(ContractError) as raised:
        judged(replace(masked, published=published), spec)
    assert "'zone' must be unchanged in records that are not muted" in str(raised.value)
    published = replace(masked.published, muted=np.arange(7) == 0)
    grouping = replace(masked.groupings[0], muted=MUTED)
    with pytest.raises(ContractError) as raised:
        judged(replace(masked, published=published, groupings=(grouping,)), spec)
    assert "'zone' must be empty in muted records; 1 row breaks this" in str(raised.value)


@pytest.fixture
def folder(request_of: Request) -> Path:
    """Publish the small table with two muted records."""
    masked, spec = masked_with(request_of, MUTED, series={"window": 4})
    approval = judgement_on(masked, spec).approval
    return publish.fn(masked, approval, spec, Record.of(spec), None, remembered(spec)).folder


def test_the_verifier_counts_muted_rows(folder: Path) -> None:
    verified = verify(folder)
    assert verified.claims.muted == 2
    assert recompute(verified)["one_value"] == verified.claims.measures["one_value"]
    rewrite(folder, lambda package: package["microrelease"]["series"].update(muted=3))
    with pytest.raises(IntegrityError, match="must be empty in 3 muted rows; they are in 2"):
        verify(folder)


def test_muted_rows_are_found_again_where_measures_are_recomputed(folder: Path) -> None:
    rewrite(folder, lambda package: package["microrelease"]["series"].update(muted=0))
    with pytest.raises(IntegrityError, match="l_distinct must be"):
        recompute(verify(folder))


def test_a_table_without_columns_to_mute_claims_what_it_likes(folder: Path) -> None:
    verified = verify(folder)
    roles = dict.fromkeys(verified.claims.roles, "quasi-identifier")
    claims = replace(verified.claims, roles=roles)
    assert pc.all(silent_rows(next(verified.batches()), claims)).as_py()


def classes_with(values: list[int], muted: list[bool], other: bool = False) -> dict[str, float]:
    """Measure two classes of four records each, with some confidential values muted."""
    codes = Codes(np.array(values), ordered=True, numbers=np.array(values, dtype=float))
    table = Table(
        (Number("a"),),
        (np.repeat([1.0, 2.0], 4),),
        confidential={"c": codes},
        other={"o": Codes(np.zeros(8, dtype=np.int64))} if other else {},
    )
    return evaluate_released(Released(table.mute(np.array(muted)), 2))


NOBODY = [False] * 8


def test_muted_records_share_no_value() -> None:
    both = [True, True] + [False] * 6
    plain = classes_with([0, 0, 1, 2, 1, 2, 3, 0], NOBODY)
    found = classes_with([0, 0, 1, 2, 1, 2, 3, 0], both)
    assert (plain["one_value"], found["one_value"]) == (0.0, 0.0)
    assert (plain["l_distinct"], found["l_distinct"]) == (3.0, 2.0)
    # an empty cell is no value that could make a group more diverse
    same = classes_with([0, 0, 1, 1, 1, 2, 3, 0], both)
    assert same["one_value"] == 25.0
    assert same["l_distinct"] == 1.0
    # nobody is recognised by an empty cell
    alone = classes_with([1, 1, 1, 1, 2, 2, 2, 2], [True] + [False] * 7)
    assert alone["unique_with_one"] == alone["below_k_with_all"] == 0.0


def test_a_table_without_visible_records_tells_nothing() -> None:
    found = classes_with([0, 0, 1, 2, 1, 2, 3, 0], [True] * 8)
    assert found["one_value"] == found["unique_with_all"] == 0.0
    assert "l_distinct" not in found


def test_a_record_with_no_value_at_all_looks_like_a_muted_one() -> None:
    codes = Codes(np.array([0, 1, 2, 2]), missing=2)
    table = Table((Number("a"),), (np.ones(4),), confidential={"c": codes})
    assert not table.silent.any()
    assert table.mute(np.arange(4) == 3).silent.tolist() == [False, False, True, True]
    full = Codes(np.array([0, 1, 0, 1]))
    shown = replace(table, other={"o": full}, muted=np.arange(4) == 3)
    assert not shown.silent.any()
