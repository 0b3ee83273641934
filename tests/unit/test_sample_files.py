"""Files that other software wrote, in the folder that MICRORELEASE_SAMPLE_FILES names."""

import os
from pathlib import Path

import pytest

from algorithms.errors import DataError
from expectations.request.sections.source import ENDINGS, SourceSection
from tasks.sources.table import read_table

FOLDER = os.environ.get("MICRORELEASE_SAMPLE_FILES", "")
SAMPLES = sorted(
    path for path in Path(FOLDER or os.devnull).rglob("*") if path.suffix.lower() in ENDINGS
)


@pytest.mark.skipif(not SAMPLES, reason="MICRORELEASE_SAMPLE_FILES names no folder with files")
@pytest.mark.parametrize("path", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_file_of_other_software_is_read_or_refused_in_one_sentence(path: Path) -> None:
    source = SourceSection(path=path, encoding="latin-1" if path.suffix == ".csv" else "utf-8")
    message = ""
    try:
        rows = read_table(path.read_bytes(), source).table.num_rows
    except DataError as error:
        message = str(error)
    assert message.startswith(("the s", "formulas must", "row 1 of")) or rows >= 0
    assert "\n" not in message
