"""A fault of a file gets one sentence and its exit code; odd values are published or refused."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.errors import DataError
from flows.cli import main
from tasks.ingest import ingest
from tasks.publish import publish
from tasks.validate import validate
from tests.conftest import ROWS, Request, faults_in
from tests.publishing import candidate

SECRET = "SECRETPERSON"


def check(request_of: Request, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Check the spec as it is written, and take what the user is shown."""
    code = main(["check", str(request_of.path)])
    return code, capsys.readouterr().err


DAMAGED_HEADERS = [
    f'id,zone,staff,sales,"score\n{SECRET},007,1,10.5,1\nb",008,2,11.5\n' + "c,8,2,1,2,3,4,5\n" * 3,
    f'id,zone,staff,sales,"score\n{SECRET},007,1,10.5,1\nb,008,2,11.5,2\n',
    f"id,zone,staff,sales,score{SECRET},007,1,10.5,1\nb,008,2,11.5,2,3,4,5,6\n",
    f"id,zone,staff,sales,score {SECRET}\nb,008,2,11.5,2\n",
    f"{SECRET},007,1,10.5,1\nb,008,2,11.5,2\n",
    f"{SECRET},{SECRET},1,10.5,1\nb,008,2,11.5,2\n",
]


@pytest.mark.parametrize("content", DAMAGED_HEADERS)
def test_a_record_in_a_damaged_header_is_not_shown(
    request_of: Request, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    request_of.source.write_text(content, encoding="utf-8")
    request_of.write()
    code, shown = check(request_of, capsys)
    assert code == 11
    assert SECRET not in shown
    assert len(faults_in(shown)) == 1


def test_columns_without_a_role_are_counted(request_of: Request) -> None:
    request_of.source.write_text(ROWS.replace("score", SECRET), encoding="utf-8")
    spec = request_of.load()
    with pytest.raises(DataError) as raised:
        validate.fn(ingest.fn(spec)[0], spec)
    assert str(raised.value).endswith(
        ": missing from the file: 'score'; without a role in the spec: 1 (names not shown); "
        "the file has 5 columns, the spec names 5"
    )


def parquet(request_of: Request, **columns: Any) -> dict[str, Any]:
    """Write the small table as Parquet, with other columns; give the section of a spec for it."""
    table = {
        "id": list("abcdefg"),
        "zone": list("xyxyxyx"),
        "staff": [1, 2, 1, 40, 42, 44, 90],
        "sales": [10.5, 11.5, 10.0, 90.0, 91.0, 95.0, 9.0],
        "score": [1, 2, 3, 4, None, 6, 7],
    }
    pyarrow.parquet.write_table(pa.table(table | columns), request_of.folder / "table.parquet")
    return {"source": {"path": "table.parquet"}}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1]] * 7),
        pa.array([{SECRET: 1}] * 7),
        pa.array([-800_000] * 7, pa.int32()).cast(pa.date32()),
    ],
)
def test_odd_parquet_columns_are_named_only_if_the_spec_names_them(
    request_of: Request, column: pa.Array
) -> None:
    for name, shown in ((SECRET, "1 that the spec does not name"), ("score", "'score'")):
        spec = request_of.load(**parquet(request_of, **{name: column}))
        with pytest.raises(DataError) as raised:
            ingest.fn(spec)
        assert str(raised.value).endswith(shown)
        assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(ROWS.encode()), "it is compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\xff\0", "it is compressed with zstd"),
        (b"PK\x03\x04\xff\0", "it is a ZIP archive, as Excel files are"),
        (b"PAR1\xff\0", "it is a Parquet file"),
    ],
)
def test_a_file_that_is_no_csv_file_is_called_what_it_is(
    request_of: Request, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    request_of.source.write_bytes(content)
    request_of.write()
    code, shown = check(request_of, capsys)
    assert code == 11
    assert words in shown


def test_a_csv_file_may_begin_as_others_do(request_of: Request) -> None:
    request_of.source.write_text(ROWS.replace("id,", "PAR1,"), encoding="utf-8")
    spec = request_of.load(columns={"identifiers": ["PAR1"]})
    table, _ = ingest.fn(spec)
    assert table.column_names[0] == "PAR1"


def test_a_csv_file_given_as_parquet_is_called_text(request_of: Request) -> None:
    with pytest.raises(DataError, match="must be a Parquet file; it is a text file, such as CSV"):
        ingest.fn(request_of.load(source={"format": "parquet"}))


@pytest.mark.parametrize(
    ("content", "source"),
    [
        ("\n\n" + ROWS, {}),
        (ROWS.replace("\n", "\r"), {}),
        (ROWS.replace("\n", "\r\n"), {}),
        (ROWS, {"encoding": "utf-16"}),
        ("\ufeff" + ROWS, {"encoding": "utf-16-le"}),
    ],
)
def test_other_line_ends_and_encodings_give_the_same_table(
    request_of: Request, content: str, source: dict[str, str]
) -> None:
    expected, _ = ingest.fn(request_of.load())
    encoding = source.get("encoding", "utf-8")
    request_of.source.write_bytes(content.encode(encoding))
    table, _ = ingest.fn(request_of.load(source=source))
    assert table.equals(expected)


BAD_SPECS = [
    ("period: 2026-Q3", "period: 2026-13-45", "column 11: this looks like"),
    ("k: 3", "k: !!int abc", "and is not a valid one"),
    ("k: 3", "k: !!bool maybe", "and is not a valid one"),
    ("k: 3", f"k: {'9' * 5000}", "and is not a valid one"),
    ("k: 3", "? [a, b]\n  : 3", "a key must be a text"),
    ("k: 3", "{a: 1}: 3", "a key must be a text"),
    ("k: 3", f"k: {'[' * 5000}", "nested too deeply"),
    ("path: table.csv", 'path: "a\\0b.csv"', "must not contain NUL characters"),
    ("path: table.csv", 'path: "\\ud800.csv"', "must not contain NUL characters"),
    ("path: table.csv", "path: table.csv\n  delimiter: §", "delimiter must be an ASCII character"),
    ("path: table.csv", "path: table.csv\n  delimiter: '\"'", "delimiter must be an ASCII"),
    *(
        ("path: table.csv", f"path: table.csv\n  encoding: {name}", "must be a character encoding")
        for name in ("punycode", "idna", "base64", "rot13", "zlib", "undefined", "unicode_escape")
    ),
    ("path: table.csv", 'path: table.csv\n  encoding: "\\x01"', "must be a character encoding"),
]


@pytest.mark.parametrize(
    ("old", "new", "words"), BAD_SPECS, ids=[new[:40] for _, new, _ in BAD_SPECS]
)
def test_a_fault_of_a_spec_gets_one_sentence(
    request_of: Request, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    text = request_of.write().read_text(encoding="utf-8")
    assert old in text
    request_of.path.write_text(text.replace(old, new), encoding="utf-8")
    code, shown = check(request_of, capsys)
    assert code == 10
    assert words in shown
    assert len(faults_in(shown)) == 1


def test_a_folder_behind_links_in_a_circle_is_refused(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    (request_of.folder / "round").symlink_to("round")
    request_of.write(publication={"public_folder": "round/a"})
    code, shown = check(request_of, capsys)
    assert code == 14
    assert "public_folder must be a folder that can be written to" in shown


def test_a_date_in_a_spec_is_the_text_it_is_written_as(request_of: Request) -> None:
    text = request_of.write().read_text(encoding="utf-8")
    request_of.path.write_text(text.replace("2026-Q3", "2026-11-01"), encoding="utf-8")
    from expectations.request.spec_file import load

    assert load(request_of.path).release.period == "2026-11-01"


def test_a_mapping_may_be_merged_into_another(request_of: Request) -> None:
    from expectations.request.spec_file import load

    text = request_of.write().read_text(encoding="utf-8")
    request_of.path.write_text(text.replace("  k: 3", "  <<: {k: 4}"), encoding="utf-8")
    assert load(request_of.path).microaggregation.k == 4


@pytest.mark.parametrize("key", ["source", "publication"])
def test_a_name_that_is_too_long_is_refused(
    request_of: Request, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    name = "x" * 5000
    sections = {"source": {"path": f"{name}.csv"}, "publication": {"public_folder": name}}
    request_of.write(**{key: sections[key]})
    code, shown = check(request_of, capsys)
    assert code == {"source": 11, "publication": 14}[key]
    assert "File name too long" in shown


def test_a_path_with_nul_is_no_path(request_of: Request) -> None:
    from pydantic import ValidationError

    from expectations.request.sections.source import SourceSection

    with pytest.raises(ValidationError, match="it contains a NUL character"):
        SourceSection(path=Path("a\0.csv"))


@pytest.mark.parametrize("name", ["self", "count_all", "index", "level_0", " ", "a\nb", "x" * 5000])
def test_a_key_column_may_have_any_name(request_of: Request, name: str) -> None:
    request_of.source.write_text(ROWS.replace("sales", f'"{name}"'), encoding="utf-8")
    columns = {"quasi_identifiers": ["staff", name], "integers": ["staff"]}
    publication = publish.fn(*candidate(request_of, columns=columns))
    text = (publication.folder / "data.csv").read_text(encoding="utf-8")
    assert f'"{name}"' in text


@pytest.mark.parametrize(
    "sales",
    [
        [1e300] * 7,
        [-1.7e308] * 7,
        [5e-324] * 7,
        [-0.0] * 7,
        np.arange(7, dtype=np.float16),
        np.arange(7, dtype=np.float32) / 3,
    ],
)
def test_odd_numbers_are_published(request_of: Request, sales: Any) -> None:
    publication = publish.fn(*candidate(request_of, **parquet(request_of, sales=sales)))
    assert publication.folder.is_dir()


@pytest.mark.parametrize(
    "score",
    [
        pa.nulls(7),
        pa.array([-62135596800, 253402300799, 0, None, 1, 2, 3], pa.timestamp("s")),
        pa.array([None] * 7, pa.date32()),
        np.arange(7, dtype=np.float16),
        pa.array([2**64 - 1] * 7, pa.uint64()),
    ],
)
def test_odd_columns_are_published_as_they_are(request_of: Request, score: Any) -> None:
    publication = publish.fn(*candidate(request_of, **parquet(request_of, score=score)))
    assert publication.folder.is_dir()


@pytest.mark.parametrize("places", [2, 15])
def test_decimals_of_large_values_are_as_many_as_they_can_have(
    request_of: Request, places: int
) -> None:
    content = ROWS.replace("10.5", "123456.789012345").replace("11.5", "4503599627370495.5")
    request_of.source.write_text(content, encoding="utf-8")
    masked = candidate(request_of, columns={"decimals": {"sales": places}})[0]
    assert masked.published.keys[1].max() > 1e15


@pytest.mark.parametrize("method", ["imhmi", "mhm"])
def test_whole_numbers_of_any_spread_are_cut(request_of: Request, method: str) -> None:
    staff = [2**63 - 1, -(2**63), 2**63 - 1, -(2**63), 1, 1, 1]
    masked = candidate_along(request_of, method, staff)
    assert masked.sizes.size == 2


def candidate_along(request_of: Request, method: str, staff: list[int]) -> Any:
    from tasks.pipeline import mask_and_measure, plainly

    spec = request_of.load(
        **parquet(request_of, staff=staff),
        columns={"quasi_identifiers": ["staff"], "confidential": ["zone", "sales", "score"]},
        microaggregation={"method": method, "ordering": "zscore"},
    )
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    files, _ = mask_and_measure(table, spec, plainly)
    return files.published
