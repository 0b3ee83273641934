"""Drafts from the command line: questions at a terminal, refusals, and a release from a draft."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from expectations.request.spec_file import load
from flows.cli import main

pytestmark = pytest.mark.flow

ROOT = Path(__file__).parents[2]
LEVELS = ("never", "sometimes", "often")


def write_table(folder: Path, name: str = "survey-2026-Q3.csv", rows: int = 150) -> Path:
    """Write a table with an identifier, labels, levels, numbers and a weight."""
    rng = np.random.default_rng(0)
    lines = ["company,region,smokes,employees,income,wgt"]
    for i in range(rows):
        region = ("Northern", "Southern")[i % 2]
        income = "" if i % 10 == 3 else f"{rng.integers(31, 45) * 1_111}"
        lines.append(
            f"K{i:05d}Z,{region},{LEVELS[i % 3]},{rng.integers(1, 16)},{income},{1 + i % 4}.5"
        )
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("prefect_server")
def test_a_draft_is_released_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write_table(tmp_path)
    assert main(["init", str(table)]) == 0
    shown = capsys.readouterr().out
    spec = tmp_path / "survey.yaml"
    text = spec.read_text(encoding="utf-8")
    assert f"microrelease run {spec} --period 2026-Q3" in shown
    assert "income: masked, as attackers may know it" in shown
    assert f"are yours to decide:\n  survey.yaml:{_line_of('# decide:', text)}  " in shown
    cells = {cell for line in table.read_text().splitlines()[1:] for cell in line.split(",")}
    # the draft says itself that identifiers are never published
    for cell in cells - {"never"}:
        assert len(cell) < 4 or (cell not in text and cell not in shown)
    drafted = load(spec)
    assert drafted.columns.identifiers == ("company",)
    assert drafted.columns.weight == "wgt"
    assert drafted.columns.missing == {"income": "state"}
    assert drafted.gate.ceilings.missing == ()
    assert drafted.warnings == ()
    assert main(["check", str(spec), "--period", "2026-Q3"]) == 0
    assert main(["run", str(spec), "--period", "2026-Q3"]) == 0
    assert (tmp_path / "public" / "survey" / "2026-Q3" / "data.csv").exists()


def _line_of(words: str, text: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), start=1) if words in line)


def test_a_spec_is_overwritten_only_by_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = str(write_table(tmp_path, "table.csv"))
    spec = tmp_path / "own.yaml"
    spec.write_text("mine", encoding="utf-8")
    command = ["init", table, "--no-explore", "--spec", str(spec)]
    assert main(command) == 14
    assert spec.read_text(encoding="utf-8") == "mine"
    assert "must not be overwritten" in capsys.readouterr().err
    assert main([*command, "--force", "--strata", "region", "--k", "3", "--name", "mine"]) == 0
    shown = capsys.readouterr().out
    assert f"microrelease explore {spec}\n" in shown
    drafted = load(spec)
    assert drafted.columns.strata == ("region",)
    assert drafted.microaggregation.k == 3
    assert drafted.release.name == "mine"
    assert drafted.gate.ceilings.missing == ("il", "dld")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--unit", "nobody"], 10, "it has no column 'nobody'"),
        (["--unit", "region", "--weight", "region"], 10, "one role; some are given several"),
        (["--k", "1"], 10, "k must be at least 2"),
        (["--name", "Not A Slug"], 10, "must be lower-case letters"),
        (["--spec", "nowhere/x.yaml"], 14, "cannot be"),
        (["--identifiers", "region"], 11, "'region' is an identifier and must be unique"),
    ],
)
def test_what_cannot_be_drafted_is_refused_in_words(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    table = write_table(tmp_path)
    assert main(["init", str(table), "--no-explore", *options]) == code
    assert words in capsys.readouterr().err
    assert (tmp_path / "survey.yaml").exists() is (code == 11)


@pytest.mark.parametrize(("content", "code"), [(None, 11), (b"", 11), (b"a,b\n1\n", 11)])
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, content: bytes | None, code: int
) -> None:
    path = tmp_path / "table.csv"
    if content is not None:
        path.write_bytes(content)
    assert main(["init", str(path)]) == code
    assert list(tmp_path.glob("*.yaml")) == []


def test_questions_are_asked_at_a_terminal(tmp_path: Path) -> None:
    answers = {
        "smokes": "yes",
        "attackers do not know 'income'": "y",
        "'wgt' a sampling weight": "no",
        "Which period": "2025",
    }
    shown = at_a_terminal(answers, "init", write_table(tmp_path, "survey.csv"), "--no-explore")
    assert "never < sometimes < often" in shown
    spec = load(tmp_path / "survey.yaml")
    assert spec.columns.ordered == {"smokes": LEVELS}
    assert spec.columns.confidential == ("income",)
    assert spec.columns.weight is None
    assert "wgt" in spec.columns.quasi_identifiers
    assert spec.release.period == "2025"
    assert " period: the period" not in shown


def test_nothing_is_asked_if_all_guesses_are_accepted(tmp_path: Path) -> None:
    table = write_table(tmp_path, "survey.csv")
    shown = at_a_terminal({}, "init", table, "--no-explore", "--yes")
    assert "?" not in shown.partition("drafted")[0]
    assert load(tmp_path / "survey.yaml").columns.ordered == {}


def at_a_terminal(answers: dict[str, str], *arguments: str | Path) -> str:
    """Run a command at a pseudo-terminal, answer its questions, and return what it showed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "flows.cli", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "dumb", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=ROOT
    )
    os.close(theirs)
    shown = ""
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        while True:
            try:
                chunk = terminal.read(4096)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            shown += chunk.decode(errors="replace").replace("\r\n", "\n")
            asked = re.search(r"(.*)\n  \[[^\]\n]*\] $", shown)
            if asked:
                answer = next((a for words, a in answers.items() if words in asked[1]), "")
                terminal.write(f"{answer}\n".encode())
    assert process.wait() == 0
    return shown
