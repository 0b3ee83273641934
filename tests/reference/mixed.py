"""Real tables of mixed columns, masked by the product, and k counted on what would be written."""

import csv
import gzip
import io
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from algorithms.comparison import Comparison
from algorithms.evaluation import Evaluation, evaluate
from algorithms.masked import Masked
from algorithms.masking import Plan, mask
from algorithms.microaggregation import METHODS
from algorithms.strata import SmallStrata
from algorithms.table import Table
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from expectations.tables import arrow_of, table_from_arrow
from tests.tools import VARIABLE

HOUSEHOLDS: dict[str, Any] = {
    "quasi_identifiers": [
        "urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil",
        "age", "expend", "income", "savings",
    ],
    "categories": ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil"],
    "integers": ["age", "expend"],
}  # fmt: skip
"""The keys of sdcMicro's household survey."""

EDUCATION = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
    "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
ADULT: dict[str, Any] = {
    "quasi_identifiers": [
        "age", "education", "workclass", "marital-status", "occupation", "race", "sex",
        "native-country",
    ],
    "categories": [
        "workclass", "marital-status", "occupation", "race", "sex", "native-country",
    ],
    "ordered": {"education": EDUCATION},
    "integers": ["age"],
}  # fmt: skip
"""The keys of the census income table."""

LABOUR: dict[str, Any] = {
    "quasi_identifiers": ["OCCUCODE", "SEX", "MARSTAT", "ETNI", "AGE", "EDUC1"],
    "categories": ["SEX", "MARSTAT", "ETNI"],
    "hierarchies": {"OCCUCODE": {"prefixes": [1, 2]}},
    "published": {"OCCUCODE": "leaf"},
    "integers": ["AGE", "EDUC1"],
}
"""The keys of mu-ARGUS' labour survey."""

Rows = Sequence[Mapping[str, str]]


@cache
def households() -> Rows:
    """Read sdcMicro's household survey, all cells as text."""
    return _read("testdata.csv")


@cache
def adult(first: int | None = None, *, complete: bool = True) -> Rows:
    """Read records of the census income table, by default those in which nothing is missing."""
    rows = _read("adult.csv.gz")
    return [row for row in rows if all(row.values()) or not complete][:first]


@cache
def labour() -> Rows:
    """Read the labour survey; its codes were stored as real numbers."""
    whole = [
        {name: f"{float(cell):.0f}" for name, cell in row.items()} for row in _read("free1.csv")
    ]
    return [{**row, "OCCUCODE": row["OCCUCODE"].zfill(3)} for row in whole]


def _read(name: str) -> Rows:
    raw = (Path(os.environ[VARIABLE]) / name).read_bytes()
    text = gzip.decompress(raw) if name.endswith(".gz") else raw
    return list(csv.DictReader(io.StringIO(text.decode())))


def declared(columns: Mapping[str, Any], **changes: Any) -> ColumnsSection:
    """Declare the roles and kinds of columns as a spec does."""
    return ColumnsSection.model_validate({**columns, **changes})


def table_of(rows: Rows, columns: ColumnsSection) -> Table:
    """Read rows as a source of text is read."""
    return table_from_arrow(
        pa.table({name: pa.array([row[name] or None for row in rows]) for name in columns.all}),
        columns,
    )


def spec_of(columns: Mapping[str, Any], k: int = 5) -> ReleaseSpec:
    """Complete a spec whose columns alone matter."""
    return ReleaseSpec.model_validate(
        {
            "release": {"name": "a", "period": "2026", "title": "A", "licence": "CC0-1.0"},
            "source": {"path": "table.csv"},
            "columns": columns,
            "microaggregation": {"method": "mdav", "k": k},
            "publication": {"public_folder": "public", "register_folder": "register"},
        }
    )


def masked_by(
    table: Table, k: int, method: str, small_strata: SmallStrata = "block", **options: Any
) -> Masked:
    """Mask a table by a method."""
    return mask(table, Plan(k, METHODS[method], options, small_strata=small_strata))


def measured(masked: Masked, *names: str, **options: float) -> Evaluation:
    """Compute some measures."""
    return evaluate(Comparison(masked), names, options)


def written(masked: Masked, columns: ColumnsSection) -> list[dict[str, str]]:
    """Write the published table as CSV, and read its text back."""
    file = io.BytesIO()
    pyarrow.csv.write_csv(arrow_of(masked.published, columns), file)
    return list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))


def rarest(rows: Sequence[Mapping[str, str]], names: Iterable[str]) -> int:
    """Count the rows of the rarest combination of cells; an empty cell is a value."""
    keys = tuple(names)
    return min(Counter(tuple(row[name] for name in keys) for row in rows).values())
