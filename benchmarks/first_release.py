"""Counts the edits and seconds between a table and its first release.

Eight tables of different kinds, four from scikit-learn and four invented ones, are written to a
temporary folder, with a home folder of its own. For each of them ``microrelease init`` drafts a
spec, nobody edits it, and ``microrelease run`` releases it. The line of a table shows how many
lines of the draft had to be edited before the run published (0, or ? if it did not), and how many
seconds and CPU seconds the two commands took. Kernels that were compiled before are found. Run it
with ``python -m benchmarks.first_release``; it takes some minutes.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from expectations.request.periods import period_in

ROOT = Path(__file__).parents[1]


def _bundled(load: Callable[..., object], **options: object) -> pd.DataFrame:
    frame: pd.DataFrame = load(as_frame=True, **options).frame  # type: ignore[attr-defined]
    return frame


def episodes(rows: int = 3_000) -> pd.DataFrame:
    """Invent stays in a hospital: codes of diseases, several stays per patient, missing values."""
    rng = np.random.default_rng(1)
    diseases = [
        f"{letter}{n:02d}.{d}" for letter in "CEIJKM" for n in range(10, 26) for d in (0, 9)
    ]
    days = np.datetime64("2026-04-01") + rng.integers(0, 91, rows)
    stay = rng.geometric(0.2, rows)
    weight = rng.normal(75, 15, rows).round(1)
    return pd.DataFrame(
        {
            "episode": [f"E{i:06d}" for i in rng.permutation(rows)],
            "patient_id": rng.integers(0, rows * 2 // 3, rows),
            "admitted": days.astype(str),
            "icd10": rng.choice(diseases, rows, p=rng.dirichlet(np.ones(len(diseases)))),
            "age": rng.integers(0, 99, rows),
            "sex": rng.choice(["f", "m"], rows),
            "height": rng.normal(170, 10, rows).round(),
            "weight": np.where(rng.random(rows) < 0.07, np.nan, weight),
            "ward": rng.choice(["surgery", "internal medicine", "children"], rows),
            "days": stay,
            "outcome": rng.choice(["home", "transfer", "death"], rows, p=[0.85, 0.1, 0.05]),
            "note": [
                f"patient arrived at {i % 24} h and was seen by doctor {i}" for i in range(rows)
            ],
        }
    )


def survey(rows: int = 1_500) -> pd.DataFrame:
    """Invent a survey of persons: weights, days, levels, and NA for answers that were refused."""
    rng = np.random.default_rng(2)
    income = rng.lognormal(10, 0.6, rows).round(2).astype(str)
    return pd.DataFrame(
        {
            "Fragebogen-Nr": np.arange(1, rows + 1),
            "Befragt am": (np.datetime64("2026-01-05") + rng.integers(0, 60, rows)).astype(str),
            "Größe": rng.normal(172, 9, rows).round(1),
            "Bundesland": rng.choice(["Süd", "Nord", "Ost", "West"], rows),
            "Rauchen": rng.choice(["never", "sometimes", "often"], rows, p=[0.6, 0.3, 0.1]),
            "Zufriedenheit": rng.choice(["1 - low", "2 - fair", "3 - high"], rows),
            "income": np.where(rng.random(rows) < 0.1, "NA", income),
            "wgt": rng.gamma(4, 0.25, rows).round(3) + 0.1,
        }
    )


def panel(firms: int = 400, years: int = 5) -> pd.DataFrame:
    """Invent accounts of firms over several years."""
    rng = np.random.default_rng(3)
    size = np.repeat(rng.lognormal(4, 1, firms), years)
    growth = rng.lognormal(0, 0.1, firms * years)
    sector = rng.choice([f"{a}{n}" for a in "CFGH" for n in range(11, 30)], firms)
    return pd.DataFrame(
        {
            "firm": np.repeat([f"F{i:05d}" for i in range(firms)], years),
            "year": np.tile(np.arange(2021, 2021 + years), firms),
            "nace_code": np.repeat(sector, years),
            "listed": np.repeat(rng.random(firms) < 0.1, years),
            "turnover": (size * growth * 1000).round(),
            "employees": np.maximum(size * growth / 10, 1).astype(int),
            "profit": (size * rng.normal(30, 40, firms * years)).round(1),
            "currency": "EUR",
        }
    )


def awkward(rows: int = 800) -> pd.DataFrame:
    """Invent a table whose names of columns mean something in YAML, or have no ASCII letter."""
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "no": [f"{i:07d}" for i in rng.permutation(rows)],
            "yes/no": rng.choice(["yes", "no"], rows),
            "a: b # c": rng.integers(0, 400, rows),
            "2nd visit?": rng.choice(["0-9", "10-19", "20+"], rows),
            "年齢": rng.integers(18, 80, rows),
            "- item": rng.normal(0, 1, rows).round(3),
            'say "hi", [x]': rng.choice(list("abcdef"), rows),
            "null": rng.integers(0, 2, rows),
        }
    )


def tables(folder: Path) -> list[Path]:
    """Write the tables; return their paths."""
    frames = {
        "iris.csv": _bundled(datasets.load_iris),
        "wine.csv": _bundled(datasets.load_wine),
        "diabetes.csv": _bundled(datasets.load_diabetes, scaled=False),
        "breast_cancer.parquet": _bundled(datasets.load_breast_cancer),
        "episodes-2026-Q2.csv": episodes(),
        "survey 2026.csv": survey(),
        "panel.csv.gz": panel(),
        "awkward.parquet": awkward(),
    }
    for name, frame in frames.items():
        (folder / Path(name).stem).mkdir()
        path = folder / Path(name).stem / name
        if path.suffix == ".parquet":
            frame.to_parquet(path, index=False)
        elif name.startswith("survey"):
            german = frame.apply(_with_commas)
            german.to_csv(path, index=False, sep=";", encoding="cp1252")
        else:
            frame.to_csv(path, index=False)
    return [folder / Path(name).stem / name for name in frames]


def _with_commas(column: pd.Series) -> pd.Series:  # type: ignore[type-arg]
    is_decimal = column.name in ("Größe", "income", "wgt")
    return column.astype(str).str.replace(".", ",", regex=False) if is_decimal else column


@dataclass(frozen=True)
class Called:
    """The exit code, the output, and the seconds and CPU seconds of a command."""

    code: int
    output: str
    seconds: float
    cpu: float


def call(*arguments: str | Path, home: Path) -> Called:
    """Run a command in a home folder of its own, without a terminal."""
    started, before = time.monotonic(), _cpu()
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", *map(str, arguments)],
        env={
            **os.environ,
            "HOME": str(home),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "200",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    return Called(done.returncode, output, time.monotonic() - started, _cpu() - before)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Draft and release every table; print a line for each."""
    headings = ("records", "columns", "decide", "edits", "init s", "run s", "CPU s")
    _say(f"{'table':<24}" + "".join(f"{heading:>9}" for heading in headings))
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary) / "home"
        home.mkdir()
        return max(_released(path, home) for path in tables(Path(temporary)))


def _released(path: Path, home: Path) -> int:
    """Draft and release a table; print its line, and return 1 if it was not published."""
    drafted = call("init", path, home=home)
    spec = next(path.parent.glob("*.yaml"), None)
    if drafted.code or spec is None:
        _say(drafted.output)
        return 1
    text = spec.read_text(encoding="utf-8")
    found = period_in(path.stem)
    run = call("run", spec, *(["--period", found[0]] if found else []), home=home)
    rows, columns = _shape(path)
    edits = "?" if run.code else "0"
    _say(
        f"{path.name:<24}{rows:>9,}{columns:>9}{text.count('# decide:'):>9}{edits:>9}"
        f"{drafted.seconds:>9.0f}{run.seconds:>9.0f}{drafted.cpu + run.cpu:>9.0f}"
    )
    if run.code:
        _say(run.output)
    return int(run.code != 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _shape(path: Path) -> tuple[int, int]:
    if path.suffix == ".parquet":
        return pd.read_parquet(path).shape
    separator = ";" if path.name.startswith("survey") else ","
    frame = pd.read_csv(path, sep=separator, encoding="cp1252")
    return len(frame), len(frame.columns)


if __name__ == "__main__":
    sys.exit(main())
