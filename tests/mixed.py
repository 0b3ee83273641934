"""A release of a table that has columns of every kind, for tests of pages."""

from typing import Any

import numpy as np

from tests.conftest import Request

RARE = "undisclosed <x>"
"""A label that stands for two records."""

SMALL = "S9"
"""A stratum of two records."""

KEYS = ["sex", "icd", "education", "admitted", "bmi", "income"]
COLUMNS: dict[str, Any] = {
    "identifiers": ["id"],
    "quasi_identifiers": KEYS,
    "confidential": ["outcome", "score"],
    "integers": ["income"],
    "categories": ["sex"],
    "hierarchies": {"icd": {"prefixes": [1]}},
    "ordered": {"education": ["none", "school", "college"]},
    "dates": {"admitted": "day"},
    "missing": {"bmi": "state"},
    "dropped": {
        "person": "shown by no page",
        "region": "shown by no page",
        "weight": "shown by no page",
    },
}


def mixed(request_of: Request, **columns: Any) -> Request:
    """Turn the small release into one of a table with every kind of column, and other roles.

    A column that gets a role by ``columns`` is not dropped.
    """
    request_of.source.write_text(_table(), encoding="utf-8")
    roles = COLUMNS | columns
    given = str([value for key, value in columns.items() if key in ("strata", "unit", "weight")])
    dropped = {name: why for name, why in COLUMNS["dropped"].items() if name not in given}
    roles["dropped"] = dropped | {
        name: "not needed" for name in ("outcome", "score") if name not in roles["confidential"]
    }
    request_of.content["columns"] = roles
    request_of.content["microaggregation"] = {"method": "mdav", "k": 4}
    withheld = {"withheld": 50.0} if "strata" in columns else {}
    request_of.content["gate"] = {"ceilings": {"il": 100.0, "dld": 100.0, **withheld}}
    return request_of


def _table(n: int = 120) -> str:
    random = np.random.default_rng(3)
    lines = ["id,person,region,weight,sex,icd,education,admitted,bmi,income,outcome,score"]
    for i in range(n):
        sex = RARE if i in (7, 70) else ("f", "m")[random.integers(2)]
        region = SMALL if i in (11, 12) else ("N1", "N2", "S1")[random.integers(3)]
        cells = (
            f"r{i}",
            f"p{i // 2}",
            region,
            f"{random.uniform(1, 3):.3f}",
            sex,
            ("I21", "I25", "J10", "J44")[random.integers(4)],
            ("none", "school", "college")[random.integers(3)],
            f"2026-0{random.integers(1, 10)}-{random.integers(10, 28)}",
            "" if i % 15 == 0 else f"{random.normal(26, 4):.1f}",
            str(random.integers(900, 5000)),
            ("well", "ill")[random.integers(2)],
            f"{random.normal(0, 1):.2f}",
        )
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"
