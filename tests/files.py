"""One small survey in every kind of file, written by the software that writes such files."""

import gzip
import io
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pyreadstat

SENTINEL = "SENTINEL"
"""Stands in every record."""

N = 12
SEXES = {1.0: "male", 2.0: "female"}
REFUSED = -9.0
BORN = [date(1990, 1, 15) + timedelta(days=100 * i) for i in range(N)]

SURVEY: dict[str, list[Any]] = {
    "ID": [f"{i:03d}" for i in range(N)],
    "SEX": [SEXES[1.0 + i % 2] for i in range(N)],
    "AGE": [20 + i // 3 for i in range(N)],
    "INCOME": [None if i in (4, 7) else 100.5 + 10 * i for i in range(N)],
    "BORN": [None if i == 5 else day for i, day in enumerate(BORN)],
    "REGION": [None if i == 3 else f"{SENTINEL}{i % 4}" for i in range(N)],
    "SCORE": [float(i) for i in range(N)],
}
COLUMNS = {
    "identifiers": ["ID"],
    "quasi_identifiers": ["SEX", "AGE", "INCOME", "BORN"],
    "confidential": ["REGION", "SCORE"],
    "integers": ["AGE"],
    "categories": ["SEX"],
    "dates": {"BORN": "month"},
    "missing": {"INCOME": "state", "BORN": "state"},
}


def typed(**columns: list[Any]) -> pa.Table:
    """Give the survey with the types that a file with types has, and other columns."""
    table = pa.table(SURVEY | columns)
    return table if "SCORE" in columns else table.set_column(6, "SCORE", pa.array(range(N)))


def as_csv() -> bytes:
    rows = [SURVEY, *zip(*typed().to_pydict().values(), strict=True)]
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def as_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(typed(), sink)
    return sink.getvalue().to_pybytes()


def coded() -> pd.DataFrame:
    """Give the survey with codes for sex, and for an income that was refused."""
    codes = {label: code for code, label in SEXES.items()}
    frame = pd.DataFrame(SURVEY)
    frame["SEX"] = frame["SEX"].map(codes).astype(float)
    frame["INCOME"] = [REFUSED if pd.isna(x) else x for x in frame["INCOME"]]
    frame["REGION"] = frame["REGION"].fillna("")
    return frame


LABELS = {"SEX": SEXES, "INCOME": {REFUSED: "no answer"}}


def as_sav(folder: Path, ending: str) -> None:
    pyreadstat.write_sav(
        coded(),
        folder / f"survey{ending}",
        variable_value_labels=LABELS,
        missing_ranges={"INCOME": [REFUSED]},
        compress=ending == ".zsav",
    )


def as_dta(folder: Path, ending: str) -> None:
    pyreadstat.write_dta(coded(), folder / f"survey{ending}", variable_value_labels=LABELS)


def as_por(folder: Path, ending: str) -> None:
    pyreadstat.write_por(_labelled(), folder / f"survey{ending}")


def as_xpt(folder: Path, ending: str) -> None:
    pyreadstat.write_xport(_labelled(), folder / f"survey{ending}", file_format_version=5)


def _labelled() -> pd.DataFrame:
    frame = pd.DataFrame(SURVEY)
    return frame.assign(REGION=frame["REGION"].fillna(""))


def as_xlsx() -> bytes:
    book = openpyxl.Workbook()
    for row in [tuple(SURVEY), *zip(*SURVEY.values(), strict=True)]:
        book.active.append(row)
    return saved(book)


def saved(book: openpyxl.Workbook) -> bytes:
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


IN_MEMORY: dict[str, Callable[[], bytes]] = {
    ".csv": as_csv,
    ".csv.gz": lambda: gzip.compress(as_csv()),
    ".csv.zst": lambda: pa.compress(as_csv(), "zstd", asbytes=True),
    ".parquet": as_parquet,
    ".xlsx": as_xlsx,
}
ON_DISK: dict[str, Callable[[Path, str], None]] = {
    ".sav": as_sav,
    ".zsav": as_sav,
    ".por": as_por,
    ".dta": as_dta,
    ".xpt": as_xpt,
}
ENDINGS = (*IN_MEMORY, *ON_DISK)


def write_survey(folder: Path, ending: str) -> dict[str, Any]:
    """Write the survey; give the section of a spec for it."""
    path = folder / f"survey{ending}"
    if ending in ON_DISK:
        ON_DISK[ending](folder, ending)
    else:
        path.write_bytes(IN_MEMORY[ending]())
    codes = {"missing_codes": {"INCOME": [REFUSED]}} if ending == ".dta" else {}
    return {"path": path.name, **codes}
