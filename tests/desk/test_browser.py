"""People use the desk in Chromium: what each role sees, how reviewers decide, what they read."""

from collections.abc import Iterator

import pytest

from expectations.published.verifier import verify
from tasks.store.desk_pages import key_of
from tests.browser import browsers
from tests.desk.desk import PASSWORD
from tests.desk.quarters import TITLE
from tests.desk.served import Person, Served, served
from tests.publishing import events

pytestmark = [pytest.mark.flow, pytest.mark.operation, pytest.mark.needs("Chromium")]

PAGES = {
    "Datasets": "/datasets",
    "Review": "/review",
    "Register": "/register",
    "Audit": "/audit",
    "Health": "/health",
    "Users": "/users",
}
SEEN = {
    "engineer": ("Datasets", "Register", "Audit", "Health"),
    "reviewer": ("Datasets", "Review", "Register"),
    "auditor": ("Datasets", "Review", "Register", "Audit", "Health"),
    "administrator": ("Datasets", "Audit", "Health", "Users"),
}
READERS = ("reviewer", "auditor")
REFUSED = "status of 403"
"""What Chromium's console says of a page that a role may not see."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("desk")) as started:
        yield started


@pytest.fixture(autouse=True)
def _closed(desk: Served) -> Iterator[None]:
    with desk.visitors():
        yield


def test_a_visitor_sees_the_login_alone_and_reaches_the_page_that_was_asked_for(
    desk: Served,
) -> None:
    visitor = desk.person()
    visitor.go("/datasets/small?skip=0")
    assert visitor.path.startswith("/login")
    assert visitor.navigation == {}
    visitor.window.write("Login", "engineer")
    visitor.window.write("Password", "a wrong one")
    visitor.window.click("main button", "Log in")
    assert "Login or password is wrong" in visitor.text
    assert visitor.window.evaluate("document.activeElement.id") == "login"
    visitor.window.write("Login", "engineer")
    visitor.window.write("Password", PASSWORD)
    visitor.window.click("main button", "Log in")
    assert visitor.path == "/datasets/small?skip=0"
    assert "Timeline" in visitor.text
    assert visitor.complaints_but("status of 401") == []
    assert visitor.outside == []


@pytest.mark.parametrize("role", SEEN)
def test_a_role_sees_its_pages_and_no_others(desk: Served, role: str) -> None:
    person = desk.person(role)
    assert person.navigation == {title: PAGES[title] for title in SEEN[role]}
    for title, path in PAGES.items():
        if title in SEEN[role]:
            person.window.click("header nav a", title)
            assert person.path == path
            assert person.heading == title
        else:
            person.go(path)
            assert person.heading == "You may not see this page"
    assert len(person.complaints_but()) == len(PAGES) - len(SEEN[role])
    assert person.complaints_but(REFUSED) == []
    assert person.outside == []


@pytest.mark.parametrize("role", SEEN)
def test_nobody_without_the_role_sees_a_report(desk: Served, role: str) -> None:
    person = desk.person(role)
    path = desk.release("000003")
    person.go(path)
    assert "62.3260 %" in person.text
    frames = person.window.evaluate("document.querySelectorAll('iframe').length")
    person.go(f"{path}/report")
    if role in READERS:
        assert frames == 1
        assert "above its ceiling" in person.window.text
        assert person.complaints_but() == []
    else:
        assert frames == 0
        assert "above its ceiling" not in person.window.text
        assert person.complaints_but(REFUSED) == []
    assert person.outside == []


def test_two_people_take_a_release_from_the_queue_to_the_public(desk: Served) -> None:
    request = desk.candidate("paired", reviewers=2)
    public = request.public / "paired" / "2026-Q2"
    bea, carl, ana = desk.person("bea"), desk.person("carl"), desk.person("ana")

    ana.window.click("header nav a", "Review")
    assert "you started this run" in ana.row("paired 2026-Q2")
    ana.window.click("a", "paired 2026-Q2")
    assert "You cannot decide: you started this run" in ana.text
    assert ana.buttons == []

    bea.window.click("header nav a", "Review")
    assert "2 reviewers\tcan decide" in bea.row("paired 2026-Q2")
    bea.window.click("a", "paired 2026-Q2")
    assert bea.text.index("at most 100 %") < bea.text.index("Approve")
    bea.decide("Approve", "the figures are fine")
    assert "Your approval is recorded" in bea.text
    assert bea.buttons == ["Reject"]
    assert not public.exists()

    carl.window.click("header nav a", "Review")
    assert "Bea\t1 reviewer\tcan decide" in carl.row("paired 2026-Q2")
    carl.window.click("a", "paired 2026-Q2")
    assert "the figures are fine" in carl.row("Bea")
    carl.decide("Approve", "")
    assert "The release is public" in carl.text
    assert verify(public).statement is not None

    carl.window.click("a", "See the release")
    assert "published" in carl.text
    assert [name for name in ("Bea", "Carl") if "approved" in carl.row(name)] == ["Bea", "Carl"]
    carl.window.click("button", "Verify again")
    assert "Verified again" in carl.text
    bea.go("/review")
    assert "paired" not in bea.text
    for person in (ana, bea, carl):
        assert person.complaints_but() == []
        assert person.outside == []


def test_a_rejection_needs_a_reason_and_publishes_nothing(desk: Served) -> None:
    request = desk.candidate("dropped")
    bea = desk.person("bea")
    bea.go("/review")
    bea.window.click("a", "dropped 2026-Q2")
    bea.decide("Reject", "")
    assert "A rejection needs a reason" in bea.text
    assert bea.complaints_but("status of 400") == []
    assert events(request) == ["started", "sealed"]
    bea.decide("Reject", "the zone is too small")
    assert "nothing is published" in bea.text
    assert events(request) == ["started", "sealed", "rejected"]
    bea.window.click("a", "See the release")
    assert "rejected\tthe zone is too small" in bea.row("Bea")
    assert not (request.public / "dropped").exists()
    assert bea.outside == []


def test_the_timeline_shows_six_quarters_as_pictures_and_as_a_table(desk: Served) -> None:
    person = desk.person("engineer")
    person.window.click("a", "small")
    assert person.heading == "small"
    assert TITLE in person.text

    drawn = person.window.evaluate(
        "[...document.querySelectorAll('figure svg')]"
        ".filter(svg => svg.getBoundingClientRect().height > 100)"
        ".map(svg => [svg.getAttribute('aria-label'), svg.textContent])"
    )
    pictures = {label.removeprefix("Timeline of small: "): words for label, words in drawn}
    il, dld, k, *_ = pictures
    assert il.startswith(
        "IL, % (ceiling 90): 2025-Q1 21.2052, 2025-Q2 57.073, 2025-Q3 62.326, 2025-Q4 39.1025, "
        "2025-Q4, revision 1 39.1025, 2026-Q1 47.674, 2026-Q2 19.4137"
    )
    assert dld.startswith("DLD, % (ceiling 100): ")
    assert k.startswith("k (floor 3): ")
    for words in ("r1", "100 → 0.5 by the run", "2026-Q2"):
        assert words in pictures[il]

    assert person.column("Every gated measure", 0) == [
        "2026-Q2", "2026-Q1", "2025-Q4\nrevision 1", "2025-Q4", "2025-Q3", "2025-Q2", "2025-Q1",
    ]  # fmt: skip
    assert [state.split()[-1] for state in person.column("Every gated measure", 1)] == [
        "waiting", "published", "published", "published", "blocked", "published", "published",
    ]  # fmt: skip
    assert (
        person.column("Every gated measure", 3)[4] == "✗\N{NO-BREAK SPACE}62.3260 %\nat most 0.5 %"
    )
    assert "looser" in person.row("2026-Q1\tk 4 → 3")
    assert person.complaints_but() == []
    assert person.outside == []


def test_report_and_methodology_are_read_inside_the_desk(desk: Served) -> None:
    person = desk.person("auditor")
    person.go(desk.release("000006"))
    attempt = person.path.rpartition("/")[2]
    report = person.window.frame_text(f"Report of {attempt}")
    assert TITLE in report
    assert "39.1" in report
    assert attempt in report
    methodology = person.window.frame_text(f"Methodology of {attempt}")
    assert TITLE in methodology
    assert "CC0-1.0" in methodology
    sizes = person.window.evaluate(
        "[...document.querySelectorAll('iframe')].map(frame => frame.clientHeight)"
    )
    assert min(sizes) > 400
    for name in ("report", "methodology"):
        person.window.click("a", f"Open the {name} in a page of its own")
        assert person.path.endswith(f"/{name}")
        assert TITLE in person.window.text
        person.window.back()
    assert person.complaints_but() == []
    assert person.outside == []


def test_markup_in_titles_and_reasons_is_shown_as_text(desk: Served) -> None:
    person = desk.person("auditor")
    person.go(desk.release("000005"))
    assert "<script>alert(1)</script> is no reason" in person.row("Bea")
    assert person.window.evaluate("document.scripts.length") == 0
    assert person.complaints_but() == []


def test_after_logging_out_the_way_back_shows_nothing(desk: Served) -> None:
    # as browsers do outside tests: they keep whole pages to go back to
    with browsers(without=["--disable-back-forward-cache"]) as new, new() as window:
        person = Person(window, desk.url).log_in("auditor")
        person.go(desk.release("000003"))
        path = person.path
        person.window.click("a", "Open the report in a page of its own")
        assert "above its ceiling" in window.text
        window.back()
        assert person.path == path
        assert "62.3260 %" in person.text
        person.log_out()
        assert person.path == "/login"
        for _ in range(2):
            window.back()
            assert "62.3" not in window.text
            assert "above its ceiling" not in window.text
        person.go(f"/releases/{key_of(desk.quarters.register)}/{path.rpartition('/')[2]}/report")
        assert person.path.startswith("/login")
