"""A machine may lack what some tests need; they find it or skip."""

from pathlib import Path

import pytest

from tests.tools import HIDE, VARIABLE, find


def test_a_program_is_found_on_the_path_unless_it_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(HIDE, raising=False)
    assert find("Chromium") is None
    program = tmp_path / "chromium"
    program.write_text("", encoding="utf-8")
    program.chmod(0o755)
    assert find("Chromium") == program
    monkeypatch.setenv(HIDE, "PostgreSQL,Chromium")
    assert find("Chromium") is None
    assert find("PostgreSQL") is None


def test_benchmark_sets_are_found_where_the_variable_names_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HIDE, raising=False)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    assert find("benchmark sets") is None
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert find("benchmark sets") == tmp_path
