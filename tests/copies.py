"""A copy of the code to which tests add things, to see how little that takes."""

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLOORS = ("algorithms", "expectations", "tasks", "flows")


class Copy:
    """The code in another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for floor in FLOORS:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / floor, folder / floor, ignore=ignored)
        self._before = self._contents()

    def add(self, path: str, text: str) -> None:
        """Add a file."""
        assert path not in self._before
        (self.folder / path).write_text(text, encoding="utf-8")

    def insert(self, path: str, after: str, text: str) -> None:
        """Insert text after other text, which must stand in the file once."""
        content = (self.folder / path).read_text(encoding="utf-8")
        assert content.count(after) == 1, path
        content = content.replace(after, after + text)
        (self.folder / path).write_text(content, encoding="utf-8")

    @property
    def new_files(self) -> set[str]:
        """The files that were added."""
        return set(self._contents()) - set(self._before)

    @property
    def changes(self) -> dict[str, list[str]]:
        """The lines that were added to other files, and those that were taken from them."""
        after = self._contents()
        changed = {
            name: [line for line in difflib.ndiff(before, after[name]) if line[0] in "+-"]
            for name, before in self._before.items()
        }
        return {name: lines for name, lines in changed.items() if lines}

    def run(self, code: str, *arguments: str) -> str:
        """Run a program against the copy, kernels as plain Python; give its output."""
        # threads of libraries that are still at work must not spoil the end
        program = f"{code}\nimport os\nsys.stdout.flush()\nos._exit(0)\n"
        ran = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def _contents(self) -> dict[str, list[str]]:
        files = [path for floor in FLOORS for path in (self.folder / floor).rglob("*.py")]
        return {
            str(path.relative_to(self.folder)): path.read_text("utf-8").splitlines()
            for path in files
        }
