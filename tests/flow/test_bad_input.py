"""Each fault gets one clear sentence and its exit code, and leaves nothing that claims success."""

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from flows.cli import main
from tests.conftest import ROWS, Request, faults_in
from tests.publishing import events

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]


def spoiled(old: str, new: str) -> Callable[[Request], None]:
    def spoil(request_of: Request) -> None:
        assert old in ROWS
        request_of.source.write_text(ROWS.replace(old, new), encoding="utf-8")

    return spoil


def untouched(_request: Request) -> None:
    pass


BAD: dict[str, tuple[Callable[[Request], None], dict[str, Any], int, str]] = {
    "no such file": (lambda r: r.source.unlink(), {}, 11, "source.path must be a readable file"),
    "empty file": (lambda r: r.source.write_bytes(b""), {}, 11, "is empty"),
    "not a table": (spoiled("b,008", "b,008,9"), {}, 11, "as many fields in every line"),
    "no Parquet file": (untouched, {"source": {"format": "parquet"}}, 11, "must be a Parquet file"),
    "missing column": (spoiled("sales", "sails"), {}, 11, "missing from the file: 'sales'"),
    "column without a role": (
        spoiled("score", "x"),
        {},
        11,
        "without a role in the spec: 1",
    ),
    "a record in the header": (
        spoiled("score\n", '"score\n'),
        {},
        11,
        "cannot be read with delimiter",
    ),
    "a compressed file": (
        lambda r: r.source.write_bytes(gzip.compress(ROWS.encode())),
        {},
        11,
        "it is compressed with gzip",
    ),
    "a delimiter outside ASCII": (
        untouched,
        {"source": {"delimiter": "§"}},
        10,
        "delimiter must be an ASCII character",
    ),
    "an encoding of names": (
        untouched,
        {"source": {"encoding": "punycode"}},
        10,
        "source.encoding: must be a character encoding of files",
    ),
    "duplicate column": (spoiled("sales", "staff"), {}, 11, "these are repeated: 'staff'"),
    "not a number": (spoiled("10.5", "ten"), {}, 11, "'sales' must be numeric; 1 row breaks"),
    "infinite": (spoiled("10.5", "inf"), {}, 11, "'sales' must be finite; 1 row breaks"),
    "missing value": (
        spoiled("10.5", ""),
        {},
        11,
        "columns.missing must say how they are treated; 1 row breaks",
    ),
    "not whole": (spoiled("b,008,2", "b,008,2.5"), {}, 11, "'staff' is declared as integer"),
    "identifier twice": (spoiled("b,008", "a,008"), {}, 11, "name it in columns.unit); 2 rows"),
    "fewer than k rows": (untouched, {"microaggregation": {"k": 8}}, 11, "at least k=8 rows"),
    "k below 2": (untouched, {"microaggregation": {"k": 1}}, 10, "microaggregation.k: must be"),
    "unknown method": (
        untouched,
        {"microaggregation": {"method": "mdaw"}},
        10,
        "no method is called 'mdaw'; did you mean 'mdav'?",
    ),
    "unknown option": (
        untouched,
        {"microaggregation": {"options": {"gamma": 0.2}}},
        10,
        "gamma: no such key; the options of 'mdav' are: first, tail",
    ),
    "ordering for a method that uses none": (
        untouched,
        {"microaggregation": {"ordering": "zscore"}},
        10,
        "reads no path: drop the ordering",
    ),
    "ceiling out of range": (
        untouched,
        {"gate": {"ceilings": {"il": 101.0, "dld": 5.0}}},
        10,
        "gate.ceilings.il: must be less than or equal to 100; got 101",
    ),
    "unwritable target": (
        untouched,
        {"publication": {"public_folder": "table.csv/public"}},
        14,
        "public_folder must be a folder that can be written to",
    ),
    "unwritable register": (
        untouched,
        {"publication": {"register_folder": "/proc/register"}},
        14,
        "register_folder must be a folder that can be written to",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_and_leaves_nothing(
    request_of: Request, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    spoil, sections, code, words = BAD[name]
    spoil(request_of)
    spec = str(request_of.write(**sections))
    for command in ("check", "run"):
        assert main([command, spec]) == code
        error = capfd.readouterr().err
        assert words in error
        assert len(faults_in(error)) == 1
        assert "Traceback" not in error
        assert not list(request_of.public.glob("**/*"))
        assert not list(request_of.folder.glob(".*"))
        if request_of.register.exists():
            assert {*events(request_of)} == {"started", "failed"}


def test_a_record_in_a_header_reaches_neither_message_nor_register(
    request_of: Request, capfd: pytest.CaptureFixture[str]
) -> None:
    header = "id,zone,staff,sales,scoreSECRETPERSON,secretzone\n"
    request_of.source.write_text(header + "a,z,1,2,3,4\n" * 5, encoding="utf-8")
    assert main(["run", str(request_of.write())]) == 11
    shown = capfd.readouterr()
    files = [path for path in request_of.register.glob("**/*") if path.is_file()]
    assert files
    for text in (shown.out, shown.err, *(path.read_text(encoding="utf-8") for path in files)):
        assert "secret" not in text.lower()


def test_a_spec_that_is_no_yaml_says_where(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    request_of.path.write_text("release:\n  name: [small\n", encoding="utf-8")
    assert main(["run", str(request_of.path)]) == 10
    assert "the spec must be valid YAML; line 3, column 1" in capsys.readouterr().err
    assert not request_of.register.exists()


def test_a_spec_that_is_not_there_is_refused(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(request_of.folder / "none.yaml")]) == 14
    assert "the spec must be a readable file" in capsys.readouterr().err
