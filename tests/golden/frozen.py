"""Releases whose bytes and claims must never change for an unchanged spec.

``python -m tests.golden.frozen`` runs every spec and writes what it publishes to ``frozen.json``
beside this file. Do that only for a change that stands under "Changed results" in the changelog.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from tests.conftest import Request
from tests.publishing import publish_all

FROZEN = Path(__file__).with_name("frozen.json")
ROWS = 150
KEYS = ["staff", "sales", "change"]


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name every frozen spec, and give the sections in which it differs from the plain one."""
    for method in METHODS:
        if not METHODS[method].reads_path:
            options = {"options": {"iterations": 200}} if method == "best" else {}
            yield method, _how(method=method, **options)
    for ordering in ORDERINGS:
        for method in ("mhm", "imhmi"):
            yield f"{method}-{ordering}", _how(method=method, ordering=ordering)
    yield "mdav-chain", _how(method="mhm", ordering="mdav", ordering_options={"chain": True})
    yield "vmdav-gamma", _how(method="vmdav", options={"gamma": 0.8})
    for method in ("mdav", "kward", "cbfs"):
        yield f"{method}-recut", _how(method=method, recut=True)
        yield f"{method}-refine", _how(method=method, refine={"iterations": 100})
    yield "mdav-recut-refine", _how(recut=True, refine={"iterations": 50, "seed": 3})
    yield "imhmi-refine", _how(method="imhmi", ordering="npn", refine={"iterations": 50})
    for k in (2, 7, 40):
        yield f"k-{k}", _how(k=k)
    for method, ordering in (("imhmi", "zscore"), ("mdav", None), ("best", None)):
        how = {"method": method, "ordering": ordering, "each_column": True}
        yield f"{method}-each-column", _how(**how) | _columns(["staff"])
        # the second column is a copy of the first: groups of each make groups of both
        yield f"{method}-each-of-two", _how(**how) | _columns(["staff", "copy"])
    yield "all-whole", _columns(["staff", "large"], integers=["staff", "large"])
    yield "all-real", _columns(["sales", "change"], integers=[])
    yield "decimals", _columns(KEYS, decimals={"sales": 0, "change": 1})
    yield "more-decimals", _columns(KEYS, decimals={"sales": 6})
    yield "constant", _columns(["staff", "constant"], integers=["constant"])
    yield "tiny-and-huge", _columns(["tiny", "huge", "long"], integers=[])
    yield "whole-left-real", _columns(["staff", "sales"], integers=[])
    yield "parquet", {"source": {"path": "table.parquet"}}
    yield (
        "parquet-real",
        {"source": {"path": "table.parquet"}} | _columns(["sales", "long", "tiny"], integers=[]),
    )
    yield (
        "parquet-best",
        {"source": {"path": "table.parquet"}} | _how(method="best", options={"iterations": 100}),
    )
    yield "comma", {
        "source": {
            "path": "comma.csv", "delimiter": ";", "decimal": ",", "encoding": "latin-1"
        }
    }  # fmt: skip
    yield "review", {"gate": {"ceilings": {"il": 100.0, "dld": 100.0}, "review": {}}}
    yield (
        "review-best",
        _how(method="best", options={"iterations": 100})
        | {"gate": {"ceilings": {"il": 100.0, "dld": 100.0}, "review": {"hours": 1}}},
    )
    yield (
        "limits",
        {
            "gate": {
                "ceilings": {"il": 90.0, "dld": 90.0, "pmse": 0.3, "t_equal": 1.0},
                "floors": {"l_distinct": 1.0},
            },
            "evaluation": {"bound_rounds": 40},
        },
    )
    yield "every-quarter", {"release": {"period": None, "every": "quarter", "revision": 0}}


def _how(**changes: Any) -> dict[str, Any]:
    return {"microaggregation": changes}


def _columns(keys: list[str], **changes: Any) -> dict[str, Any]:
    rest = [name for name in _table().column_names if name not in (*keys, "id")]
    changes.setdefault("integers", [name for name in keys if name in ("staff", "copy")])
    return {"columns": {"quasi_identifiers": keys, "confidential": rest, "decimals": {}, **changes}}


def _table() -> pa.Table:
    """Draw records with ties, negative, missing, tiny, huge and long numbers."""
    rng = np.random.default_rng(20261117)
    staff = np.floor(np.exp(rng.normal(2.5, 1.2, ROWS))).astype(np.int64)
    sales = np.round(staff * np.exp(rng.normal(0.0, 0.5, ROWS)), 2)
    change = np.round(rng.normal(0.0, 4.0, ROWS), 3)
    rating = rng.integers(0, 5, ROWS)
    return pa.table(
        {
            "id": [f"P{i:04d}" for i in rng.permutation(ROWS)],
            "region": rng.choice(["North", "South", "Málaga, centre", '"Lakes"'], ROWS),
            "code": [f"{i:03d}" for i in rng.integers(0, 40, ROWS)],
            "staff": staff,
            "copy": staff,
            "sales": sales,
            "change": change,
            "constant": np.full(ROWS, 7, dtype=np.int64),
            "large": 9_007_199_254_740_993 + 3 * rng.integers(0, 10_000, ROWS),
            "tiny": np.round(rng.exponential(1e-5, ROWS), 9),
            "huge": rng.integers(1, 999, ROWS) * 1e12,
            "long": rng.normal(0.0, 1.0, ROWS),
            "rating": pa.array(
                np.array(["A", "B", "C", "D", ""])[rating], mask=rating == 4
            ),
            "score": pa.array(np.round(rng.normal(50.0, 9.0, ROWS), 1), mask=rating == 3),
        }
    )  # fmt: skip


def frozen_request(folder: Path) -> Request:
    """Write the tables that the frozen specs read, and the plain spec."""
    request_of = Request(folder)
    table = _table()
    pyarrow.csv.write_csv(table, request_of.source)
    pyarrow.parquet.write_table(table, folder / "table.parquet")
    text = request_of.source.read_text(encoding="utf-8").replace('"Málaga, centre"', "Málaga")
    (folder / "comma.csv").write_text(
        text.replace(",", ";").replace(".", ","), encoding="latin-1"
    )  # fmt: skip
    request_of.content["columns"] = {
        "identifiers": ["id"],
        "quasi_identifiers": KEYS,
        "integers": ["staff"],
        "confidential": [
            "region", "code", "copy", "constant", "large", "tiny", "huge", "long", "rating", "score"
        ],
    }  # fmt: skip
    request_of.content["microaggregation"] = {"method": "mdav", "k": 3}
    return request_of


def published(folder: Path, sections: dict[str, Any]) -> dict[str, Any]:
    """Publish a frozen spec; give the description of its folder, with the hashes of its data."""
    public = publish_all(frozen_request(folder), **sections)
    package: dict[str, Any] = json.loads((public / "datapackage.json").read_bytes())
    # both files have one schema
    assert package["resources"][0]["schema"] == package["resources"][1].pop("schema")
    return package


def main() -> None:
    """Freeze everything as it is published now."""
    found = {}
    for name, sections in cases():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = published(Path(folder), sections)
    lines = [
        f"{json.dumps(name)}: {json.dumps(package, ensure_ascii=False)}"
        for name, package in found.items()
    ]
    FROZEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
