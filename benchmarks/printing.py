"""Prints lines while a benchmark runs, and collects them for the page."""

import subprocess
import sys


def printed_by(module: str, *arguments: str) -> str:
    """Run a benchmark in a separate process; print its output and return it."""
    lines = []
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line.rstrip())
    if process.returncode:
        raise SystemExit(f"{module} failed")
    return "\n".join(lines).strip()
