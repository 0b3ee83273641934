"""The commands that need no server."""

import argparse
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State
from prefect.states import Crashed

from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from flows.cli import main, paths
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


def test_check_imports_neither_prefect_nor_great_expectations(request_of: Request) -> None:
    script = (
        "import sys\n"
        "from flows.cli import main\n"
        f"assert main(['check', {str(request_of.write())!r}]) == 0\n"
        "print('heavy:', *{'great_expectations', 'prefect', 'scipy.spatial'} & set(sys.modules))"
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
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
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


def test_the_advice_on_methods_repeats_measured_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["methods"]) == 0
    advice = capsys.readouterr().out.splitlines()[0]
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    gains = [float(gain) for gain in re.findall(r"\| -([\d.]+) % \| [\d.]+ % \|$", page, re.M)]
    assert len(gains) == 12
    assert f"loses {min(gains):.0f} to {max(gains):.0f} % less than mdav" in advice
    seconds = re.search(r"heavy-tailed +500000 +3 +([\d.]+)", page)
    assert seconds is not None
    assert f"500,000 records in {float(seconds[1]):.0f} s" in advice
    assert "moves and 100,000 iterations" in page


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    shown = capsys.readouterr()
    content: dict[str, Any] = json.loads(shown.out)
    assert shown.err == ""
    return content


def test_check_answers_in_json(request_of: Request, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(request_of.write()), "--json"]) == 0
    checked = document(capsys)
    assert set(checked) == {
        "release", "rows", "expectations", "warnings", "limits", "ceilings_missing", "withheld",
        "merged", "exposures",
    }  # fmt: skip
    assert checked["release"] == {
        "name": "small", "period": "2026-Q3", "revision": 0, "method": "mdav", "k": 3,
    }  # fmt: skip
    assert (checked["rows"], checked["expectations"]) == (7, 12)
    assert {"measure": "k", "limit": 3.0, "floor": True} in checked["limits"]
    assert checked["exposures"][0] == {"columns": ["zone"], "unique": 0, "below_k": 0}


def test_methods_and_measures_answer_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--json"]) == 0
    listed = document(capsys)
    assert [method["name"] for method in listed["methods"]] == list(METHODS)
    assert [ordering["name"] for ordering in listed["orderings"]] == list(ORDERINGS)
    assert set(listed["methods"][0]) == {"name", "summary", "options", "paper", "needs_ordering"}
    assert main(["measures", "--json"]) == 0
    assert [measure["name"] for measure in document(capsys)["measures"]] == list(MEASURES)


def test_a_fault_is_json_too_with_the_same_exit_code(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    request_of.write()
    request_of.source.write_text("other\n1\n", encoding="utf-8")
    assert main(["check", str(request_of.path), "--json"]) == 11
    error = document(capsys)["error"]
    assert (error["kind"], error["exit_code"]) == ("invalid", 11)
    assert "the file must have exactly the columns" in error["sentence"]
    with pytest.raises(SystemExit) as ended:
        main(["check", "--json"])
    assert ended.value.code == 2
    error = document(capsys)["error"]
    assert (error["kind"], error["exit_code"]) == ("usage", 2)
    assert error["sentence"].startswith("the following arguments are required: SPEC")


def test_an_unforeseen_error_is_told_without_its_text(
    request_of: Request, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object) -> None:
        raise TypeError("SECRET")

    monkeypatch.setattr("flows.checking.settle", fail)
    for options in ([], ["--json"]):
        assert main(["check", str(request_of.write()), *options]) == 70
        shown = capsys.readouterr()
        assert "check failed: TypeError at test_cli.py:" in shown.out + shown.err
        assert "SECRET" not in shown.out + shown.err


def test_an_interruption_is_json_too(
    request_of: Request, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.checking.settle", interrupt)
    assert main(["check", str(request_of.write()), "--json"]) == 130
    assert document(capsys)["error"]["kind"] == "interrupted"


def test_a_relative_path_is_printed_as_it_was_written(
    request_of: Request, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request_of.write()
    request_of.source.unlink()
    monkeypatch.chdir(request_of.folder.parent)
    inside = f"{request_of.folder.name}/spec.yaml"
    assert main(["check", inside]) == 11
    assert f"; '{request_of.folder.name}/table.csv' is not" in capsys.readouterr().err
    monkeypatch.chdir(request_of.folder)
    assert main(["check", "spec.yaml", "--json"]) == 11
    assert "; 'table.csv' is not" in document(capsys)["error"]["sentence"]
    assert main(["check", str(request_of.path)]) == 11
    assert f"; '{request_of.source}' is not" in capsys.readouterr().err


def test_a_folder_is_not_taken_for_another_with_a_longer_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths.remember({"registers": [Path("register")], "folder": None})
    text = f"'{tmp_path}/register' {tmp_path}/register/x {tmp_path}/register.old {tmp_path}/other."
    assert paths.as_written(text) == (
        f"'register' register/x {tmp_path}/register.old {tmp_path}/other."
    )
    paths.remember({})


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("none.yaml", 14, "inaccessible: the spec must be a readable file; 'none.yaml' is not (No"),
        (".", 14, "inaccessible: the spec must be a readable file; '.' is not (Is a directory)"),
        ("table.csv", 10, "misspecified: the spec must be"),
    ],
)
def test_a_spec_that_cannot_be_read_is_told_in_one_sentence(
    request_of: Request,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(request_of.folder)
    for command in ("check", "run", "explore"):
        assert main([command, path]) == code
        shown = capsys.readouterr()
        assert shown.err.startswith(words)
        assert shown.out == ""


def test_a_period_must_have_the_length_that_is_released(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = str(request_of.write(release={"period": None, "every": "quarter"}))
    assert main(["check", spec, "--period", "2026-Q3"]) == 0
    capsys.readouterr()
    for period in ("2026-Q5", "2026-09", "2026"):
        assert main(["check", spec, "--period", period]) == 10
        assert "period must name a quarter, such as 2026-Q3" in capsys.readouterr().err


COMPLETED = """
source "$1"
COMP_WORDS=(microrelease $2 "$3")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="${COMP_WORDS[*]}"
_shtab_microrelease microrelease
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_bash_completes_commands_options_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    (tmp_path / "my-spec.yaml").touch()
    subprocess.run(["bash", "-n", script], check=True)

    def completed(before: str, word: str) -> list[str]:
        command = ["bash", "-c", COMPLETED, "-", script, before, word]
        shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        return sorted(shown.stdout.split())

    assert completed("", "me") == ["measures", "methods"]
    assert set(completed("", "")) == {command.name for command in COMMANDS}
    assert completed("run", "--dry") == ["--dry-run"]
    assert completed("check", "my") == ["my-spec.yaml"]


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "explore" in capsys.readouterr().out


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "Whole spec"
    assert "microaggregation" in schema["required"]


@pytest.mark.parametrize("share", ["1.5", "-0.1", "half"])
def test_the_share_of_moving_enterprises_is_checked(
    share: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["example", str(tmp_path), f"--moving={share}"])
    assert f"must be a number from 0 to 1; got '{share}'" in capsys.readouterr().err


def test_enterprises_of_the_example_can_move(tmp_path: Path) -> None:
    for folder, moving in (("calm", "0"), ("restless", "0.5")):
        example = ["example", str(tmp_path / folder), "--rows", "50", "--quarters", "2"]
        assert main([*example, "--moving", moving]) == 0
    first, second = (
        [(tmp_path / folder / f"enterprise-survey-2026-Q{q}.csv").read_bytes() for q in (2, 3)]
        for folder in ("calm", "restless")
    )
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_the_example_is_the_same_each_time_and_overwrites_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["example", str(tmp_path), "--rows", "20"]
    assert main(small) == 0
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files) == 7
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
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    assert main(["run", str(request_of.write())]) == code
    assert words in capsys.readouterr().err
