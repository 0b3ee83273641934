"""Rules for every kind of file: the same table, the same release, and one sentence for a fault."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from algorithms.errors import ContractError, DataError
from expectations.request.sections.source import SourceSection
from expectations.tables import arrow_of
from tasks.ingest import ingest
from tasks.sources import readstat
from tasks.sources.fingerprint import fingerprint
from tasks.sources.table import read_table
from tests.conftest import Request
from tests.files import COLUMNS, ENDINGS, IN_MEMORY, REFUSED, SENTINEL, write_survey
from tests.fuzz.damage import flip, truncate
from tests.publishing import candidate

DAMAGED = {ending: 150 if ending in IN_MEMORY else 8 for ending in ENDINGS}
"""Damaged files of each kind; fewer of those that are decoded by a process of their own."""


def source_of(folder: Path, ending: str) -> tuple[bytes, SourceSection]:
    section = write_survey(folder, ending)
    path = folder / section.pop("path")
    return path.read_bytes(), SourceSection.model_validate({"path": path, **section})


def with_dates(table: pa.Table) -> pa.Table:
    """Read the dates of a CSV file, which has them as text."""
    place = table.column_names.index("BORN")
    return table.set_column(place, "BORN", table["BORN"].cast(pa.date32()))


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_gives_the_table_of_its_csv_twin(tmp_path: Path, ending: str) -> None:
    twin = with_dates(read_table(*source_of(tmp_path, ".csv")).table)
    read = read_table(*source_of(tmp_path, ending))
    table = with_dates(read.table)
    assert table.schema.remove_metadata() == twin.schema
    assert table.to_pydict() == twin.to_pydict()
    assert fingerprint(table) == fingerprint(twin)
    declared = {"INCOME": 2} if ending in (".sav", ".zsav") else {}
    coded = {"INCOME": {f"{REFUSED:g}": 2}} if ending == ".dta" else {}
    assert (read.declared_missing, read.missing_codes) == (declared, coded)


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet", ".xlsx", ".sav", ".dta", ".xpt"])
def test_every_kind_gives_the_release_of_its_csv_twin(request_of: Request, ending: str) -> None:
    released = []
    for each in (".csv", ending):
        sections = {"source": write_survey(request_of.folder, each), "columns": COLUMNS}
        masked, _, spec, _ = candidate(request_of, **sections)
        released.append(arrow_of(masked.published, spec.columns))
    assert released[0].equals(released[1])


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_the_same_source_however_often_it_is_read(
    request_of: Request, ending: str
) -> None:
    section = write_survey(request_of.folder, ending)
    spec = request_of.load(source=section, columns=COLUMNS)
    first, second = (ingest.fn(spec)[1] for _ in range(2))
    assert first == second
    assert len(first.content) == 64


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_file_is_read_or_refused_in_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], ending: str
) -> None:
    content, source = source_of(tmp_path, ending)
    messages = []
    for i in range(DAMAGED[ending]):
        rng = random.Random(f"{ending} {i}")
        damaged = truncate(rng, content) if i % 2 else flip(rng, content)
        try:
            read_table(damaged, source)
        except DataError as error:
            messages.append(str(error))
    assert messages
    assert not [text for text in messages if SENTINEL in text or "\n" in text]
    assert capfd.readouterr() == ("", "")


def test_a_file_that_crashes_its_reader_is_refused(tmp_path: Path) -> None:
    content, source = source_of(tmp_path, ".sav")
    # the width of a text in a column of numbers
    place = content.index(b"SEX     ") - 18
    crashing = content[:place] + b"\x08" + content[place + 1 :]
    with pytest.raises(DataError, match="must be an SPSS file, but cannot be read as one"):
        read_table(crashing, source)


def test_the_program_that_decodes_a_file_is_given_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, source = source_of(tmp_path, ".sav")
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "found = [name for name, value in os.environ.items() if 'opensesame' in value]\n"
        f"sys.exit({readstat.UNREADABLE} if found else {readstat.UNREADABLE + 1})\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(readstat, "__file__", str(program))
    monkeypatch.setenv("MICRORELEASE_DATABASE_REGISTRY", "postgresql://u:opensesame@host/db")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "admin:opensesame")
    with pytest.raises(ContractError, match="could not be started"):
        read_table(content, source)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_of_another_kind_is_refused_in_one_sentence(tmp_path: Path, ending: str) -> None:
    _, source = source_of(tmp_path, ending)
    for other in IN_MEMORY:
        content, other_source = source_of(tmp_path, other)
        same = other_source.kind == source.kind and other_source.compression == source.compression
        if not same:
            with pytest.raises(DataError) as raised:
                read_table(content, source)
            assert str(raised.value).startswith("the source must be ")
            assert SENTINEL not in str(raised.value)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_ends_early_is_not_read_as_a_shorter_table(tmp_path: Path, ending: str) -> None:
    content, source = source_of(tmp_path, ending)
    whole = read_table(content, source).table
    # a CSV file may end after any line, and a SAS transport file does not count its records
    if ending in (".csv", ".xpt"):
        return
    cuts = 100 if ending in IN_MEMORY else 6
    for i in range(cuts):
        cut = content[: len(content) * i // cuts]
        try:
            table = read_table(cut, source).table
        except DataError:
            continue
        assert table.equals(whole)
