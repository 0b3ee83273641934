"""Pages: the same figures as the record, escaped, in order, and the same bytes each time."""

import ast
import json
import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from jinja2 import UndefinedError

from algorithms.comparison import Comparison
from algorithms.evaluation import evaluate
from algorithms.measure import Certified, Estimate
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.profile import Profile, profile
from algorithms.references import PAPERS
from algorithms.utility.bound_curve import BoundCurve
from expectations.gate import Verdicts
from expectations.manifest import Manifest, decode, encode
from expectations.published.claims import Kind
from expectations.published.verifier import verify
from tasks.reporting import page, pictures
from tasks.reporting.methodology import Facts, Moments, facts_of, methodology, readme
from tasks.reporting.release_report import release_report
from tasks.reporting.sizes import SizeRange, size_ranges
from tasks.store import provenance
from tests.conftest import Request
from tests.publishing import folder_of
from tests.tables import compare_rows

VOID = {"meta", "link", "path", "use", "br"}


class Outline(HTMLParser):
    """Reads a page, and sees that what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[int] = []
        self.names: list[str] = []
        self.addresses: list[str] = []
        self.pictures: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        held = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if held.get("id"):
            self.names.append(str(held["id"]))
        self.addresses += [str(held[key]) for key in ("href", "src") if held.get(key)]
        if tag == "svg":
            assert held["role"] == "img"
            self.pictures.append(str(held["aria-label"]))
        if tag == "th":
            assert held["scope"] in ("row", "col")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def checked(text: str) -> Outline:
    """Read a page, and see that it is sound and asks nothing of anyone."""
    found = Outline(text)
    assert text.startswith("<!DOCTYPE html>")
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    steps = zip(found.headings, found.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    assert len(set(found.names)) == len(found.names)
    for address in found.addresses:
        assert address == "data:," or address.removeprefix("#") in found.names
    assert "<script" not in text
    assert not re.search(r"url\((?!#)", text)
    return found


NAMES = ["staff", "sales <b>", "profit", *ascii_lowercase]


def files_of(n: int = 120, d: int = 3, k: int = 4) -> Comparison:
    x = np.random.default_rng(1).lognormal(3.0, 1.0, (n, d))
    x[:, -1] = np.round(x[:, -1]) - 5.0
    published = x.copy()
    for block in np.array_split(np.argsort(x[:, 0]), n // k):
        published[block] = x[block].mean(axis=0)
    return compare_rows(x, published, k, names=NAMES)


def profile_of(files: Comparison) -> Profile:
    return profile(files)


def record_of(request_of: Request, files: Comparison, **parts: Any) -> dict[str, Any]:
    spec = request_of.load()
    evaluation = evaluate(files)
    told = spec.model_dump(mode="json")
    told["columns"]["quasi_identifiers"] = NAMES[: len(files.original.keys)]
    told["microaggregation"]["k"] = files.k
    return {
        "attempt": "000001-small-2026-Q3",
        "release": {**told["release"], "title": "Cats & dogs"},
        "spec": told,
        "code": {"version": "1", "commit": None, "sources_sha256": "ab" * 32},
        "environment": {"python": "3.11"},
        "warnings": ["take <care>"],
        "started": "2026-10-01T06:00:00+00:00",
        "ended": "2026-10-01T06:00:02+00:00",
        "seconds": 2.5,
        "input": {"path": "x", "sha256": "cd" * 32, "bytes": 9, "rows": 120, "columns": 5},
        "evaluation": asdict(evaluation),
        "gate": [asdict(verdict) for verdict in Verdicts(evaluation, spec.gate, files.k)],
        "expectations": [
            {"suite": "input", "rule": "rows & columns", "met": True, "rows": None},
            {"suite": "input", "rule": "none missing", "met": True, "rows": 0},
        ],
        "decision": "approved",
        "public": {"folder": "public/small", "checksums": {"data.csv": "ef" * 32}},
        **parts,
    }


def report(record: dict[str, Any], drawn: Profile | None = None) -> str:
    return release_report(Manifest.model_validate(record), drawn)


def test_the_report_holds_every_figure_of_the_record(request_of: Request) -> None:
    files = files_of()
    record = record_of(request_of, files)
    found = checked(report(record, profile_of(files)))
    assert "Approved for publication" in found.text
    measures = record["evaluation"]["measures"]
    for name, value in measures.items():
        assert MEASURES[name].shown(value) in found.text
        assert MEASURES[name].definition in found.text
    for words in (
        "Cats & dogs",
        "take <care>",
        "sales <b>",
        "rows & columns",
        "2 rules, all met.",
        "no method could lose less"[1:],
        "method: mdav",
        "ab" * 32,
        "cd" * 32,
        "ef" * 32,
        "2026-10-01 06:00:02",
        "2.5 s",
        "unknown",
    ):
        assert words in found.text
    assert len(found.pictures) == 2 * 3 + 2 + 1
    assert len(set(found.pictures)) == len(found.pictures)


def test_the_report_of_a_manifest_read_from_disk_is_the_same(request_of: Request) -> None:
    files = files_of()
    record = record_of(request_of, files)
    again = json.loads(json.dumps(record))
    drawn = profile_of(files)
    assert report(record, drawn) == report(again, drawn)


def test_the_report_of_a_blocked_attempt_says_so_first(request_of: Request) -> None:
    files = files_of()
    record = record_of(request_of, files, decision="blocked", reason="IL is 9 %, above its ceiling")
    record["gate"][0]["passed"] = False
    record["expectations"][1] |= {"met": False, "rows": 3}
    record["evaluation"]["notes"] = {
        "dld": Estimate(1.0, "within 1").note,
        "il_bound": Certified(1.0, "by column generation").note,
    }
    record["release"]["revision"] = 2
    found = checked(report(record, profile_of(files)))
    assert found.text.index("Blocked") < found.text.index("IL is 9 %, above its ceiling.")
    assert found.text.index("Nothing was published.") < found.text.index("Gate")
    order = [found.text.rindex(heading) for heading in ("Certificate.", "What to look at first")]
    assert order == sorted(order)
    assert found.text.index("the most worrying first") < found.text.index("Utility: how far")
    for words in (
        "✗ failed",
        "✗ broken",
        "1 of them broken",
        "Estimated: within 1.",
        "Proven: by column generation.",
        "revision 2",
    ):
        assert words in found.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Estimated: by column generation" not in found.text


def test_an_attempt_that_failed_at_once_gets_a_short_report() -> None:
    release = {"name": "small", "period": "2026-Q3"}
    record = {"attempt": "000001", "release": release, "decision": "failed", "reason": "no file"}
    found = checked(report(record))
    assert "No file." in found.text
    assert found.pictures == []
    assert found.headings == [1]


@pytest.mark.parametrize("shape", [(40, 1, 4), (7, 2, 3)], ids=["one column", "few records"])
def test_what_cannot_be_drawn_is_left_out(request_of: Request, shape: tuple[int, int, int]) -> None:
    files = files_of(*shape)
    found = checked(report(record_of(request_of, files, decision="unchanged"), profile_of(files)))
    assert "Unchanged" in found.text
    assert ("Correlations, original" in found.text) == (shape[1] > 1)
    assert ("Not drawn" in found.text) == (shape[0] < 10)
    assert "% quantile" not in found.text


def test_many_columns_are_drawn_without_numbers_and_samples_are_told(request_of: Request) -> None:
    d = 14
    files = files_of(200, d, 4)
    names = [f"c{j}" for j in range(d)]
    drawn = pictures.correlation(np.eye(d), names)
    assert not drawn.axes[0].texts
    record = record_of(request_of, files)
    sampled = Profile(**{**vars(profile_of(files)), "linkage_note": "measured on 9 of 99"})
    assert "DLD by column; measured on 9 of 99" in checked(report(record, sampled)).text


def test_the_report_draws_the_least_possible_loss_by_k(request_of: Request) -> None:
    files = files_of()
    record = record_of(request_of, files)
    assert record["evaluation"].get("bounds") is None
    assert "What another k would cost" not in checked(report(record)).text
    curve = BoundCurve({2: 1.5, 3: 2.25, 4: 2.5, 5: 3.125, 16: 9.0}, "in a way")
    record["evaluation"]["bounds"] = asdict(curve)
    again = json.loads(json.dumps(record))
    text = report(record)
    assert text == report(again)
    # the report of a decision is drawn from what the candidate's manifest keeps
    kept = decode(encode(Manifest.model_validate(record)), "000001").record.evaluation
    assert kept is not None
    assert kept.bounds is not None
    assert kept.bounds.least == curve.least
    found = checked(text)
    il = record["evaluation"]["measures"]["il"]
    assert found.pictures == [
        f"Least possible IL by k, and this release: k = 4 and an IL of {il:.4g} %"
    ]
    for words in (
        "Every release loses at least 2.25 % with k = 3, 2.5 % with k = 4 and 3.125 % with k = 5.",
        "4 2.5 % this one",
        "The curve is computed in a way.",
    ):
        assert words in found.text
    assert "16 9 %" in found.text
    far = {"least": {"9": 1.0}, "note": ""}
    record["evaluation"]["bounds"] = far
    found = checked(report(record))
    assert "Every release" not in found.text
    assert "The curve is computed" not in found.text
    record["evaluation"]["bounds"] = asdict(BoundCurve(note="there are too many records"))
    found = checked(report(record))
    assert found.pictures == []
    assert "The curve of bounds by k is left out: there are too many records." in found.text


def test_the_release_stands_above_what_no_method_can_reach() -> None:
    axes = pictures.bounds({2: 1.0, 3: 2.0, 8: 4.0}, 3, 2.5).axes[0]
    (area,) = axes.collections
    inside = area.get_paths()[0].contains_points([[3.0, 2.5], [5.0, 2.1], [5.0, 1.9], [8.2, 3.9]])
    assert inside.tolist() == [False, False, True, True]
    assert [line.get_xydata().tolist() for line in axes.lines][-1] == [[3.0, 2.5]]
    assert axes.get_xlim() == (1.5, 8.5)
    # a table of copies loses nothing
    assert pictures.bounds({2: 0.0}, 2, 0.0).axes[0].get_ylim() == (0.0, 1.0)


def test_pictures_are_the_same_bytes_and_follow_the_colours_of_the_page() -> None:
    column = profile_of(files_of()).columns[0]
    first, again = (pictures.as_svg(pictures.density(column), "<Density>") for _ in range(2))
    assert first == again
    assert "currentColor" in first
    assert "var(--series-1, " in first
    assert 'aria-label="&lt;Density&gt;"' in first
    assert "<metadata>" not in first
    assert "original</text>" in first
    assert "DejaVu" not in first
    png = pictures.as_png(pictures.density(column))
    assert png.startswith(b"\x89PNG")
    assert png == pictures.as_png(pictures.density(column))


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_column_can_have_any_name() -> None:
    column = replace(profile_of(files_of()).columns[0], name='\x01 & "<b>" id="figure_1"')
    found = Outline(pictures.as_svg(pictures.density(column), column.name))
    assert '\N{REPLACEMENT CHARACTER} & "<b>" id="figure_1"' in found.text
    assert len(set(found.names)) == len(found.names)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (-0.5, "−0.5"), (9999.0, "9999"), (25e3, "25 k"), (3e6, "3 M"), (2e9, "2 bn")],  # noqa: RUF001 - a minus sign
)
def test_numbers_on_axes_are_short(value: float, words: str) -> None:
    assert pictures.shown(value) == words


def test_stretched_axes_have_few_numbers_on_either_side_of_zero() -> None:
    assert pictures.decades(0.0, 50.0, 1.0) == [0.0, 1.0, 3.0, 10.0, 30.0]
    assert pictures.decades(-20.0, 0.5, 1.0) == [-10.0, -3.0, -1.0, 0.0]
    wide = pictures.decades(0.0, 1e9, 1.0)
    assert 3 <= len(wide) <= 6
    assert wide[-1] == 1e9


def test_text_is_escaped_in_pages_and_not_in_the_readme(published: Request) -> None:
    folder = folder_of(published)
    claims = verify(folder).claims
    types, roles = {"a < b": "string"}, {**claims.roles, "a < b": "confidential"}
    claims = replace(claims, title="Cats & <dogs>", types=types, roles=roles)
    assert "<h1>Cats &amp; &lt;dogs&gt;, 2026-Q3</h1>" in methodology(claims, read_facts(folder))
    text = readme(claims)
    assert text.startswith("# Cats & <dogs>\n\n2026-Q3. ")
    assert "| a < b | string | as collected |" in text


def test_a_value_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'claims' is undefined"):
        page.render("readme.md", columns=[])


def test_sizes_are_listed_one_by_one_or_in_ranges_that_double() -> None:
    assert size_ranges({4: 1, 3: 2}) == [SizeRange("3", 2, 6, 100.0), SizeRange("4", 1, 4, 50.0)]
    many = dict.fromkeys(range(5, 50), 1)
    ranges = size_ranges(many)
    assert [size.label for size in ranges] == ["5 to 9", "10 to 19", "20 to 39", "40 to 79"]
    assert sum(size.groups for size in ranges) == len(many)
    assert sum(size.records for size in ranges) == sum(many)


def test_python_modules_hold_no_markup() -> None:
    root = Path(page.__file__).parents[1]
    modules = [*(root / "reporting").glob("*.py"), root / "explore" / "page.py"]
    assert len(modules) > 5
    for module in modules:
        tree = ast.parse(module.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.search(r"</?[a-z]", node.value), f"{module.name}, line {node.lineno}"


def test_templates_are_part_of_the_package_and_of_the_digest_of_its_sources() -> None:
    folder = Path(page.__file__).with_name("templates")
    assert sorted(page.TEMPLATES.list_templates()) == sorted(path.name for path in folder.iterdir())
    assert {path.suffix for path in folder.iterdir()} <= set(provenance.SOURCES)


# the public page


def test_the_methodology_tells_what_was_done_and_is_made_of_public_files_alone(
    published: Request,
) -> None:
    folder = folder_of(published)
    text = (folder / "methodology.html").read_text(encoding="utf-8")
    found = checked(text)
    claims = verify(folder).claims
    for words in (
        "A small table, 2026-Q3",
        "mdav",
        "Ordinal, continuous and heterogeneous",
        "at least k = 3 records",
        f"{claims.il_percent:.4f} %",
        f"{claims.dld_percent:.2f} %",
        "microrelease verify",
        claims.resources[0].sha256,
        "CC0-1.0",
    ):
        assert words in found.text
    for private in (str(published.folder), "table.csv", "register", '"id"'):
        assert private not in text
    assert text == methodology(claims, read_facts(folder))


def test_no_docstring_is_part_of_a_public_page(
    published: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(published)
    claims = replace(verify(folder).claims, method="imhmi", ordering="npn", refine={})
    text = methodology(claims, read_facts(folder))
    for run in (METHODS["imhmi"].run, ORDERINGS["npn"].run, METHODS["best"].run):
        monkeypatch.setattr(run, "__doc__", "Do something else, in other words.")
    assert methodology(claims, read_facts(folder)) == text
    found = checked(text)
    for words in (
        METHODS["imhmi"].summary,
        ORDERINGS["npn"].summary,
        PAPERS["MOR20"],
        "The groups were improved step by step",
    ):
        assert words in found.text
    assert "groups of MDAV" not in found.text


def read_facts(folder: Path) -> Facts:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / "data.parquet")
    return facts_of(lambda: iter([table]), verify(folder).claims)


def test_the_methodology_names_path_options_rounding_and_the_rest(published: Request) -> None:
    folder = folder_of(published)
    claims = replace(
        verify(folder).claims,
        method="imhmi",
        ordering="npn",
        options={"gamma": 0.5},
        recut=True,
        refine={"iterations": 9},
        each_column=True,
        kinds={"staff": Kind("number"), "sales": Kind("number", places=1)},
        revision=1,
        il_percent=80.0,
        il_rounding_percent=0.0,
    )
    found = checked(methodology(claims, read_facts(folder)))
    for words in (
        "Path npn",
        "with gamma = 0.5",
        "Recut New groups were formed",
        "Refinement best with iterations = 9",
        "Each column",
        "averaged, rounded to 1 decimal",
        "revision 1",
    ):
        assert words in found.text
    assert "divide it by" not in found.text
    assert "rounding accounts for" not in found.text
    claims = replace(claims, kinds={"staff": Kind("number"), "sales": Kind("number")})
    assert "rounded to" in found.text
    assert "rounded to" not in checked(methodology(claims, read_facts(folder))).text


def test_facts_are_those_of_the_table(published: Request) -> None:
    claims = verify(folder_of(published)).claims
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential"}
    table = pa.table({"a": [1, 1, 5, 5, 5], "b": [0.5, 0.5, 2.0, 2.0, 2.0], "c": [*"vwxyz"]})
    found = facts_of(lambda: iter([table]), replace(claims, roles=roles, rows=5))
    assert found.sizes == {2: 1, 3: 1}
    values = [1, 1, 5, 5, 5]
    assert found.moments["a"] == Moments(
        float(np.mean(values)), pytest.approx(np.std(values, ddof=1)), 1.0, 5.0
    )
