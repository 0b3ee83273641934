"""Writes the built-in example: quarterly tables and a spec for them."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from algorithms.enterprise_survey import (
    BRANCHES,
    DIGITAL,
    RATINGS,
    REGIONS,
    SIZE_CLASSES,
    survey,
)
from algorithms.errors import StorageError
from tasks.store.disk import make_folder

SPEC = Path(__file__).parents[1] / "deployments" / "specs" / "enterprise-survey.yaml"
LAST_QUARTER = 2026 * 4 + 2
"""2026-Q3, counted in quarters since the year 0."""


def write_example(
    folder: Path,
    *,
    rows: int,
    quarters: int,
    seed: int,
    moving: float,
    file_format: str,
    force: bool,
) -> list[Path]:
    """Write the tables and the spec; return their paths, the spec last.

    Raises
    ------
    StorageError
        If a file exists with different content, unless ``force`` is set.
    """
    make_folder(folder, "the example folder")
    first = LAST_QUARTER - quarters + 1
    tables = []
    for quarter, columns in enumerate(survey(rows, quarters, seed, moving=moving), start=first):
        name = f"{SPEC.stem}-{quarter // 4}-Q{quarter % 4 + 1}.{file_format}"
        _write(folder / name, _encode(columns, file_format), force)
        tables.append(folder / name)
    spec = SPEC.read_text(encoding="utf-8").replace("{period}.csv", f"{{period}}.{file_format}")
    _write(folder / SPEC.name, spec.encode(), force)
    return [*tables, folder / SPEC.name]


def _write(path: Path, content: bytes, force: bool) -> None:
    if path.exists() and not force and path.read_bytes() != content:
        raise StorageError(
            f"{str(path)!r} must not be overwritten; its content differs: choose another folder or "
            "use --force"
        )
    path.write_bytes(content)


def example_table(columns: dict[str, np.ndarray]) -> pa.Table:
    """Write one quarter of the survey as a table, with labels and missing values."""
    return pa.table({name: _with_labels(name, values) for name, values in columns.items()})


def _encode(columns: dict[str, np.ndarray], file_format: str) -> bytes:
    table = example_table(columns)
    buffer = io.BytesIO()
    if file_format == "csv":
        pyarrow.csv.write_csv(table, buffer)
    else:
        pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


LABELS = {
    "region": REGIONS,
    "sector": BRANCHES,
    "size_class": SIZE_CLASSES,
    "digital": DIGITAL,
    "credit_rating": RATINGS,
}
MAY_BE_MISSING = ("credit_rating", "exports")


def _with_labels(name: str, values: np.ndarray) -> pa.Array:
    """Turn the codes of companies and labels into text, and negative ones into missing values."""
    if name == "company":
        digits = pc.utf8_lpad(pa.array(values).cast(pa.string()), 8, "0")
        return pc.binary_join_element_wise("C", digits, "")
    cells = pa.array(values, mask=values < 0 if name in MAY_BE_MISSING else None)
    return pa.array(LABELS[name]).take(cells) if name in LABELS else cells
