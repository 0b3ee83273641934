"""What the methods give on the benchmark sets, to the digit."""

import numpy as np
import pytest

from algorithms.evaluation import evaluate
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.partition import partition
from algorithms.rounding.centroids import real_centroids
from algorithms.standardisation import standardise
from tests.reference.printed import dataset, printed

READINGS = {
    "MDAV": ("mdav", {}),
    "MDAV[block tail]": ("mdav", {"tail": "block"}),
}


@pytest.mark.reference
@pytest.mark.parametrize(
    "row", printed("measured.csv"), ids=lambda row: f"{row['dataset']}-{row['reading']}-{row['k']}"
)
def test_il_and_dld_are_as_measured(row: dict[str, str]) -> None:
    x = standardise(dataset(row["dataset"]))
    method, options = READINGS[row["reading"]]
    groups = partition(x, int(row["k"]), METHODS[method], **options)
    published = np.column_stack([real_centroids(column, groups) for column in x.T])
    found = evaluate(x, published)
    assert found.il == pytest.approx(float(row["il"]), abs=5e-5)
    assert found.dld == pytest.approx(float(row["dld"]), abs=5e-4)
    sizes = groups.sizes
    assert (sizes.size, sizes.min(), sizes.max()) == (
        int(row["n_groups"]),
        int(row["min_size"]),
        int(row["max_size"]),
    )
