"""A small table in a CSV file, and the statements that make the same table in a database."""

import csv
import io
from typing import Any

from tests.conftest import Request

HEADER = ("id", "zone", "staff", "sales", "score")
ROWS: tuple[tuple[Any, ...], ...] = tuple(
    (
        number,
        "007" if number % 2 else "north, or 'so'",
        7 * number % 31,
        f"{(number * number) / 4:.2f}",
        None if number == 4 else number / 2,
    )
    for number in range(1, 31)
)
CREATE = (
    "CREATE TABLE persons (id bigint, zone varchar(20), staff integer, sales numeric(12, 2), score "
    "double precision, quarter text)"
)
QUERY = """\
-- one row per person; :period is the quarter
SELECT id, zone, staff, sales, score FROM persons WHERE quarter = :period;
"""


def literal(value: Any) -> str:
    """Write a value into a statement."""
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else "'{}'".format(value.replace("'", "''"))


def insert(rows: Any = ROWS, quarter: str = "2026-Q3") -> str:
    """Give the statement that inserts rows, in an order of its own."""
    values = ", ".join(f"({', '.join(map(literal, (*row, quarter)))})" for row in reversed(rows))
    return f"INSERT INTO persons VALUES {values}"


def as_csv(rows: Any = ROWS) -> str:
    """Write the table as a CSV file."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows([*row[:4], None if row[4] is None else f"{row[4]:g}"] for row in rows)
    return written.getvalue()


def spec_of(request_of: Request, query: str = QUERY, **source: Any) -> Any:
    """Make the small release read its table from the connection ``registry``."""
    (request_of.folder / "persons.sql").write_text(query, encoding="utf-8")
    request_of.content["source"] = {"database": "registry", "query": "persons.sql", **source}
    return request_of.load()
