"""The desk as a process of its own, with people in front of it who use real browsers."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.desk.user import ROLES
from tasks.store.desk_pages import key_of
from tasks.store.home import HOME
from tasks.store.register import Register
from tests.browser import Browser, browsers
from tests.desk.desk import PASSWORD, add_user
from tests.desk.quarters import Quarters, six_quarters
from tests.tools import PATIENCE

PHONE = 375
"""Width of a phone, in pixels."""
PERIOD = "2026-Q2"
"""The period of candidates."""


class Person:
    """Somebody with a browser of their own."""

    def __init__(self, window: Browser, url: str) -> None:
        self.window, self.url = window, url

    def _read(self, expression: str) -> Any:
        """Evaluate JavaScript once the page is whole."""
        self.window.wait("document.readyState === 'complete'", "the whole page")
        return self.window.evaluate(expression)

    def go(self, path: str) -> None:
        self.window.visit(self.url + path)

    def log_in(self, login: str, password: str = PASSWORD) -> "Person":
        """Log in with the form."""
        self.go("/login")
        self.window.write("Login", login)
        self.window.write("Password", password)
        self.window.click("main button", "Log in")
        return self

    def log_out(self) -> None:
        self.window.click("header button", "Log out")

    @property
    def text(self) -> str:
        """The text of the page, without the frame around it."""
        return str(self._read("document.querySelector('main').innerText"))

    @property
    def path(self) -> str:
        return self.window.url.removeprefix(self.url)

    @property
    def heading(self) -> str:
        return str(self._read("document.querySelector('h1').innerText"))

    @property
    def buttons(self) -> list[str]:
        """The buttons of the page itself."""
        found = "[...document.querySelectorAll('main button')].map(button => button.innerText)"
        return list(self._read(found))

    def row(self, start: str) -> str:
        """The row of a table that starts with a text, its cells separated by tabs."""
        found = "[...document.querySelectorAll('tbody tr')].map(row => row.innerText)"
        rows = [str(row) for row in self._read(found)]
        matching = [row for row in rows if row.startswith(start)]
        assert matching, f"no row starts with {start!r}: {rows}"
        return matching[0]

    def column(self, caption: str, number: int) -> list[str]:
        """The cells of a column of the table whose caption starts with a text."""
        cells = f"[...table.tBodies[0].rows].map(row => row.cells[{number}].innerText)"
        tables = "[...document.querySelectorAll('table')]"
        chosen = f"{tables}.find(table => table.caption.innerText.startsWith({caption!r}))"
        return [str(cell).strip() for cell in self._read(f"(table => {cells})({chosen})")]

    def decide(self, choice: str, reason: str) -> None:
        """Decide on the candidate that the page shows."""
        self.window.write("Reason, kept in the register; a rejection needs one", reason)
        self.window.click("main button", choice)

    def complaints_but(self, *expected: str) -> list[str]:
        """What the console said, without messages that contain an expected text."""
        said = self.window.complaints
        return [each for each in said if not any(words in each for words in expected)]

    @property
    def navigation(self) -> dict[str, str]:
        """The pages that every page leads to, and their addresses."""
        links = "[...document.querySelectorAll('header nav a')]"
        found = self._read(f"{links}.map(a => [a.innerText, a.getAttribute('href')])")
        return dict(found)

    @property
    def outside(self) -> list[str]:
        """Everything that was asked for elsewhere."""
        own = (f"{self.url}/", "data:")
        return [each for each in self.window.requests if not each.startswith(own)]


@dataclass
class Served:
    """A desk that runs, and the datasets that it shows."""

    url: str
    home: Path
    quarters: Quarters
    _new: Callable[[], AbstractContextManager[Browser]]
    _stack: ExitStack

    def person(self, login: str = "") -> Person:
        """Open a browser in which a user is logged in; without a name, nobody is."""
        person = Person(self._stack.enter_context(self._new()), self.url)
        return person.log_in(login) if login else person

    @contextmanager
    def visitors(self) -> Iterator[None]:
        """Close the browsers of a test at its end."""
        with ExitStack() as stack:
            self._stack = stack
            yield

    def release(self, attempt: str) -> str:
        """Give the path of an attempt among the six quarters, by the start of its name."""
        names = Register(self.quarters.register).chain().attempts
        (name,) = (name for name in names if name.startswith(f"{attempt}-"))
        return f"/releases/{key_of(self.quarters.register)}/{name}"

    def candidate(self, name: str, reviewers: int = 1) -> Quarters:
        """Seal a release of a dataset of its own, which Ana started."""
        quarters = Quarters(self.quarters.folder)
        quarters.path = quarters.folder / f"{name}.yaml"
        quarters.register = quarters.folder / f"{name}-register"
        quarters.content["release"] |= {"name": name, "title": f"Table of {name}"}
        quarters.content["publication"]["register_folder"] = quarters.register.name
        quarters.content["gate"]["review"] = {"reviewers": reviewers}
        quarters.write()
        quarters.attempt(PERIOD, reviewed=True)
        return quarters


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Serve the desk with the six quarters and one user per role, to browsers."""
    home, specs = folder / "home", folder / "specs"
    specs.mkdir()
    for role in ROLES:
        add_user(home, role, role)
    for reviewer in ("ana", "bea", "carl"):
        add_user(home, reviewer, "reviewer")
    add_user(home, "everyone", *ROLES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME, str(home))
        quarters = six_quarters(specs)
        with running(home, specs) as url, browsers() as new:
            yield Served(url, home, quarters, new, ExitStack())


@contextmanager
def running(home: Path, specs: Path) -> Iterator[str]:
    """Start the desk as a user starts it; give its address, and stop it in the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["desk", "--home", str(home), "--specs", str(specs), "--port", str(port)]
    ours = ("PREFECT_", "MICRORELEASE_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    log = home / "said.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", *command],
            env={**inherited, "PYTHONUNBUFFERED": "1"},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + PATIENCE
        while "Ctrl-C" not in (said := log.read_text(encoding="utf-8")):
            assert process.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.1)
        (url,) = (word for word in said.split() if word.startswith("http://"))
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()
