"""Files of statistical software, compressed files, and fingerprints."""

import gzip
import os
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.errors import DataError
from expectations.request.sections.source import SourceSection
from tasks.ingest import ingest
from tasks.sources import packing, readstat
from tasks.sources.fingerprint import fingerprint
from tasks.sources.table import read_table
from tests.conftest import ROWS, Request

CSV = Path("table.csv")


def sample(folder: Path, write: Callable[..., None], frame: pd.DataFrame, **more: Any) -> bytes:
    path = folder / "sample"
    write(frame, path, **more)
    return path.read_bytes()


def test_ranges_that_spss_declares_are_missing_and_counted(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"n": [1.0, 97.0, 98.0, 99.0, None], "s": ["x", "REF", "", "y", "REF"]})
    ranges = {"n": [{"lo": 97, "hi": 98}, 99], "s": ["REF"]}
    content = sample(tmp_path, pyreadstat.write_sav, frame, missing_ranges=ranges)
    table, _, missing = readstat.decode_spss(content, None)
    assert table.to_pydict() == {
        "n": [1, None, None, None, None],
        "s": ["x", None, None, "y", None],
    }
    assert missing == {"n": 3, "s": 2}


def test_extended_missing_values_of_stata_are_missing(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"a": [1.0, "a", "z"], "b": [0.5, 1.5, None]})
    labels = {"a": {1: "yes", "a": "refused", "z": "unknown"}}
    content = sample(
        tmp_path,
        pyreadstat.write_dta,
        frame,
        variable_value_labels=labels,
        missing_user_values={"a": ["a", "z"]},
    )
    table, found, missing = readstat.decode_stata(content, None)
    assert table.to_pydict() == {"a": [1, None, None], "b": [0.5, 1.5, None]}
    assert (found, missing) == ({"a": {1: "yes"}}, {})


@pytest.mark.parametrize("version", [114, 117, 118, 119])
def test_stata_files_of_pandas_give_their_labels_and_short_numbers(
    tmp_path: Path, version: int
) -> None:
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(["m", "f", "m"]),
            "slim": np.array([0.1, 2.5, np.nan], dtype=np.float32),
            "small": np.array([1, 2, 3], dtype=np.int8),
            "born": pd.to_datetime(["2020-02-29", "1950-01-01", None]),
        }
    )
    path = tmp_path / "pandas.dta"
    frame.to_stata(path, write_index=False, version=version, convert_dates={"born": "td"})
    table, labels, _ = readstat.decode_stata(path.read_bytes(), None)
    assert table.to_pydict() == {
        "sex": [1, 0, 1],
        "slim": [0.1, 2.5, None],
        "small": [1, 2, 3],
        "born": [date(2020, 2, 29), date(1950, 1, 1), None],
    }
    assert labels == {"sex": {0: "f", 1: "m"}}


@pytest.mark.parametrize(
    ("clock", "style", "numbers", "expected"),
    [
        (readstat.STATA, "%td", [0.0, 21915.0, np.nan], [date(1960, 1, 1), date(2020, 1, 1), None]),
        (readstat.STATA, "%-tdD_m_Y", [21915.0], [date(2020, 1, 1)]),
        (readstat.STATA, "%tc", [1893492000500.0], [datetime(2020, 1, 1, 10, 0, 0, 500_000)]),
        (readstat.STATA, "%tm", [-1.0, 720.0], [date(1959, 12, 1), date(2020, 1, 1)]),
        (readstat.STATA, "%tq", [241.0], [date(2020, 4, 1)]),
        (readstat.STATA, "%ty", [2020.0], None),
        (readstat.STATA, "%9.0g", [2020.0], None),
        (readstat.SPSS, "DATE11", [13797216000.0], [date(2020, 1, 1)]),
        (readstat.SPSS, "ADATE10", [13797252000.0], [datetime(2020, 1, 1, 10)]),
        (readstat.SPSS, "TIME8", [36000.0], None),
        (readstat.SAS, "YYMMDDN8.", [21915.0], [date(2020, 1, 1)]),
        (readstat.SAS, "E8601DA10", [21915.0], [date(2020, 1, 1)]),
        (readstat.SAS, "DATETIME20", [1893492000.0], [datetime(2020, 1, 1, 10)]),
        (readstat.SAS, "DATEGROUP", [1.0], None),
        (readstat.SAS, None, [1.0], None),
    ],
)
def test_dates_are_counted_as_each_kind_of_file_counts_them(
    clock: readstat.Clock, style: str | None, numbers: list[float], expected: list[Any] | None
) -> None:
    read = clock.read(np.array(numbers), style)
    assert (None if read is None else read.to_pylist()) == expected


def test_a_date_beyond_the_calendar_is_refused(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"id": [1e300, 5.0]})
    path = tmp_path / "far.dta"
    pyreadstat.write_dta(frame, path, variable_format={"id": "%td"})
    with pytest.raises(DataError, match="must lie in the years 1 to 9999"):
        read_table(path.read_bytes(), SourceSection(path=path))


@pytest.mark.parametrize(("encoding", "town"), [(None, "CÃ¡diz"), ("utf-8", "Cádiz")])
def test_an_encoding_in_the_spec_replaces_that_of_the_file(
    encoding: str | None, town: str, tmp_path: Path
) -> None:
    path = tmp_path / "towns.dta"
    # a file of this version states no encoding, and holds bytes of UTF-8 all the same
    misread = "Cádiz".encode().decode("latin-1")
    pd.DataFrame({"town": [misread, "Soria"]}).to_stata(path, version=114, write_index=False)
    stated = {} if encoding is None else {"encoding": encoding}
    section = SourceSection.model_validate({"path": path, **stated})
    found = read_table(path.read_bytes(), section).table
    assert found["town"].to_pylist() == [town, "Soria"]


# compressed files


def packed(compression: str, content: bytes) -> bytes:
    if compression == "gzip":
        return gzip.compress(content)
    compressed: bytes = pa.compress(content, compression, asbytes=True)
    return compressed


@pytest.mark.parametrize(("ending", "compression"), [(".gz", "gzip"), (".zst", "zstd")])
def test_a_compressed_file_has_the_fingerprint_of_its_content(
    request_of: Request, ending: str, compression: str
) -> None:
    path = request_of.folder / f"table.csv{ending}"
    path.write_bytes(packed(compression, ROWS.encode()))
    plain, facts = (
        ingest.fn(request_of.load(source={"path": name}))[1] for name in ("table.csv", path.name)
    )
    assert plain.content == facts.content
    assert plain.sha256 != facts.sha256
    assert facts.bytes == path.stat().st_size


def test_a_file_that_is_not_compressed_as_its_name_says_is_refused() -> None:
    source = SourceSection(path=Path("table.csv.gz"))
    for content, kind in (
        (ROWS.encode(), "a text file, such as CSV"),
        (packed("zstd", ROWS.encode()), "compressed with zstd"),
    ):
        with pytest.raises(DataError, match=f"with gzip, as its name says; it is {kind}: correct"):
            read_table(content, source)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_compressed_file_that_is_cut_or_grows_too_much_is_refused(
    compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = packed(compression, os.urandom(4000))
    for cut in (5, 100, len(content) - 1):
        with pytest.raises(DataError, match="cannot be unpacked: it may be damaged or incomplete"):
            packing.unpacked(content[:cut], compression)
    monkeypatch.setattr(packing, "ALWAYS_ALLOWED", 100_000)
    monkeypatch.setattr(packing, "CHUNK", 10_000)
    bomb = packed(compression, bytes(10_000_000))
    with pytest.raises(DataError, match="must not grow to more than 200 times its size"):
        packing.unpacked(bomb, compression)


# fingerprints


def test_a_fingerprint_is_of_names_types_and_cells_alone() -> None:
    table = pa.table({"a": [1, None, 3], "b": ["x", None, ""], "c": [True, None, False]})
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    behind = pa.Array.from_buffers(
        pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.array([1, 2, 3]).buffers()[1]]
    )
    same = [
        parts,
        table.replace_schema_metadata({"x": "y"}),
        table.set_column(0, "a", behind),
        pa.concat_tables([table.slice(1), table]).slice(2),
    ]
    assert {fingerprint(each) for each in same} == {fingerprint(table)}
    other = [
        table.slice(0, 2),
        table.rename_columns(["a", "b", "d"]),
        table.set_column(0, "a", pa.array([1.0, None, 3.0])),
        table.set_column(0, "a", pa.array([1, 0, 3])),
        table.set_column(1, "b", pa.array(["x", "", None])),
        table.slice(0, 0),
    ]
    assert len({fingerprint(each) for each in [table, *other]}) == 7


def test_a_fingerprint_does_not_change_from_version_to_version() -> None:
    table = pa.table({"a": [1, None], "b": ["x", None], "c": [date(2026, 1, 1), None]})
    assert fingerprint(table) == "55ef217e21fe79f373477b789191b668c1094b3752ca68cf82296f066694db4d"
