"""Takes the pictures in docs/pictures: python -m tests.operation.pictures."""

import sys
import tempfile
from pathlib import Path

from flows.cli import main
from tests.browser import Browser, browser
from tests.operation.site import Site, site

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
QUARTERS = ("2025-Q4", "2026-Q1", "2026-Q2")


def release(place: Site, expected: str, **changes: object) -> str:
    """Run a release of the example to its end."""
    named = {"name": "enterprise-survey", "changes": changes}
    run = place.ended(place.start("release/enterprise-survey", spec=named, started_by="Ana"))
    assert run.state is not None
    assert run.state.name == expected, run.state.message
    return str(run.id)


def take(place: Site, window: Browser) -> None:
    """Go through the pages and take a picture of each."""
    PICTURES.mkdir(exist_ok=True)
    for quarter in QUARTERS:
        release(place, "Published", period=quarter)
    blocked = release(place, "Blocked", period="2026-Q3", k=12)

    with place.client() as client:
        deployment = client.read_deployment_by_name("release/enterprise-survey").id
    window.visit(f"{place.url}/deployments/deployment/{deployment}/run", width=900, height=1150)
    window.wait_for("k (Optional)")
    window.fill("k (Optional)", "6")
    window.evaluate(
        "document.activeElement.blur(); document.querySelector('h1, header, form').scrollIntoView()"
    )
    window.screenshot(PICTURES / "form.png", whole=False)

    window.visit(f"{place.url}/runs/flow-run/{blocked}", width=1200, height=1150)
    window.wait_for("above its ceiling")
    window.click("*", "Details")
    window.wait_for("State Message")
    window.screenshot(PICTURES / "blocked.png", whole=False)

    key = "release-measures-enterprise-survey"
    window.visit(f"{place.url}/artifacts/key/{key}", width=1200, height=620)
    window.wait_for("2025-Q4")
    window.screenshot(PICTURES / "artefacts.png", whole=False)

    limits = {"il": 35.0, "dld": 15.0, "muted": 9.0}
    place.write_spec("reviewed-survey", gate={"ceilings": limits, "review": {"hours": 1.0}})
    spec = {"name": "reviewed-survey", "changes": {"period": "2026-Q3"}}
    held = place.start("release/by-hand", spec=spec, started_by="Ana")
    place.in_state(held, "Paused")
    window.visit(f"{place.url}/runs/flow-run/{held}", width=1200, height=1000)
    window.click("button", "Resume")
    window.wait_for("passed its gate")
    window.fill("Reviewer", "Bea")
    window.choose("Decision (Optional)", "approve")
    window.screenshot(PICTURES / "review.png", whole=False)
    window.click("button", "Submit")
    place.ended(held)

    release(place, "Published", period="2026-Q3")
    register = place.specs / "register"
    assert main(["register", str(register)]) == 0
    window.open(register / "index.html", width=1000, height=1000)
    window.screenshot(PICTURES / "register.png", whole=False)
    (report,) = register.glob("attempts/*3-enterprise-survey-2026-Q2/report.html")
    window.open(report, width=1000, height=1200)
    window.screenshot(PICTURES / "report.png", whole=False)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        site(Path(folder), rows=2000, quarters=4, lenient=False) as place,
        browser() as window,
    ):
        place.log_in(window)
        take(place, window)
    sys.exit(0)
