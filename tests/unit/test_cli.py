"""The commands that need no server."""

import json
from pathlib import Path

import pytest

from flows.cli import main
from tests.conftest import Request


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for words in ("run", "check", "verify", "audit", "methods", "example", "exit codes"):
        assert words in shown


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run"], ["example", "x", "--rows", "0"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_methods_are_listed_with_options_and_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    shown = capsys.readouterr().out
    assert "mdav" in shown
    assert "[DT05]" in shown
    assert "tail: 'nearest' or 'block', default 'nearest'" in shown


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "Whole spec"
    assert "microaggregation" in schema["required"]


def test_the_example_is_the_same_each_time_and_overwrites_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["example", str(tmp_path), "--rows", "20"]
    assert main(small) == 0
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files) == 5
    assert main(small) == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert main([*small, "--seed", "2"]) == 14
    assert "must not be overwritten" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert main([*small, "--seed", "2", "--force"]) == 0


def test_check_reports_a_good_spec(request_of: Request, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(request_of.write())]) == 0
    assert "7 rows, 12 expectations met" in capsys.readouterr().out.replace("\n", "")
    assert not request_of.register.exists()


def test_verify_and_audit_fail_on_what_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(tmp_path / "none")]) == 13
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["audit", str(tmp_path)]) == 13
    assert "is not a register" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (RuntimeError("no server"), 1, "Prefect must be able to run the flow; it failed"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (None, 1, "Prefect ended the run before its first stage"),
    ],
)
def test_a_run_that_prefect_cannot_carry_out_ends_in_one_sentence(
    request_of: Request,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    raised: BaseException | None,
    code: int,
    words: str,
) -> None:
    def release(*_arguments: object, **_options: object) -> None:
        if raised is not None:
            raise raised

    monkeypatch.setattr("flows.release.release", release)
    assert main(["run", str(request_of.write())]) == code
    assert words in capsys.readouterr().err
