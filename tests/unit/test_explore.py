"""Choosing among choices, and the processes that try them."""

import csv
import html
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from numba.core import event

from algorithms.errors import RefusedError, SpecError
from algorithms.evaluation import Evaluation
from algorithms.jit import compiling
from expectations.gate import Verdicts
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec_file import load
from flows.explore import _ks
from tasks.explore import workers
from tasks.explore.cell import Cell, best, choices, front, recommendation, try_choice
from tasks.explore.outputs import write_choice
from tasks.explore.page import map_page
from tasks.explore.table import csv_of, rows_of
from tasks.explore.workers import working
from tasks.ingest import ingest
from tasks.validate import validate
from tests.conftest import Request
from tests.tools import PATIENCE

PICTURES = {"map": "<svg></svg>", "il-by-k": "<svg></svg>"}


def cell(spec: Any, method: str, k: int, il: float, dld: float, **more: Any) -> Cell:
    """Make a cell as if it had been measured."""
    found = Evaluation(
        {"il": il, "dld": dld, "k": float(k), "il_bound": il / 2, "rounding": 0.0}, 9, 3, {3: 3}
    )
    choice = MicroaggregationSection(method=method, k=k, **more)
    least = spec.microaggregation.k
    return Cell(choice, found, Verdicts(found, spec.gate, max(k, least)).each, below=k < least)


@pytest.fixture
def limited(request_of: Request) -> Any:
    return request_of.load(gate={"ceilings": {"il": 20.0, "dld": 50.0}})


def test_only_methods_that_cut_a_path_are_combined_with_paths(limited: Any) -> None:
    found = choices(limited, ["mdav", "mhm"], ["npn", "pca"], [3, 2, 3])
    assert [(c.method, c.ordering, c.k) for c in found] == [
        ("mdav", None, 2),
        ("mdav", None, 3),
        ("mhm", "npn", 2),
        ("mhm", "npn", 3),
        ("mhm", "pca", 2),
        ("mhm", "pca", 3),
    ]
    with pytest.raises(SpecError, match="k must be at least 2"):
        choices(limited, ["mdav"], [], [1])


def test_the_method_of_the_spec_keeps_its_options(request_of: Request) -> None:
    spec = request_of.load(
        microaggregation={
            "method": "imhmi",
            "options": {"mode": "paper"},
            "ordering": "mdav",
            "ordering_options": {"chain": True},
        }
    )
    kept, other = choices(spec, ["imhmi", "mhm"], ["mdav"], [3])
    assert kept.options == {"mode": "paper"}
    assert other.options == {}
    assert kept.ordering_options == other.ordering_options == {"chain": True}


def test_the_admissible_choice_that_loses_least_is_recommended(limited: Any) -> None:
    cells = [
        cell(limited, "mdav", 3, 12.0, 45.0),
        cell(limited, "mdav", 4, 9.0, 60.0),
        cell(limited, "cbfs", 3, 14.0, 40.0),
        cell(limited, "md", 5, 25.0, 30.0),
    ]
    assert best(cells) is cells[0]
    assert front(cells) == [cells[1], cells[0], cells[2], cells[3]]
    words = recommendation(cells, limited)
    assert words.startswith(
        "Use mdav, k = 3: it has the lowest IL (12.00 %, with DLD 45.00 %) of all choices that "
        "meet the limits (2 of 4 measured). The next best is cbfs, k = 3, with IL 14.00 %."
    )
    assert "No method could lose less than 6.00 % at k = 3" in words
    assert "at most 2.00 times the optimum" in words


def test_the_choice_of_the_spec_is_named_if_it_is_not_the_best(limited: Any) -> None:
    cells = [cell(limited, "mdav", 3, 12.0, 45.0), cell(limited, "cbfs", 3, 11.0, 45.0)]
    assert recommendation(cells, limited).endswith(
        "The spec now uses mdav, k = 3, with IL 12.00 %."
    )


def test_where_nothing_is_admissible_the_nearest_is_named(limited: Any) -> None:
    cells = [cell(limited, "mdav", 3, 40.0, 90.0), cell(limited, "cbfs", 3, 22.0, 45.0)]
    assert recommendation(cells, limited) == (
        "No choice meets all limits (2 measured). The closest is cbfs, k = 3: IL is 22.0000 % but "
        "must be at most 20.0000 %. Try other values of k, or have the limits reviewed."
    )
    assert best(cells) is None
    assert recommendation(
        [Cell(MicroaggregationSection(method="md", k=2), fault="x")], limited
    ) == (
        "No choice could be measured. Caution: 1 of 1 choices were not measured and may be better. "
        "Reasons: x (1)."
    )


def test_a_recommendation_tells_how_many_choices_were_not_measured_and_why(limited: Any) -> None:
    slow = "it took longer than 9 seconds"
    cells = [
        cell(limited, "mdav", 3, 12.0, 45.0),
        *(Cell(MicroaggregationSection(method="md", k=k), fault=slow) for k in (3, 4)),
        *(
            Cell(MicroaggregationSection(method="md", k=k), fault=f"fault {k}")
            for k in (5, 6, 7, 8)
        ),
    ]
    words = recommendation(cells, limited)
    assert words.startswith("Use mdav, k = 3")
    assert words.endswith(
        "Caution: 6 of 7 choices were not measured and may be better. Reasons: it took longer than "
        "9 seconds (2); fault 5 (1); fault 6 (1); other reasons (2)."
    )
    assert map_page(cells, limited, PICTURES).count('class="notice caution"') == 1
    assert "Best of the 1 of 7 choices measured: mdav, k = 3" in map_page(cells, limited, PICTURES)
    assert map_page(cells[:1], limited, PICTURES).count('class="notice good"') == 1
    assert "Caution" not in recommendation(cells[:1], limited)


def test_no_k_below_that_of_the_spec_is_recommended(request_of: Request, limited: Any) -> None:
    lower = cell(limited, "mdav", 2, 9.0, 45.0)
    higher = cell(limited, "mdav", 4, 14.0, 45.0)
    # groups of two or more may all happen to hold three: the spec must still not say two
    assert limited.microaggregation.k == 3
    lucky = Cell(lower.choice, lower.evaluation, higher.verdicts, below=True)
    for below in (lower, lucky):
        assert not below.admissible
        assert best([below]) is None
        assert best([below, higher]) is higher
        words = recommendation([below], limited)
        assert "try k = 3 or larger. A smaller k is never recommended." in words
        with pytest.raises(RefusedError, match="never recommended"):
            write_choice([below], limited, request_of.path, request_of.folder / "chosen.yaml")
    page = map_page([lower, higher], limited, PICTURES)
    assert "k below the spec's" in html.unescape(page)
    assert _ks(limited) == [3, 4, 5, 7, 10, 15]
    assert _ks(request_of.load(microaggregation={"k": 20})) == [20]


def test_a_choice_below_the_k_of_the_spec_is_measured_and_marked(request_of: Request) -> None:
    table, spec = table_of(request_of)
    found = try_choice(table, spec, MicroaggregationSection(method="mdav", k=2))
    assert found.below
    assert found.evaluation is not None
    assert not found.admissible
    assert not try_choice(table, spec, MicroaggregationSection(method="mdav", k=3)).below


def test_a_map_warns_of_limits_that_can_never_refuse(request_of: Request) -> None:
    spec = request_of.load(gate={"ceilings": {"il": 60.0, "dld": 50.0}})
    assert spec.warnings == ()
    chosen = cell(spec, "mdav", 4, 12.0, 45.0)
    assert "the ceiling of 50 on DLD can never refuse" in map_page([chosen], spec, PICTURES)
    assert "can never refuse" not in map_page([cell(spec, "md", 3, 12.0, 45.0)], spec, PICTURES)


def test_the_table_has_every_choice_and_why_one_failed(limited: Any) -> None:
    cells = [
        cell(limited, "mhm", 3, 12.0, 45.0, ordering="npn"),
        Cell(MicroaggregationSection(method="ps", k=3), fault="stopped"),
    ]
    lines = csv_of(cells).splitlines()
    headings = lines[0].split(",")
    assert len(set(headings)) == len(headings)
    assert [(row["k"], row["k_found"]) for row in csv.DictReader(lines)] == [
        ("3", "3.0"),
        ("3", ""),
    ]
    first, second = rows_of(cells)
    assert first["ordering"] == "npn"
    assert first["on_front"]
    assert second["fault"] == "stopped"
    assert second["il"] == ""
    assert csv_of(cells).splitlines()[0].startswith("method,ordering,k,admissible,on_front,seconds")


def test_the_choice_is_written_back_as_a_spec(request_of: Request, limited: Any) -> None:
    cells = [cell(limited, "mhm", 4, 12.0, 45.0, ordering="npn")]
    beside = request_of.folder / "chosen.yaml"
    write_choice(cells, limited, request_of.path, beside)
    assert beside.read_text(encoding="utf-8").startswith("# Use mhm along npn, k = 4")
    assert yaml.safe_load(beside.read_text(encoding="utf-8"))["source"] == {"path": "table.csv"}
    elsewhere = request_of.folder / "other" / "chosen.yaml"
    write_choice(cells, limited, request_of.path, elsewhere)
    for path in (beside, elsewhere):
        spec = load(path)
        assert spec.microaggregation == cells[0].choice
        assert spec.source.path == limited.source.path
    with pytest.raises(RefusedError, match="must not be overwritten"):
        write_choice(cells, limited, request_of.path, beside)
    with pytest.raises(RefusedError, match="no spec was written: No choice meets"):
        write_choice(
            [cell(limited, "md", 4, 99.0, 99.0)], limited, request_of.path, Path("never.yaml")
        )


def table_of(request_of: Request) -> workers.Task:
    spec = request_of.load()
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    return table, spec


def test_a_process_tries_choices_and_reports_faults_in_words(request_of: Request) -> None:
    with working(table_of(request_of), count=1, seconds=PATIENCE) as pool:
        good = pool.run(MicroaggregationSection(method="mdav", k=3))
        bad = pool.run(MicroaggregationSection(method="mdav", k=500))
    assert good.admissible
    assert good.seconds > 0.0
    assert bad.fault == "k must not exceed the number of rows; got k=500 for 7 rows"


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels are plain Python in this run"
)
def test_compiling_does_not_count_against_a_choice(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(request_of.folder / "nothing compiled yet"))
    with working(table_of(request_of), count=1, seconds=600.0) as pool:
        started = time.monotonic()
        found = pool.run(MicroaggregationSection(method="mdav", k=3))
        waited = time.monotonic() - started
    assert found.admissible
    # on a table of seven rows compiling takes nearly all the time, on any machine
    assert found.seconds < 0.5 * waited


def test_nested_compilations_are_told_once() -> None:
    told: list[bool] = []
    with compiling(told.append), event.trigger_event("numba:compile"):
        with event.trigger_event("numba:compile"):
            assert told == [True]
        assert told == [True]
    with event.trigger_event("numba:compile"):
        pass
    assert told == [True, False]


def test_a_choice_that_takes_too_long_or_dies_is_given_up(request_of: Request) -> None:
    with working(table_of(request_of), count=1, seconds=0.0) as pool:
        assert (
            "longer than 0 seconds" in pool.run(MicroaggregationSection(method="mdav", k=3)).fault
        )
        pool._seconds = PATIENCE
        (worker,) = pool._all
        worker._process.kill()
        worker._process.join()
        assert "ended early" in pool.run(MicroaggregationSection(method="mdav", k=3)).fault
        assert pool.run(MicroaggregationSection(method="mdav", k=3)).admissible
        (last,) = pool._all
        pid = last._process.pid
    assert pid is not None
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process outlived its pool")
