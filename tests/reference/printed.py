"""Reads printed tables and the benchmark sets."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from algorithms.types import Matrix

HERE = Path(__file__).parent


def printed(name: str) -> list[dict[str, str]]:
    """Read a table of figures, as strings exactly as printed; lines with # are about the source."""
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def dataset(name: str) -> Matrix:
    """Read a benchmark set with the columns that the papers use."""
    folder = os.environ.get("MICRORELEASE_BENCHMARK_DATA")
    if not folder:
        pytest.skip("MICRORELEASE_BENCHMARK_DATA names no folder with the benchmark sets")
    with (Path(folder) / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    used = [
        column
        for column in rows[0]
        if name != "eia" or column == "UTILITYID" or column.endswith(("REVENUE", "SALES"))
    ]
    return np.array([[float(row[column]) for column in used] for row in rows])
