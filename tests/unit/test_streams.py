"""Public files and sources that are read and written in pieces."""

import json
import math
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from algorithms.errors import ContractError, DataError, IntegrityError, StorageError
from expectations.published import batches, files, verifier
from expectations.published.batches import COUNT, rebatched, tally
from expectations.published.files import checksums, open_folder, sha256_of_data
from expectations.published.recomputed import recompute
from expectations.published.verifier import verify, verify_content
from expectations.review import Decision
from tasks import public_files, publishable
from tasks.ingest import ingest
from tasks.public_files import write_data
from tasks.publish import decide, publish, seal
from tasks.publishable import MaskedRows
from tasks.reporting.methodology import ExactSum
from tasks.sources.fingerprint import fingerprint, streamed_fingerprint
from tasks.sources.table import read_table
from tasks.store import public_folder
from tasks.store.audit import audit
from tasks.store.disk import PRIVATE, opened
from tests.conftest import Request
from tests.publishing import candidate, folder_of


class Stream:
    """Sorted rows of which only a few are in memory at a time."""

    masked = None

    def __init__(self, rows: pa.Table, cut: int, attributes: Any = (), digest: str = "") -> None:
        self._rows, self._cut = rows, cut
        self.attributes, self.digest = attributes, digest
        self.schema, self.rows = rows.schema, rows.num_rows

    def batches(self) -> Iterator[pa.Table]:
        for start in range(0, self.rows, self._cut):
            yield self._rows.slice(start, self._cut)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read, count, hash and write a few rows or bytes at a time."""
    monkeypatch.setattr(files, "BLOCK", 64)
    monkeypatch.setattr(verifier, "ROWS", 2)
    monkeypatch.setattr(batches, "COMBINATIONS", 1)


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch, small_pieces: None) -> None:
    """Publish parts of four rows, in row groups of two."""
    for module in (public_files, publishable):
        monkeypatch.setattr(module, "ROW_GROUP", 2)
    monkeypatch.setattr(public_files, "WHOLE_ROWS", 5)
    monkeypatch.setattr(public_files, "PART_ROWS", 4)


def mixed(rows: int) -> pa.Table:
    rng = np.random.default_rng(5)
    missing = rng.random(rows) < 0.2
    return pa.table(
        {
            "count": pa.array(rng.integers(0, 3, rows), mask=missing),
            "real": rng.choice([0.0, -0.0, 1.5], rows),
            "text": pa.array(rng.choice(["a", "b,\n", "ü"], rows), mask=missing),
            "decimal": pa.array([Decimal(int(i)) for i in rng.integers(0, 2, rows)]),
            "day": pa.array(rng.integers(0, 2, rows).astype("datetime64[D]")),
            "truth": rng.integers(0, 2, rows).astype(bool),
            "unit": rng.integers(0, 4, rows),
        }
    )


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 7, 100])
def test_bytes_do_not_depend_on_how_rows_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    monkeypatch.setattr(public_files, "ROW_GROUP", 5)
    table = mixed(23)
    pyarrow.csv.write_csv(table, tmp_path / "data.csv")
    pyarrow.parquet.write_table(
        table, tmp_path / "data.parquet", compression="zstd", row_group_size=5
    )
    expected = checksums(tmp_path)
    with opened(tmp_path / "streamed", "folder", PRIVATE) as folder:
        written, digest = write_data(Stream(table, cut), folder)
    assert {each.path: each.sha256 for each in written} == expected
    assert checksums(tmp_path / "streamed") == expected
    assert digest == fingerprint(table)


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 9])
def test_a_table_is_cut_anew_without_losing_a_row(rows: int) -> None:
    table = pa.table({"a": range(9)})
    pieces = list(rebatched([table.slice(0, 4), table.slice(4, 0), table.slice(4)], rows))
    assert [piece.num_rows for piece in pieces[:-1]] == [rows] * (len(pieces) - 1)
    assert pa.concat_tables(pieces).equals(table)
    assert streamed_fingerprint(table.schema, pieces) == fingerprint(table)
    assert list(rebatched([], rows)) == []


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_combinations_are_counted_exactly_in_parts(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(batches, "COMBINATIONS", most)
    table = mixed(300)
    names = [name for name in table.column_names if name != "unit"]

    def read() -> Iterator[pa.Table]:
        return rebatched([table], 11)

    counted = pa.concat_tables(tally(read, names, 300, 2))
    numbers = [str(i) for i in range(len(names))]
    assert counted.num_rows == counted.group_by(numbers).aggregate([]).num_rows
    plain = table.group_by(names).aggregate([([], "count_all")])["count_all"]
    assert sorted(counted[COUNT].to_pylist()) == sorted(plain.to_pylist())
    units = pa.concat_tables(tally(read, names, 300, 2, distinct="unit"))
    plain = table.group_by(names).aggregate([("unit", "count_distinct")])["unit_count_distinct"]
    assert sorted(units[COUNT].to_pylist()) == sorted(plain.to_pylist())
    assert list(tally(read, names, 0, 2)) == []


def test_sums_of_parts_are_rounded_once() -> None:
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=1000) * 10.0 ** rng.integers(-20, 20, 1000)
    for parts in (1, 3, 1000):
        added = ExactSum()
        for part in np.array_split(numbers, parts):
            added.add(part)
        assert added.total == math.fsum(numbers)


def test_a_release_in_small_pieces_has_the_same_bytes(
    request_of: Request, small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = publish.fn(*candidate(request_of)).folder
    in_pieces = {file.name: file.read_bytes() for file in folder.iterdir()}
    found = verify(folder)
    assert (found.rows, found.k_found) == (7, 3)
    assert recompute(found)["k"] == 3.0
    assert audit(request_of.register).faults == []
    monkeypatch.undo()
    (request_of.folder / "other").mkdir()
    whole = publish.fn(*candidate(Request(request_of.folder / "other"))).folder
    assert {file.name: file.read_bytes() for file in whole.iterdir()} == in_pieces


def test_rows_that_are_not_in_memory_are_published_as_those_that_are(request_of: Request) -> None:
    masked, approval, spec, record = candidate(request_of)
    rows = MaskedRows(masked, spec.columns)
    table = pa.concat_tables(rows.batches())
    stream = Stream(table, 2, rows.attributes, approval.digest)
    streamed = publish.fn(stream, approval, spec, record).folder
    before = checksums(streamed)
    assert publish.fn(masked, approval, spec, record).unchanged
    assert checksums(streamed) == before
    other = Stream(table, 2, rows.attributes, "another")
    with pytest.raises(ContractError, match="only the table that was approved"):
        publish.fn(other, approval, spec, record)


def test_rows_that_are_read_back_differently_are_not_published(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = candidate(request_of)
    monkeypatch.setattr(public_files, "streamed_fingerprint", lambda _, tables: str(len([*tables])))
    publish.fn(*made)
    numbers = iter("ab")

    def another(_: Any, tables: Any) -> str:
        list(tables)
        return next(numbers)

    monkeypatch.setattr(public_files, "streamed_fingerprint", another)
    with pytest.raises(ContractError, match="must hold the approved table"):
        publish.fn(*candidate(request_of, release={"period": "2026-Q4"}))


# files that change while they are read


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "datapackage.json"])
def test_a_file_that_changes_in_place_while_it_is_verified_is_noticed(
    published: Request, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(files, "BLOCK", 64)
    path = folder_of(published) / name
    opened_files = open_folder(folder_of(published))
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(IntegrityError, match=f"{name} was changed while it was read"):
        verify_content(opened_files, "folder")


def test_a_file_that_changes_after_it_was_verified_is_not_read(
    published: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK", 64)
    path = folder_of(published) / "data.parquet"
    verified = verify(folder_of(published))
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(IntegrityError, match=r"data\.parquet was changed"):
        recompute(verified)


def test_a_file_that_is_replaced_stays_the_one_that_was_opened(
    published: Request, small_pieces: None
) -> None:
    opened_files = open_folder(folder_of(published))
    for path in folder_of(published).iterdir():
        path.unlink()
        path.write_bytes(b"other")
    assert verify_content(opened_files, "folder").rows == 7


def test_descriptors_are_closed_with_their_files(published: Request) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        recompute(verify(folder_of(published)))
        audit(published.register)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# parts


def test_many_records_are_published_in_parts(request_of: Request, in_parts: None) -> None:
    folder = publish.fn(*candidate(request_of)).folder
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert names == [
        "README.md",
        *(f"data/part-{n:05}.{kind}" for n in (0, 1) for kind in ("csv", "parquet")),
        "datapackage.json",
        "methodology.html",
        "statement.json",
    ]
    assert oct((folder / "data").stat().st_mode & 0o777) == "0o755"
    found = verify(folder)
    assert (found.rows, found.k_found) == (7, 3)
    assert [len(batch) for batch in found.batches()] == [2, 2, 2, 1]
    recompute(found)
    assert found.claims.data_sha256 == sha256_of_data(checksums(folder))
    assert "in 2 parts each" in (folder / "README.md").read_text(encoding="utf-8")
    assert "data/*.csv" in (folder / "methodology.html").read_text(encoding="utf-8")
    assert audit(request_of.register).faults == []
    assert publish.fn(*candidate(request_of)).unchanged


def test_a_candidate_in_parts_is_published_as_it_was_sealed(
    request_of: Request, in_parts: None
) -> None:
    sealed = seal.fn(*candidate(request_of))
    assert audit(request_of.register).waiting == [sealed.attempt]
    folder = decide.fn(request_of.register, sealed.attempt, Decision(True, "Bea")).folder
    assert verify(folder).rows == 7
    assert audit(request_of.register).faults == []


def retyped(path: Path) -> None:
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table, path, compression="gzip")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "data/part-00001.csv").unlink(), "does not describe the files in data"),
        (lambda f: (f / "data/other.csv").touch(), "'data/other.csv' does not belong there"),
        (lambda f: retyped(f / "data/part-00000.parquet"), "its checksum differs"),
        (lambda f: (f / "data.csv").touch(), "'data.csv' does not belong there"),
        (lambda f: (f / "data/part-00002.csv").mkdir(), "'data' is not a regular file"),
    ],
)
def test_parts_that_are_not_those_of_the_description_are_noticed(
    request_of: Request, in_parts: None, spoil: Any, words: str
) -> None:
    folder = publish.fn(*candidate(request_of)).folder
    spoil(folder)
    with pytest.raises(IntegrityError, match=words):
        verify(folder)


def describe(folder: Path) -> None:
    """Give all data files of a folder their true size and checksum in its description."""
    path = folder / "datapackage.json"
    package = json.loads(path.read_bytes())
    for resource in package["resources"]:
        resource["bytes"] = (folder / resource["path"]).stat().st_size
        resource["hash"] = f"sha256:{checksums(folder)[resource['path']]}"
    path.write_text(json.dumps(package), encoding="utf-8")


def test_all_parts_must_have_the_same_types(request_of: Request, in_parts: None) -> None:
    folder = publish.fn(*candidate(request_of)).folder
    path = folder / "data" / "part-00001.parquet"
    table = pyarrow.parquet.read_table(path)
    place = table.column_names.index("staff")
    narrow = table["staff"].cast(pa.int32())
    pyarrow.parquet.write_table(table.set_column(place, "staff", narrow), path)
    describe(folder)
    with pytest.raises(IntegrityError, match="columns of the same types as the first part"):
        verify(folder)


@pytest.mark.parametrize(
    ("more", "words"), [("x\n", "data.csv cannot be read"), ("1,2.0,007,1\n", "the same records")]
)
def test_a_csv_file_with_more_lines_than_records_is_noticed(
    published: Request, monkeypatch: pytest.MonkeyPatch, more: str, words: str
) -> None:
    folder = folder_of(published)
    monkeypatch.setattr(verifier, "TEXT_BLOCK", 48)
    monkeypatch.setattr(verifier, "ROWS", 1)
    with (folder / "data.csv").open("a", encoding="utf-8") as file:
        file.write(more)
    describe(folder)
    with pytest.raises(IntegrityError, match=words):
        verify(folder)


def test_a_link_in_place_of_the_parts_is_not_followed(request_of: Request, in_parts: None) -> None:
    folder = publish.fn(*candidate(request_of)).folder
    (folder / "data").rename(folder.parents[1] / "elsewhere")
    (folder / "data").symlink_to(folder.parents[1] / "elsewhere")
    with pytest.raises(IntegrityError, match="'data' is not a regular file"):
        verify(folder)


def test_parts_that_are_swapped_after_they_were_verified_do_not_stay_public(
    request_of: Request, in_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = candidate(request_of)
    check = public_folder.verify_content

    def then_swap(*arguments: Any) -> Any:
        result = check(*arguments)
        (staged,) = (request_of.folder / ".public.staging").iterdir()
        (staged / "data" / "part-00001.csv").write_text("x", encoding="utf-8")
        return result

    monkeypatch.setattr(public_folder, "verify_content", then_swap)
    with pytest.raises((IntegrityError, StorageError)):
        publish.fn(*made)
    assert not folder_of(request_of).exists()


# sources


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_source_is_read_in_a_stream_as_from_memory(
    request_of: Request, small_pieces: None, ending: str
) -> None:
    path = request_of.folder / f"table.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(pyarrow.csv.read_csv(request_of.source), path)
    spec = request_of.load(source={"path": path.name})
    table, facts = ingest.fn(spec)
    assert table.equals(read_table(path.read_bytes(), spec.source, spec.columns).table)
    assert (facts.bytes, facts.sha256) == (path.stat().st_size, checksums(path.parent)[path.name])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_no_part_of_a_name(request_of: Request, mark: bytes) -> None:
    request_of.source.write_bytes(mark + b"\n" + request_of.source.read_bytes())
    table, _ = ingest.fn(request_of.load())
    assert table.column_names == ["id", "zone", "staff", "sales", "score"]
    assert table["zone"].to_pylist()[0] == "007"


def test_a_source_that_changes_while_it_is_read_is_refused(
    request_of: Request, small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(*arguments: Any) -> Any:
        content = request_of.source.read_bytes()
        request_of.source.write_bytes(content.replace(b"10.5", b"99.5"))
        return read_table(*arguments)

    monkeypatch.setattr("tasks.ingest.read_table", changed)
    with pytest.raises(DataError, match="must not change while it is read") as raised:
        ingest.fn(request_of.load())
    assert "99.5" not in str(raised.value)


@pytest.mark.parametrize(
    ("make", "why"), [(Path.mkdir, "Is a directory"), (os.mkfifo, "Not a reg")]
)
def test_a_source_must_be_a_file(request_of: Request, make: Any, why: str) -> None:
    request_of.source.unlink()
    make(request_of.source)
    with pytest.raises(DataError, match=f"source.path must be a readable file; .*{why}"):
        ingest.fn(request_of.load())
