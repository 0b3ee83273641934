"""What the methods give on the benchmark sets, to the digit."""

import pytest

from algorithms.search.linkage import distance_linkage
from algorithms.utility.il import information_loss
from tests.reference.printed import as_printed, loss, measured, printed, proven_bounds
from tests.reference.readings import (
    CLIPPED,
    MISPRINTS,
    READINGS,
    REPRODUCED,
    readings_of,
    source_key,
)

pytestmark = [pytest.mark.reference, pytest.mark.needs("benchmark sets")]


@pytest.mark.parametrize(
    "row", printed("measured.csv"), ids=lambda row: f"{row['dataset']}-{row['reading']}-{row['k']}"
)
def test_il_and_dld_are_as_measured(row: dict[str, str]) -> None:
    groups, x, published = measured(row["dataset"], int(row["k"]), READINGS[row["reading"]])
    assert information_loss(x, published)[0] == pytest.approx(float(row["il"]), abs=5e-5)
    assert distance_linkage(x, published).expected == pytest.approx(float(row["dld"]), abs=5.1e-4)
    sizes = groups.sizes
    assert (sizes.size, sizes.min(), sizes.max()) == (
        int(row["n_groups"]),
        int(row["min_size"]),
        int(row["max_size"]),
    )


def figures() -> list[object]:
    """List the printed figures of methods that are reproduced; known misprints must fail."""
    return [
        pytest.param(
            row,
            id="-".join(source_key(row)),
            marks=[pytest.mark.xfail(reason=MISPRINTS[source_key(row)], strict=True)]
            if source_key(row) in MISPRINTS
            else [],
        )
        for row in printed("paper_il.csv")
        if row["method"] in REPRODUCED
    ]


@pytest.mark.parametrize("row", figures())
def test_il_is_as_printed(row: dict[str, str]) -> None:
    text = f"{float(row['il']):.2f}" if row["method"] in CLIPPED else row["il"]
    found = [loss(row["dataset"], int(row["k"]), reading) for reading in readings_of(row)]
    assert any(as_printed(value, text) for value in found), found


@pytest.mark.parametrize(("name", "k"), list(proven_bounds()))
def test_no_method_goes_below_the_proven_bound(name: str, k: int) -> None:
    for method in REPRODUCED:
        assert loss(name, k, READINGS[method]) > proven_bounds()[name, k]
