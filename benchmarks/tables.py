"""Tables for benchmarks: three kinds of any length with ten attributes, and awkward ones.

``heavy_tailed`` is the built-in example, ``quantised`` is bounded and in whole numbers, with the
dependences of terrain (elevation, slope, aspect, distances, light on the slopes), as in the
literature's largest set, Forest Cover; ``independent`` is normal, the hardest case for an index.
``awkward`` tables are those on which a tree could be slowest compared with brute force.
"""

import numpy as np

from algorithms.enterprise_survey import survey
from algorithms.standardisation import standardise
from algorithms.types import Matrix

ATTRIBUTES = (
    "employees", "hours_worked", "turnover", "wages", "exports",
    "investment", "research", "inventories", "energy_mwh", "freight_tonnes",
)  # fmt: skip


def heavy_tailed(rows: int) -> Matrix:
    """Draw a table of the built-in example, standardised."""
    table = next(survey(rows, 1, seed=1))
    return standardise(np.column_stack([table[name].astype(float) for name in ATTRIBUTES]))


def quantised(rows: int) -> Matrix:
    """Draw cells of a terrain in whole metres, degrees and shades, standardised."""
    rng = np.random.default_rng(1)
    elevation = np.clip(rng.normal(2960.0, 280.0, rows), 1860.0, 3860.0)
    aspect = rng.uniform(0.0, 360.0, rows)
    slope = np.clip(rng.gamma(3.5, 4.0, rows), 0.0, 66.0)
    to_water = np.clip(rng.gamma(1.6, 168.0, rows), 0.0, 1400.0)
    above_water = np.clip(to_water * rng.normal(0.17, 0.15, rows), -170.0, 600.0)
    to_road = np.clip(rng.gamma(2.3, 1020.0, rows) * elevation / 2960.0, 0.0, 7100.0)
    to_fire = np.clip(0.4 * to_road + rng.gamma(1.6, 690.0, rows), 0.0, 7170.0)

    def shade(height: float, azimuth: float) -> Matrix:
        sun, steep = np.radians(height), np.radians(slope)
        facing = np.cos(np.radians(azimuth - aspect))
        light = np.sin(sun) * np.cos(steep) + np.cos(sun) * np.sin(steep) * facing
        shaded: Matrix = np.clip(254.0 * light, 0.0, 254.0)
        return shaded

    metres = 30.0 * np.rint(np.column_stack([to_water, to_road, to_fire]) / 30.0)
    others = [elevation, aspect, slope, above_water, shade(50, 110), shade(65, 180), shade(40, 250)]
    return standardise(np.column_stack([np.rint(np.column_stack(others)), metres]))


def independent(rows: int) -> Matrix:
    """Draw independent normal attributes."""
    return np.random.default_rng(1).normal(size=(rows, 10))


KINDS = {"heavy-tailed": heavy_tailed, "quantised": quantised, "independent": independent}


def awkward(rows: int, columns: int) -> dict[str, Matrix]:
    """Draw tables without near neighbours, with ties, clusters or outliers, standardised."""
    rng = np.random.default_rng([rows, columns])
    normal = rng.normal(size=(rows, columns))
    outlier = normal.copy()
    outlier[0] = 1e3
    few = rows // 50
    tables = {
        "normal": normal,
        "on a sphere": normal / np.linalg.norm(normal, axis=1, keepdims=True),
        "one outlier": outlier,
        "heavy tails": rng.standard_t(1.5, size=(rows, columns)),
        "five values": rng.integers(0, 5, size=(rows, columns)).astype(float),
        "fifty copies": rng.normal(size=(few, columns))[rng.integers(0, few, rows)],
        "clusters": 0.05 * normal + rng.normal(size=(20, columns))[rng.integers(0, 20, rows)],
        "one factor": 0.2 * normal + rng.normal(size=(rows, 1)),
    }
    return {name: standardise(table) for name, table in tables.items()}
