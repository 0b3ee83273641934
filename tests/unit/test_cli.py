"""The commands that need no server."""

import argparse
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from prefect.client.schemas.objects import State
from prefect.states import Crashed

from flows.cli import main
from flows.cli.app import COMMANDS
from flows.cli.command import Command
from tests.conftest import Request


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("wide")
def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for words in ("exit codes", "start here", "microrelease example demo"):
        assert words in shown
    for command in COMMANDS:
        assert command.summary in shown


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_takes_the_arguments_it_declares_and_explains_each(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    for add_argument_to in command.arguments:
        add_argument_to(parser)
    declared = [action.dest for action in parser._actions]
    assert declared == list(inspect.signature(command.function).parameters)
    assert all(action.help for action in parser._actions)
    with pytest.raises(SystemExit) as ended:
        main([command.name, "--help"])
    assert ended.value.code == 0
    assert command.summary in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["run"], "the following arguments are required: SPEC"),
        (["run", "x", "--dry-run", "--candidate"], "not allowed with argument --dry-run"),
        (["example", "x", "--rows", "0"], "--rows: must be a whole number of at least 1; got '0'"),
        (["example", "x", "--rows", "ten"], "must be a whole number of at least 1; got 'ten'"),
        (["explore", "x", "--seconds", "long"], "must be a number above 0; got 'long'"),
        (["explore", "x", "--seconds", "inf"], "must be a number above 0; got 'inf'"),
        (["explore", "x", "--k", "5", "1"], "must be a number of at least 2, or a range"),
        (["spec"], "the following arguments are required: --schema"),
    ],
)
def test_a_wrong_command_line_exits_with_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, contextlib\n"
        "from flows.cli import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "print('heavy:', *{'numpy', 'pandas', 'prefect', 'pydantic'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.stdout.splitlines()[-1] == "heavy:", shown.stderr


def test_several_values_follow_one_option(
    request_of: Request, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {}

    def explore(_spec: object, **options: object) -> State[None]:
        given.update(options)
        return Crashed(message="the process was killed")

    monkeypatch.setattr("flows.explore.explore", explore)
    options = ["--k", "5", "7-9", "--methods", "mdav", "mhm", "--orderings", "npn", "tsp"]
    assert main(["explore", str(request_of.write()), *options]) == 1
    assert "Prefect ended the run before its first stage" in capsys.readouterr().err
    assert given == {
        "ks": [5, 7, 8, 9],
        "methods": ["mdav", "mhm"],
        "orderings": ["npn", "tsp"],
        "seconds": 60.0,
        "workers": 2,
        "return_state": True,
    }


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
    def release(*_arguments: object, **_options: object) -> State[None]:
        if raised is not None:
            raise raised
        return Crashed(message="the process was killed")

    monkeypatch.setattr("flows.release.release", release)
    assert main(["run", str(request_of.write())]) == code
    assert words in capsys.readouterr().err
