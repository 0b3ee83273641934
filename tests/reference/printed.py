"""Reads printed tables and the benchmark sets, and holds figures against prints."""

import csv
import os
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path

import numpy as np

from algorithms.cutting import cut_path
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.imhmi import paper_units
from algorithms.orderings import ORDERINGS
from algorithms.problem import Problem
from algorithms.rounding.centroids import integer_centroids, real_centroids
from algorithms.standardisation import standardise
from algorithms.types import Integers, Matrix, Order, Partition
from algorithms.utility.il import information_loss
from tests.reference.readings import Reading
from tests.tools import VARIABLE

HERE = Path(__file__).parent


def printed(name: str) -> list[dict[str, str]]:
    """Read a table of figures, as strings exactly as printed; lines with # are about the source."""
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def proven_bounds() -> dict[tuple[str, int], float]:
    """Read the best bound that is proven for each set and group size."""
    return {
        (row["dataset"], int(row["k"])): max(
            float(value) for name, value in row.items() if name.endswith("_bound") and value
        )
        for row in printed("lower_bounds.csv")
    }


def columns_used(name: str, columns: list[str], ten_attributes: bool = False) -> list[str]:
    """Choose the columns of a benchmark set that the papers use."""
    return [
        column
        for column in columns
        if name != "eia"
        or column.endswith(("REVENUE", "SALES"))
        or (column == "UTILITYID" and not ten_attributes)
    ]


@cache
def dataset(name: str, ten_attributes: bool = False) -> Matrix:
    """Read a benchmark set, standardised, with the columns that the papers use."""
    with (Path(os.environ[VARIABLE]) / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    used = columns_used(name, list(rows[0]), ten_attributes)
    return standardise(np.array([[float(row[column]) for column in used] for row in rows]))


@cache
def measured(name: str, k: int, reading: Reading) -> tuple[Partition, Matrix, Matrix]:
    """Group a benchmark set; return the groups, the set, and what would be published of it."""
    x = dataset(name, reading.ten_attributes)
    path = None
    if reading.ordering is not None:
        path = ORDERINGS[reading.ordering].path(x, k, **reading.ordering_options)
    groups = METHODS[reading.method].solve(Problem(x, k, path=path), reading.options)
    return groups, x, np.column_stack([real_centroids(column, groups) for column in x.T])


def loss(name: str, k: int, reading: Reading) -> float:
    """Measure the IL of a reading on a benchmark set."""
    _, x, published = measured(name, k, reading)
    return information_loss(x, published)[0]


@cache
def _path(name: str, ordering: str, k: int) -> Order:
    return ORDERINGS[ordering].path(dataset(name), k)


def along_path(row: dict[str, str]) -> tuple[Integers, int]:
    """Take the records as the paper cuts them."""
    k = int(row["k"]) if ORDERINGS[row["ordering"]].for_groups else 0
    units = paper_units(dataset(row["dataset"]))
    return units[_path(row["dataset"], row["ordering"], k)], int(row["k"])


def rounded_loss(values: Integers, k: int) -> int:
    """Cut for real centroids, round those, and measure: what the paper calls IMHM."""
    groups = Partition(cut_path(values.astype(np.float64), k)[0], k)
    centroids = np.column_stack([integer_centroids(column, groups) for column in values.T])
    return int(((values - centroids) ** 2).sum())


def as_printed(value: float, text: str) -> bool:
    """Tell whether a value agrees with a print, which may have been rounded or cut off."""
    print_ = Decimal(text)
    unit = Decimal(1).scaleb(int(print_.as_tuple().exponent))
    exact = Decimal(value)
    return print_ in (exact.quantize(unit, ROUND_HALF_UP), exact.quantize(unit, ROUND_DOWN))
