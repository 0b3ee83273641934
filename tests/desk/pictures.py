"""Takes the pictures of the desk in docs/pictures: python -m tests.desk.pictures."""

import shutil
import sys
import tempfile
from pathlib import Path

import yaml
from PIL import Image

from flows.desk.user import AUDITOR, REVIEWER
from tests.browser import browsers
from tests.desk.desk import add_user
from tests.desk.served import Person
from tests.operation.pictures import PICTURES
from tests.operation.site import Site, site

DATASET, CANDIDATE = "enterprise-survey", "2026-Q3"
WIDTH = 1200


def release(place: Site, ends: str, started_by: str = "Ana Pujol", **changes: object) -> None:
    """Run a release of the example until it ends, or waits for a reviewer."""
    spec = {"name": DATASET, "changes": changes}
    run = place.start(f"release/{DATASET}", spec=spec, started_by=started_by)
    place.in_state(run, ends)


def six_quarters(place: Site) -> None:
    """Publish four quarters, one of them twice; block one, and let the last one wait."""
    release(place, "Published", period="2025-Q2")
    release(place, "Published", period="2025-Q3")
    release(place, "Blocked", "Dan Ruiz", period="2025-Q4", k=12)
    release(place, "Published", period="2026-Q1")
    reason = "the source had the turnover of three enterprises in thousands"
    release(place, "Published", period="2026-Q1", revision=1, reason=reason)
    release(place, "Published", period="2026-Q2")
    path = place.specs / f"{DATASET}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["gate"]["ceilings"]["il"] = 34.0
    content["gate"]["review"] = {"hours": 24.0, "reviewers": 2, "claimed_names": False}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    release(place, "Paused", period=CANDIDATE)


def take(person: Person, name: str, path: str = "", height: int = 900) -> None:
    """Take a picture of a page."""
    if path:
        person.go(path)
    person.window.show(width=WIDTH, height=height)
    person.window.wait("document.readyState === 'complete'", "the whole page")
    person.window.evaluate("document.activeElement.blur()")
    file = PICTURES / f"desk-{name}.png"
    person.window.screenshot(file, whole=False)
    # text and lines need few colours; this way of choosing them keeps those that are rare
    colours = {"method": Image.Quantize.MAXCOVERAGE, "dither": Image.Dither.NONE}
    Image.open(file).convert("RGB").quantize(**colours).save(file, optimize=True)


def take_all(place: Site, bea: Person, carl: Person, eva: Person) -> None:
    """Go through the pages as two reviewers and an auditor, and take a picture of each."""
    bea.go("/review")
    bea.window.click("a", f"{DATASET} {CANDIDATE}")
    bea.decide("Approve", "Figures compared with those of 2026-Q2; nothing stands out.")
    bea.window.wait_for("Your approval is recorded")

    carl.go("/review")
    carl.window.click("a", f"{DATASET} {CANDIDATE}")
    take(carl, "review", height=1640)
    take(carl, "dataset", f"/datasets/{DATASET}", 1250)
    carl.window.click("a", "2026-Q2")
    take(carl, "release", height=1180)
    take(carl, "register", "/register", 900)

    eva.go("/audit")
    eva.window.click("main button", "Audit now")
    eva.window.wait_for("Intact")
    take(eva, "audit", height=730)
    take(eva, "health", "/health", 1250)

    place.write_spec("labour-costs", release={"title": "Quarterly labour costs"})
    (place.specs / "energy-use.yaml").write_text("release: {name: energy-use}\n", encoding="utf-8")
    take(carl, "datasets", "/datasets", 640)


def main() -> None:
    """Start an installation, fill it, and take the pictures."""
    # its name is in the pictures
    folder = Path(tempfile.gettempdir()) / "microrelease"
    folder.mkdir()
    try:
        with site(folder, rows=2000, quarters=6, lenient=False) as place, browsers() as new:
            six_quarters(place)
            add_user(place.home, "bea", REVIEWER, name="Bea Serra")
            add_user(place.home, "carl", REVIEWER, name="Carl Weiss")
            add_user(place.home, "eva", AUDITOR, name="Eva Lund")
            with new() as first, new() as second, new() as third:
                bea, carl, eva = (Person(each, place.desk) for each in (first, second, third))
                take_all(place, bea.log_in("bea"), carl.log_in("carl"), eva.log_in("eva"))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
    sys.exit(0)
