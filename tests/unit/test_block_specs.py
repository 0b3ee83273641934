"""Blocks in specs, public files and explorations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import microrelease
from algorithms.blocks.cuts import Blocks
from algorithms.errors import SpecError
from expectations.published.claims import claims_of, encode
from expectations.published.verifier import verify
from tasks.explore.cell import choices
from tasks.reporting.methodology import blocks, methodology
from tests.conftest import Request
from tests.publishing import folder_of, publish_all
from tests.unit.test_report import read_facts

BLOCKS = {"rows": 100, "seams": 1}


def many_rows(request_of: Request, rows: int = 300) -> None:
    rng = np.random.default_rng(rows)
    lines = [
        f"p{i},00{i % 9},{rng.integers(0, 99)},{rng.normal(50.0, 9.0):.1f},{i % 7}"
        for i in range(rows)
    ]
    request_of.source.write_text("id,zone,staff,sales,score\n" + "\n".join(lines) + "\n", "utf-8")


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"blocks": {"rows": 99}}, "microaggregation.blocks.rows: must be greater than or equal to"),
    ({"blocks": {"rows": 1e5}}, "microaggregation.blocks.rows: must be a valid integer"),
    (
        {"blocks": {"seams": -1}},
        "microaggregation.blocks.seams: must be greater than or equal to 0",
    ),
    ({"blocks": {"seams": 11}}, "microaggregation.blocks.seams: must be less than or equal to 10"),
    ({"blocks": {"size": 5}}, "microaggregation.blocks.size: no such key"),
    ({"blocks": BLOCKS, "k": 51}, "blocks.rows must be at least 2 k = 102; it is 100"),
    (
        {"blocks": {}, "method": "mhm", "ordering": "zscore"},
        "method 'mhm' cuts one path through all records: drop blocks",
    ),
    ({"blocks": {}, "recut": True}, "recut cuts one path through all groups: drop recut or blocks"),
    (
        {"blocks": {}, "each_column": True},
        "each_column groups single columns, which need no blocks",
    ),
    ({"blocks": {}, "refine": {"seconds": 1.0}}, "refine.seconds is a budget that blocks cannot"),
    (
        {"blocks": {}, "method": "best", "options": {"seconds": 1.0}},
        "options.seconds is a budget that blocks cannot share",
    ),
]


@pytest.mark.parametrize(("how", "words"), FAULTS)
def test_choices_that_blocks_exclude_are_faults(
    request_of: Request, how: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError) as error:
        request_of.load(microaggregation=how)
    assert words in str(error.value)


def test_every_choice_that_blocks_exclude_is_told(request_of: Request) -> None:
    with pytest.raises(SpecError, match=r"recut cuts.*each_column groups"):
        request_of.load(microaggregation={"blocks": {}, "recut": True, "each_column": True})


def test_blocks_have_defaults_and_reach_the_plan(request_of: Request) -> None:
    assert request_of.load().plan.blocks is None
    assert request_of.load(microaggregation={"blocks": {}}).plan.blocks == Blocks(40_000, 1)
    assert request_of.load(microaggregation={"blocks": BLOCKS}).plan.blocks == Blocks(100, 1)


def test_a_release_in_blocks_says_so_in_public(request_of: Request) -> None:
    many_rows(request_of)
    folder = publish_all(request_of, microaggregation={"blocks": BLOCKS})
    assert folder == folder_of(request_of)
    content = (folder / "datapackage.json").read_bytes()
    assert json.loads(content)["microrelease"]["blocks"] == BLOCKS
    claims = verify(folder).claims
    assert claims.blocks == BLOCKS
    assert encode(claims_of(content)) == content
    assert "Sets of more than 100 records were cut" in methodology(claims, read_facts(folder))
    assert not claims.same_release(replace(claims, blocks=None))


def test_a_release_without_blocks_says_nothing_of_them(published: Request) -> None:
    folder = folder_of(published)
    assert "blocks" not in json.loads((folder / "datapackage.json").read_bytes())["microrelease"]
    claims = verify(folder).claims
    assert blocks(claims) == ""
    assert "Blocks" not in methodology(claims, read_facts(folder))


@pytest.mark.parametrize(
    ("seams", "words", "others"),
    [(0, "on its own.", "elsewhere"), (1, ", and once the", "times"), (2, ", and 2 times", "once")],
)
def test_rounds_of_mending_are_told(
    published: Request, seams: int, words: str, others: str
) -> None:
    claims = replace(verify(folder_of(published)).claims, blocks={"rows": 40_000, "seams": seams})
    assert "Sets of more than 40,000 records" in blocks(claims)
    assert words in blocks(claims)
    assert others not in blocks(claims)


def test_the_same_release_in_blocks_has_the_same_bytes(request_of: Request, tmp_path: Path) -> None:
    many_rows(request_of)
    how = {"blocks": BLOCKS, "refine": {"iterations": 0}}
    first = publish_all(request_of, microaggregation=how)
    data = [(first / name).read_bytes() for name in ("data.csv", "data.parquet")]
    elsewhere = tmp_path / "again"
    elsewhere.mkdir()
    again = Request(elsewhere)
    many_rows(again)
    second = publish_all(again, microaggregation=how)
    assert [(second / name).read_bytes() for name in ("data.csv", "data.parquet")] == data


def test_an_exploration_keeps_the_blocks_of_the_spec(request_of: Request) -> None:
    spec = request_of.load(microaggregation={"blocks": BLOCKS})
    path, own = choices(spec, ["mhm", "mdav"], ["zscore"], [3])
    assert path.blocks is None
    assert own.blocks == spec.microaggregation.blocks


def test_blocks_are_an_argument_in_python() -> None:
    x = np.random.default_rng(1).normal(size=(300, 2)).round(2)
    frame = pd.DataFrame(x, columns=["a", "b"])
    masked = microrelease.mask(
        frame, k=3, quasi_identifiers=["a", "b"], method="mdav", blocks=BLOCKS
    )
    assert masked.k >= 3
