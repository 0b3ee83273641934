"""Pages as a reader opens them: nothing asked of anyone, no complaint, figures in place."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from algorithms.measures import MEASURES
from flows.cli import main
from tests.browser import Browser, browser
from tests.example import change_example

pytestmark = [pytest.mark.flow, pytest.mark.needs("Chromium")]


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def example(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release the example once published, once blocked, and once without its table."""
    folder = tmp_path_factory.mktemp("example")
    assert main(["example", str(folder), "--rows", "300", "--quarters", "1"]) == 0
    for dld, code in ((39.9, 0), (0.5, 12)):
        spec = change_example(folder, dld=dld)
        assert main(["run", str(spec), "--period", "2026-Q3"]) == code
    table = folder / "enterprise-survey-2026-Q3.csv"
    table.rename(folder / "elsewhere.csv")
    assert main(["run", str(spec), "--period", "2026-Q3"]) == 11
    (folder / "elsewhere.csv").rename(table)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 1100, 375])
def test_pages_ask_nothing_of_anyone_and_fit_their_window(
    window: Browser, example: Path, width: int, scheme: str
) -> None:
    pages = sorted(example.rglob("*.html"))
    assert [page.name for page in pages] == ["methodology.html"] + 3 * ["report.html"]
    for page in pages:
        seen = window.open(page, width=width, scheme=scheme)
        assert seen.requests == [page.as_uri()]
        assert seen.complaints == []
        assert seen.overflow <= 0


@pytest.mark.parametrize(
    ("number", "decision"), [(1, "Approved for publication"), (2, "Blocked"), (3, "Failed")]
)
def test_reports_show_the_figures_of_their_manifests(
    window: Browser, example: Path, number: int, decision: str, tmp_path: Path
) -> None:
    (path,) = example.glob(f"register/attempts/{number:06d}-*/manifest.json")
    manifest = json.loads(path.read_bytes())
    shown = " ".join(window.open(path.with_name("report.html")).text.split())
    assert decision in shown
    assert manifest.get("reason", "")[1:] in shown
    measures = manifest.get("evaluation", {"measures": {}})["measures"]
    assert bool(measures) == (decision != "Failed")
    for name, value in measures.items():
        assert f"{MEASURES[name].title} {MEASURES[name].definition}" in shown
        assert MEASURES[name].shown(value) in shown
    assert manifest["code"]["sources_sha256"] in shown

    window.screenshot(tmp_path / "report.png")
    window.print_to(tmp_path / "report.pdf")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_the_methodology_shows_the_figures_of_the_package(window: Browser, example: Path) -> None:
    (path,) = example.glob("public/*/*/methodology.html")
    claims = json.loads(path.with_name("datapackage.json").read_bytes())["microrelease"]
    shown = window.open(path).text
    for words in (
        f"{claims['il_percent']:.4f} %",
        f"{claims['dld_percent']:.2f} %",
        f"k = {claims['k']}",
        claims["method"],
    ):
        assert words in shown


def test_the_window_sees_what_a_page_asks_for_and_complains_of(
    window: Browser, tmp_path: Path
) -> None:
    page = tmp_path / "talkative.html"
    asked = "http://127.0.0.1:9/picture.png"
    page.write_text(
        f'<img src="{asked}"><script>console.error("no")</script><p style="width:3000px">wide</p>',
        encoding="utf-8",
    )
    seen = window.open(page)
    assert asked in seen.requests
    assert any("no" in complaint for complaint in seen.complaints)
    assert seen.overflow > 0


def test_the_map_asks_nothing_of_anyone_and_names_its_choice(
    window: Browser, example: Path, tmp_path: Path
) -> None:
    choices = ["--methods", "mdav", "cbfs", "--k", "3", "5", "--workers", "1"]
    spec = example / "enterprise-survey.yaml"
    assert (
        main(["explore", str(spec), "--period", "2026-Q3", *choices, "--folder", str(tmp_path)])
        == 0
    )
    for width, scheme in ((1200, "light"), (1100, "light"), (375, "dark")):
        seen = window.open(tmp_path / "map.html", width=width, scheme=scheme)
        assert seen.requests == [(tmp_path / "map.html").as_uri()]
        assert seen.complaints == []
        assert seen.overflow <= 0
        assert "mdav, k = 3" in seen.text
        assert "No method could lose less" in seen.text or "meets all limits" in seen.text


def test_the_page_of_a_replay_asks_nothing_of_anyone_and_fits_its_window(
    window: Browser, tmp_path: Path
) -> None:
    assert main(["example", str(tmp_path), "--rows", "300", "--quarters", "2"]) == 0
    spec = change_example(tmp_path)
    assert main(["series", str(spec), "--ceilings", "1.25", "--out", str(tmp_path)]) == 0
    page = tmp_path / "series.html"
    for width, scheme in ((1200, "light"), (1100, "light"), (375, "dark")):
        seen = window.open(page, width=width, scheme=scheme)
        assert seen.requests == [page.as_uri()]
        assert seen.complaints == []
        assert seen.overflow <= 0
        assert "What no method can avoid" in seen.text
        assert "cohorts 1.25" in seen.text
