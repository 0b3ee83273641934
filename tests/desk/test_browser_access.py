"""Anyone can use the pages of the desk: on a phone, in the dark, by keyboard, by screen reader."""

from collections.abc import Iterator

import pytest

from tasks.store.desk_pages import key_of
from tests.axe import violations
from tests.browser import Browser
from tests.desk.desk import PASSWORD
from tests.desk.served import PHONE, Person, Served, served

pytestmark = [pytest.mark.flow, pytest.mark.operation, pytest.mark.needs("Chromium")]

MOST_STEPS = 200
"""Times that a key is pressed until a page is taken to have no such element."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("desk")) as started:
        yield started


@pytest.fixture(autouse=True)
def _closed(desk: Served) -> Iterator[None]:
    with desk.visitors():
        yield


def faults(window: Browser) -> list[str]:
    """Look at a page wide and narrow, light and dark; say what is wrong with it."""
    found: list[str] = []
    for width, scheme in ((1200, "light"), (1200, "dark"), (PHONE, "light"), (PHONE, "dark")):
        window.show(width=width, scheme=scheme)
        broken = violations(window)
        if window.overflow:
            broken.append(f"the page is {window.overflow} pixels wider than its window")
        found += [f"{width} {scheme}: {each}" for each in broken]
    return found


def review_of(desk: Served) -> str:
    (folder,) = desk.quarters.register.glob("candidates/*")
    return f"/review/{key_of(desk.quarters.register)}/{folder.name}"


def test_the_check_finds_what_is_wrong(desk: Served) -> None:
    visitor = desk.person()
    visitor.go("/login")
    visitor.window.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend', '<input>"
        '<p style="color: #bbb; background: #fff; width: 900px">pale</p>\')'
    )
    found = faults(visitor.window)
    for rule in ("1200 light: label: ", "1200 dark: color-contrast: ", "375 light: the page is "):
        assert any(each.startswith(rule) for each in found), (rule, found)


def test_the_login_has_labels_and_contrast_and_fits_a_phone(desk: Served) -> None:
    visitor = desk.person()
    visitor.go("/login")
    assert faults(visitor.window) == []
    visitor.log_in("engineer", "a wrong one")
    assert "Login or password is wrong" in visitor.text
    assert faults(visitor.window) == []


@pytest.mark.parametrize(
    "paths",
    [
        ("/datasets", "/datasets/small", "/health"),
        ("000006", "000003", "000008", "000009"),
        ("/review", "review"),
        ("/register", "/register?q=nothing&from=x", "/audit", "/users"),
        ("/nowhere",),
    ],
    ids=["datasets", "releases", "review", "register", "faults"],
)
def test_pages_have_labels_and_contrast_and_fit_a_phone(
    desk: Served, paths: tuple[str, ...]
) -> None:
    person = desk.person("everyone")
    for path in paths:
        if path == "review":
            path = review_of(desk)
        elif not path.startswith("/"):
            path = desk.release(path)
        person.go(path)
        assert person.path == path
        assert faults(person.window) == [], path
    assert person.complaints_but("status of 404", 'format, "yyyy-MM-dd"') == []
    assert person.outside == []


def test_reports_and_methodologies_can_be_read_too(desk: Served) -> None:
    # from disk: axe-core is a script, and the desk lets no script run in such a page
    window = desk.person().window
    folder = desk.quarters.folder
    pages = [*folder.glob("register/attempts/00000[36]-*/report.html")]
    pages += folder.glob("public/small/2025-Q4-*/methodology.html")
    assert len(pages) == 3
    for page in pages:
        seen = window.open(page)
        assert (seen.requests, seen.complaints) == ([page.as_uri()], [])
        assert faults(window) == [], page


def test_the_result_of_an_audit_and_a_refused_decision_can_be_read_too(desk: Served) -> None:
    person = desk.person("everyone")
    person.go("/audit")
    person.window.click("main button", "Audit now")
    person.window.wait_for("Intact")
    assert faults(person.window) == []
    person.go(review_of(desk))
    person.decide("Reject", "")
    assert "A rejection needs a reason" in person.text
    assert faults(person.window) == []
    person.go(desk.release("000001"))
    person.window.click("button", "Verify again")
    assert "Verified again" in person.text
    assert faults(person.window) == []
    assert person.complaints_but("status of 400") == []
    assert person.outside == []


def focus(person: Person, words: str, key: str = "Tab") -> None:
    """Move the focus until it is on an element with a text or a label; it must be seen."""
    described = "a => a.innerText || a.labels?.[0]?.innerText || a.title || ''"
    for _ in range(MOST_STEPS):
        person.window.press(key)
        if person.window.evaluate(f"({described})(document.activeElement)").strip() == words:
            style = "getComputedStyle(document.activeElement)"
            width = person.window.evaluate(
                f"{style}.outlineStyle === 'none' ? 0 : parseFloat({style}.outlineWidth)"
            )
            assert width >= 2, f"nobody sees that {words!r} has the focus"
            in_sight = "document.activeElement.getBoundingClientRect().left >= 0"
            assert person.window.evaluate(in_sight), words
            return
    raise AssertionError(f"the focus does not reach {words!r}: {person.window.text}")


def test_a_reviewer_needs_a_keyboard_only(desk: Served) -> None:
    quarters = desk.candidate("typed")
    person = desk.person()
    window = person.window
    person.go("/login")
    assert window.evaluate("document.activeElement.id") == "login"
    window.type("bea")
    focus(person, "Password")
    window.type(PASSWORD)
    window.press("Enter")
    window.wait_for("All datasets")

    focus(person, "Skip to the content")
    window.press("Enter")
    assert window.evaluate("document.activeElement.id") == "main"
    focus(person, "Review", "Shift+Tab")
    window.press("Enter")
    window.wait_for("Candidates that wait")
    focus(person, "typed 2026-Q2")
    window.press("Enter")
    window.wait_for("You decide as Bea")
    focus(person, "Reason, kept in the register; a rejection needs one")
    window.type("seen without a mouse")
    focus(person, "Reject")
    focus(person, "Approve", "Shift+Tab")
    window.press("Enter")
    window.wait_for("The release is public")
    assert (quarters.public / "typed" / "2026-Q2").is_dir()
    focus(person, "See the release")
    window.press("Enter")
    window.wait_for("seen without a mouse")
    focus(person, "Log out", "Shift+Tab")
    window.press("Enter")
    window.wait_for("Password")
    assert person.complaints_but() == []
    assert person.outside == []


def test_a_wide_table_is_scrolled_by_keyboard_and_not_the_page(desk: Served) -> None:
    person = desk.person("engineer")
    person.go("/register")
    person.window.show(width=PHONE)
    region = "document.querySelector('[role=region]')"
    assert person.window.evaluate(f"{region}.scrollWidth - {region}.clientWidth") > 100
    focus(person, person.window.evaluate(f"{region}.innerText").strip())
    person.window.press("ArrowRight")
    person.window.wait(f"{region}.scrollLeft > 0", "the rest of the table")
    assert person.window.evaluate("scrollX") == 0
