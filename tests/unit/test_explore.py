"""Choosing among choices, and the processes that try them."""

import csv
import html
import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from numba.core import event

from algorithms.errors import RefusedError, SpecError
from algorithms.evaluation import Evaluation
from algorithms.jit import compiling
from algorithms.local_search.search import default_iterations
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.utility.bound_curve import BoundCurve
from expectations.gate import Verdicts
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec_file import load
from flows.explore import _ks
from tasks.explore import workers
from tasks.explore.cell import (
    Cell,
    best,
    bounded,
    choices,
    fitted,
    front,
    is_unlimited,
    measures_of,
    proven,
    shorter,
    try_choice,
)
from tasks.explore.outputs import write_choice
from tasks.explore.page import map_page
from tasks.explore.pictures import loss_by_k, risk_utility_map
from tasks.explore.proposal import ceiling_for, propose
from tasks.explore.recommendation import recommendation
from tasks.explore.source import SourceFacts
from tasks.explore.table import csv_of, rows_of
from tasks.explore.workers import working
from tasks.ingest import ingest
from tasks.reporting.pictures import SERIES
from tasks.validate import validate
from tests.conftest import Request
from tests.tools import PATIENCE

PATHS = [name for name in METHODS if METHODS[name].reads_path]
PICTURES = {"map": "<svg></svg>", "il-by-k": "<svg></svg>"}


def cell(spec: Any, method: str, k: int, il: float, dld: float, **more: Any) -> Cell:
    """Make a cell as if it had been measured."""
    found = Evaluation(
        {"il": il, "dld": dld, "k": float(k), "il_bound": il / 2, "rounding": 0.0}, 9, 3, {3: 3}
    )
    choice = MicroaggregationSection(method=method, k=k, **more)
    least = spec.microaggregation.k
    return Cell(choice, found, Verdicts(found, spec.gate, max(k, least)).each, below=k < least)


def measured_cell(spec: Any, **measures: float) -> Cell:
    """Make a cell of the spec's own choice with these measures."""
    found = Evaluation({"k": 3.0, "rounding": 0.0, **measures}, 9, 3, {3: 3})
    return Cell(spec.microaggregation, found, Verdicts(found, spec.gate, 3).each)


def raise_(error: Exception) -> Any:
    raise error


@pytest.fixture
def many(request_of: Request) -> Request:
    """Give a table that a search can improve, and no ceilings."""
    rows = [f"p{i},0,{i * i % 97},{i * 7 % 89}.5,{i}" for i in range(60)]
    text = "\n".join(["id,zone,staff,sales,score", *rows])
    request_of.source.write_text(f"{text}\n", encoding="utf-8")
    request_of.content["gate"] = {}
    return request_of


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
    assert "The spec now uses mdav, k = 3, with IL 12.00 %." in recommendation(cells, limited)
    assert "The choice in the spec was not measured." in recommendation(cells[1:], limited)
    assert "The choice in the spec" not in recommendation(cells, limited)


def test_where_nothing_is_admissible_the_nearest_is_named(limited: Any) -> None:
    cells = [cell(limited, "mdav", 3, 40.0, 90.0), cell(limited, "cbfs", 3, 22.0, 45.0)]
    assert recommendation(cells, limited).startswith(
        "No choice meets all limits (2 measured). The closest is cbfs, k = 3: IL is 22.0000 % but "
        "must be at most 20.0000 %. Try other values of k, or have the limits reviewed. Not tried: "
    )
    assert best(cells) is None
    assert recommendation(
        [Cell(MicroaggregationSection(method="md", k=2), fault="x")], limited
    ) == (
        "No choice could be measured. Caution: 1 of 1 choices were not measured and may be better. "
        f"Reasons: x (1). Not tried: methods best, cbfs, cvmdav, dba1 and {len(METHODS) - 5} more."
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
    assert (
        "Caution: 6 of 7 choices were not measured and may be better. Reasons: it took longer than "
        "9 seconds (2); fault 5 (1); fault 6 (1); other reasons (2). Not tried: "
    ) in words
    assert map_page(cells, limited, PICTURES).count('class="notice caution"') == 1
    assert "Best of the 1 of 7 choices measured: mdav, k = 3" in map_page(cells, limited, PICTURES)
    assert map_page(cells[:1], limited, PICTURES).count('class="notice good"') == 1
    assert "Caution" not in recommendation(cells[:1], limited)


def test_a_recommendation_names_methods_orderings_and_measures_left_out(limited: Any) -> None:
    every = [cell(limited, name, 3, 12.0, 45.0) for name in METHODS if name not in PATHS]
    along = [cell(limited, name, 3, 12.0, 45.0, ordering="npn") for name in PATHS]
    words = recommendation([*every, *along], limited)
    assert "Not tried: orderings cbfs, " in words
    assert "methods" not in words
    some = [each for each in every if each.choice.method not in ("best", "cbfs")]
    words = recommendation(some, limited)
    assert f"Not tried: methods best, cbfs, {', '.join(sorted(PATHS)[:2])}" in words
    assert "orderings" not in words
    assert f"Of {len(MEASURES)} measures, {len(MEASURES) - 5} were not computed here" in words
    page = html.unescape(map_page(some, limited, PICTURES))
    assert "Methods not tried: best, cbfs, " in page
    assert "Measures not computed: sse, " in page
    assert "Orderings not tried" not in page


def test_a_map_shows_its_measures_and_those_of_the_gate(request_of: Request) -> None:
    spec = request_of.load(gate={"ceilings": {"pmse": 0.2}, "floors": {"l_entropy": 2.0}})
    assert measures_of(spec) == (
        "il", "rounding", "il_bound", "il_over_bound", "category_error", "pmse", "k",
        "linked_known", "unique_with_one", "one_value", "dld", "within_records",
        "reidentified_best", "l_distinct", "l_entropy",
    )  # fmt: skip


@pytest.mark.parametrize(("seconds", "share"), [(120.0, 1.0), (60.0, 1.0), (15.0, 0.25)])
def test_a_search_gets_the_iterations_that_fit_the_time_limit(
    limited: Any, seconds: float, share: float
) -> None:
    plain, searching = choices(limited, ["mdav", "best"], [], [5])
    assert fitted(plain, limited, 1000, seconds) == plain
    assert fitted(searching, limited, 1000, seconds).options == {
        "iterations": int(share * default_iterations(1000, 5))
    }
    assert [each.options for each in shorter(searching)] == [{"iterations": 0}]


@pytest.mark.parametrize("options", [{"iterations": 7}, {"seconds": 3.0}])
def test_a_search_keeps_the_budget_of_the_spec(
    request_of: Request, options: dict[str, Any]
) -> None:
    spec = request_of.load(microaggregation={"method": "best", "options": options})
    (choice,) = choices(spec, ["best"], [], [4])
    assert not is_unlimited(choice, spec)
    assert fitted(choice, spec, 1000, 1.0).options == options
    seeded = request_of.load(microaggregation={"method": "best", "options": {"seed": 3}})
    (choice,) = choices(seeded, ["best"], [], [4])
    assert set(fitted(choice, seeded, 1000, 60.0).options) == {"seed", "iterations"}


def test_a_search_cut_short_is_told_and_written_with_its_iterations(
    many: Request, limited: Any
) -> None:
    table, spec = table_of(many)
    (choice,) = choices(spec, ["best"], [], [3])
    full = try_choice(table, spec, fitted(choice, spec, len(table), 60.0))
    assert (full.iterations, full.shortened) == (default_iterations(len(table), 3), False)
    found = try_choice(table, spec, fitted(choice, spec, len(table), 6.0))
    assert found.iterations == default_iterations(len(table), 3) // 10
    assert found.shortened
    words = recommendation([found], spec)
    assert "best got fewer iterations than by default; with more --seconds it may" in words
    assert "fewer iterations" not in recommendation([full], spec)
    assert f"after {found.iterations} iterations" in map_page([found], spec, PICTURES)
    target = many.folder / "chosen.yaml"
    write_choice([found], spec, many.path, target)
    written = load(target)
    assert written.microaggregation.options == {"iterations": found.iterations}
    again = try_choice(table, written, written.microaggregation)
    assert again.evaluation == found.evaluation


def test_a_choice_found_in_seconds_is_written_with_iterations(many: Request) -> None:
    many.content["microaggregation"] = {"method": "best", "k": 3, "options": {"seconds": 0.05}}
    table, spec = table_of(many)
    found = try_choice(table, spec, spec.microaggregation)
    write_choice([found], spec, many.path, many.folder / "chosen.yaml")
    written = load(many.folder / "chosen.yaml")
    assert written.microaggregation.options == {"iterations": found.iterations}
    written.check_repeatable()


def test_a_search_that_takes_too_long_is_tried_again_with_fewer_iterations(
    many: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int | None] = []
    measured = workers._Worker.try_choice

    def slow(worker: Any, choice: MicroaggregationSection, seconds: float) -> Cell:
        tried.append(choice.options.get("iterations"))
        if choice.options.get("iterations") != 0:
            raise TimeoutError
        return measured(worker, choice, seconds)

    monkeypatch.setattr(workers._Worker, "try_choice", slow)
    table, spec = table_of(many)
    with working((table, spec), count=1, seconds=PATIENCE) as pool:
        best_choice = MicroaggregationSection(method="best", k=3, options={"iterations": 90})
        found = pool.run(best_choice)
        plain = pool.run(MicroaggregationSection(method="mdav", k=3))
        monkeypatch.setattr(workers._Worker, "try_choice", lambda *_: raise_(TimeoutError()))
        lost = pool.run(best_choice)
    assert tried == [90, 9, 0, None]
    assert found.admissible
    assert (found.iterations, found.shortened) == (0, True)
    assert "longer than" in plain.fault
    assert "longer than" in lost.fault
    assert lost.choice == best_choice


# a spec without ceilings


@pytest.fixture
def unlimited(request_of: Request) -> Any:
    return request_of.load(gate=None)


def test_without_ceilings_every_choice_of_at_least_k_may_be_recommended(unlimited: Any) -> None:
    cells = [
        cell(unlimited, "mdav", 2, 9.0, 70.0),
        cell(unlimited, "mdav", 3, 12.0, 45.0),
        cell(unlimited, "mdav", 4, 14.0, 40.0),
    ]
    assert best(cells) is cells[1]
    words = recommendation(cells, unlimited)
    assert "of all choices that meet the limits given so far (2 of 3 measured)" in words
    assert (
        "The spec lacks ceilings. Proposed for mdav, k = 3, from its figures and a margin of 15 %, "
        "but below what can never refuse: IL at most 14 %, DLD at most 52 %. These are proposals "
        "only: a person must decide on them and sign for them."
    ) in words
    page = html.unescape(map_page(cells, unlimited, PICTURES))
    assert "IL: no ceiling yet" in page
    assert "gate:\n  ceilings:\n    il: 14.0\n    dld: 52.0" in page
    assert "no box is drawn" in page
    assert "a custodian must decide on them and sign for them" in page
    for draw in (risk_utility_map, loss_by_k):
        assert not draw(cells, unlimited).axes[0].patches


def test_ceilings_are_drawn_as_a_box(limited: Any) -> None:
    cells = [cell(limited, "mdav", 3, 12.0, 45.0)]
    (box,) = risk_utility_map(cells, limited).axes[0].patches
    assert box.get_bbox().bounds == (0.0, 0.0, 20.0, 50.0)
    page = map_page(cells, limited, PICTURES)
    assert "Proposed limits" not in page
    assert "The box contains" in page
    assert propose(cells, limited) is None


def test_the_bound_of_any_method_is_a_curve_over_k_with_a_shaded_area(limited: Any) -> None:
    cells = [cell(limited, "mdav", k, 4.0 * k, 45.0) for k in (3, 5)]
    curve = BoundCurve({3: 7.0, 4: 8.0, 5: 9.5})
    axes = loss_by_k(cells, limited, curve).axes[0]
    (area,) = axes.collections
    assert area.get_label() == "no method can get here (proven)"
    corners = area.get_paths()[0].vertices
    assert corners[:, 0].max() == 5.5
    assert corners[:, 1].max() == 9.5
    # a bound holds up to the next k, not on a line to the next bound
    assert area.get_paths()[0].contains_points([[3.9, 6.9], [3.9, 7.9], [4.1, 7.9]]).tolist() == [
        True,
        False,
        True,
    ]
    # without a curve, the choices know their own bounds
    own = loss_by_k(cells, limited).axes[0]
    assert own.collections[0].get_paths()[0].vertices[:, 1].max() == 10.0
    unproven = [replace(each, evaluation=without_bound(each)) for each in cells]
    assert not loss_by_k(unproven, limited).axes[0].collections
    assert loss_by_k([], limited).axes[0].get_xlim() == (2.5, 3.5)


def without_bound(of: Cell) -> Evaluation:
    assert of.evaluation is not None
    kept = {name: value for name, value in of.evaluation.measures.items() if name != "il_bound"}
    return Evaluation(kept, 9, 3, {3: 3})


def test_a_curve_is_dotted_where_no_k_was_tried(limited: Any) -> None:
    cells = [cell(limited, "mdav", k, 4.0 * k, 45.0) for k in (3, 4, 7)]
    lines = loss_by_k(cells, limited).axes[0].lines
    styles = {
        tuple(line.get_xdata()): line.get_linestyle()
        for line in lines
        if len(line.get_xdata()) == 2
    }
    assert styles[3.0, 4.0] == "-"
    assert styles[4.0, 7.0] != "-"


def test_the_method_that_comes_closest_to_the_bound_has_a_colour_of_its_own(limited: Any) -> None:
    others = [name for name in METHODS if name not in (*PATHS, "best")]
    assert len(others) > len(SERIES)
    cells = [cell(limited, name, 3, 10.0 + i, 60.0 - i) for i, name in enumerate(others)]
    named = [line.get_label() for line in loss_by_k(cells, limited).axes[0].lines]
    assert "best" not in named
    cells.append(cell(limited, "best", 3, 99.0, 99.0))
    for draw in (loss_by_k, risk_utility_map):
        assert "best" in [line.get_label() for line in draw(cells, limited).axes[0].lines]


def test_a_choice_knows_how_far_it_is_from_the_optimum_at_most(limited: Any) -> None:
    plain = cell(limited, "mdav", 3, 12.0, 45.0)
    (found,) = bounded([plain], BoundCurve({3: 11.64, 4: 12.0}))
    assert found.measure("il_bound") == 11.64
    assert found.measure("il_over_bound") == 1.0309
    assert (found.least, found.bound) == (11.64, 11.64)
    assert found.gap_in_words == "at most 3.1 % above the optimum"
    assert proven([found]) == {3: 11.64}
    # the choice knows a better bound than the curve
    (weaker,) = bounded([plain], BoundCurve({3: 5.0}))
    assert weaker.least == weaker.measure("il_bound") == 6.0
    assert weaker.gap_in_words == "at most 2.00 times the optimum"
    optimal = replace(found, bound=12.0)
    assert (optimal.gap, optimal.gap_in_words) == (0.0, "at most 0.0 % above the optimum")
    (unknown,) = bounded([found], BoundCurve(note="x"))
    assert unknown.bound is None
    nothing = replace(unknown, evaluation=without_bound(unknown))
    assert math.isnan(nothing.gap)
    assert nothing.gap_in_words == ""
    assert proven([nothing]) == {}
    assert "No method could lose less" not in recommendation([nothing], limited)
    for il, gap in ((0.0, 0.0), (1.0, math.inf)):
        zero = replace(measured_cell(limited, il=il, dld=1.0), bound=0.0)
        assert (zero.least, zero.gap) == (0.0, gap)
    words = recommendation([found], limited)
    assert "No method could lose less than 11.64 % at k = 3, so this is at most 3.1 %" in words


def test_rounds_are_spent_on_the_curve_and_not_on_each_choice(many: Request) -> None:
    plain = {"method": "mdav", "k": 3}
    choice = MicroaggregationSection(**plain)
    bounds = {}
    for gate in ({}, {"ceilings": {"il_over_bound": 9.0}}):
        for rounds in (0, 30):
            many.content["gate"] = gate
            many.content["evaluation"] = {"bound_rounds": rounds}
            table, spec = table_of(many)
            key = bool(gate), rounds
            bounds[key] = try_choice(table, spec, choice).measure("il_bound")
    assert bounds[False, 0] == bounds[False, 30] == bounds[True, 0] < bounds[True, 30]


def test_the_table_and_the_page_give_the_bound_of_each_k_and_each_gap(limited: Any) -> None:
    curve = BoundCurve({3: 11.64, 4: 12.5}, "up to k = 4, for a reason")
    fault = Cell(MicroaggregationSection(method="ps", k=4), fault="stopped")
    cells = bounded([cell(limited, "mdav", 3, 12.0, 45.0), fault], curve)
    rows = rows_of(cells)
    assert [row["least_il"] for row in rows] == [11.64, 12.5]
    assert [row["gap"] for row in rows] == [3.0928, ""]
    source = SourceFacts(curve=curve)
    page = html.unescape(map_page(cells, limited, PICTURES, source))
    assert "Least possible IL by k, and the choice with the lowest IL at that k" in page
    assert page.count("at most 3.1 % above the optimum") == 3
    assert '<th scope="row" class="number">4</th><td class="number">12.5 %</td>' in page
    assert "none was measured" in page
    assert "The border of the shaded area is computed up to k = 4, for a reason." in page
    source = SourceFacts(curve=BoundCurve(note="for a reason"))
    page = html.unescape(map_page(cells, limited, PICTURES, source))
    assert "only the bounds that the choices themselves have: for a reason." in page
    assert "shaded area has only" not in map_page(cells, limited, PICTURES)
    nothing = [replace(cells[0], bound=None, evaluation=without_bound(cells[0]))]
    page = map_page(nothing, limited, PICTURES)
    assert "Bounds by k" not in page
    assert "Nothing is proven" in page


def test_the_axis_of_k_shows_whole_numbers(limited: Any) -> None:
    for ks in ([3], [3, 4], [3, 4, 5, 7, 10, 15]):
        axes = loss_by_k([cell(limited, "mdav", k, 12.0, 45.0) for k in ks], limited).axes[0]
        shown = [tick for tick in axes.get_xticks() if min(ks) <= tick <= max(ks)]
        assert shown
        assert all(float(tick).is_integer() for tick in shown)


@pytest.mark.parametrize(
    ("name", "value", "k", "ceiling"),
    [
        ("il", 20.0, 5, 23.0),
        ("il", 20.1, 5, 23.5),
        ("il", 2.0, 5, 2.3),
        ("il", 0.03, 5, 0.04),
        ("il", 0.0, 5, 0.01),
        ("il", 90.0, 5, 99.5),
        ("il", float("inf"), 5, 99.5),
        ("dld", 20.0, 5, 23.0),
        ("dld", 39.0, 5, 39.5),
        ("dld", 39.6, 5, 39.9),
        ("dld", 39.95, 5, 39.99),
        ("dld", 40.0, 5, 39.5),
        ("dld", 66.0, 3, 66.5),
        ("within_records", 95.0, 5, 99.5),
        ("reidentified_best", 19.0, 5, 19.5),
    ],
)
def test_a_proposed_ceiling_can_refuse_and_is_somewhat_above_the_value(
    name: str, value: float, k: int, ceiling: float
) -> None:
    assert ceiling_for(name, value, k) == ceiling
    assert not MEASURES[name].tolerates_all(ceiling, k)


def test_a_proposal_has_further_limits_and_keeps_those_of_the_spec(request_of: Request) -> None:
    spec = request_of.load(gate={"ceilings": {"il": 30.0, "pmse": 0.2}})
    found = measured_cell(
        spec, il=12.0, dld=45.0, within_records=10.0, reidentified_best=33.0, pmse=0.1, l_distinct=4
    )
    proposal = propose([found], spec)
    assert proposal is not None
    assert proposal.ceilings == {"dld": 52.0, "within_records": 11.5}
    assert proposal.floors == {"l_distinct": 2.0}
    assert yaml.safe_load(proposal.snippet(spec)) == {
        "gate": {
            "ceilings": {"il": 30.0, "dld": 52.0, "within_records": 11.5, "pmse": 0.2},
            "floors": {"l_distinct": 2.0},
        }
    }
    assert len(proposal.meanings) == 3
    assert "up to 52 % of the published records may be linked" in proposal.meanings[0]
    strict = request_of.load(
        gate={"ceilings": {"il": 30.0, "within_records": 12.0}, "floors": {"l_distinct": 3.0}}
    )
    proposal = propose([measured_cell(strict, **found.evaluation.measures)], strict)
    assert proposal is not None
    assert (proposal.ceilings, proposal.floors) == ({"dld": 52.0}, {})
    refused = measured_cell(strict, il=90.0, dld=45.0, within_records=1.0, l_distinct=4)
    assert propose([refused], strict) is None


def test_a_proposal_says_if_no_ceiling_can_allow_the_choice(unlimited: Any) -> None:
    proposal = propose([measured_cell(unlimited, il=12.0, dld=66.6667)], unlimited)
    assert proposal is not None
    assert proposal.refused == ("dld",)
    assert "No ceiling that can refuse allows the DLD of this choice: try another k." in (
        proposal.sentence
    )


def test_a_proposal_is_written_into_the_spec_for_a_custodian_to_sign(
    request_of: Request, unlimited: Any
) -> None:
    target = request_of.folder / "chosen.yaml"
    cells = [cell(unlimited, "mdav", 3, 12.0, 45.0)]
    write_choice(cells, unlimited, request_of.path, target)
    text = target.read_text(encoding="utf-8")
    assert (
        "\n# Proposed by `microrelease explore`: a custodian must decide on them and sign for "
        "them.\ngate:\n" in text
    )
    spec = load(target)
    assert spec.gate.ceilings.all == {"il": 14.0, "dld": 52.0}
    assert spec.warnings == ()
    spec.check_releasable()
    partly = request_of.load(gate={"ceilings": {"il": 13.0, "dld": None}, "review": {"hours": 2}})
    other = request_of.folder / "other.yaml"
    write_choice([cell(partly, "mdav", 3, 12.0, 45.0)], partly, request_of.path, other)
    assert load(other).gate.ceilings.all == {"il": 13.0, "dld": 52.0}
    assert load(other).gate.review is not None


def test_the_page_ranks_concerns_of_the_recommended_choice(limited: Any) -> None:
    found = measured_cell(limited, il=19.0, dld=30.0, l_distinct=1)
    page = html.unescape(map_page([found], limited, PICTURES))
    assert "What to look at first" in page
    assert "all records share one value of a confidential column" in page
    assert page.index("In at least one group all") < page.index("It is close to its limit")
    calm = measured_cell(limited, il=1.0, dld=3.0, l_distinct=9)
    assert "No measure stands out" in map_page([calm], limited, PICTURES)


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
