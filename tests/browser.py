"""Opens pages in headless Chromium, and keeps their requests and complaints."""

import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.async_api import Locator, Page, async_playwright
from playwright.async_api import TimeoutError as Timeout

from tests.tools import PATIENCE, find

T = TypeVar("T")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@dataclass
class Seen:
    """A page as a reader met it."""

    text: str
    requests: list[str]
    complaints: list[str]
    overflow: int
    """Pixels by which the page is wider than its window."""


class Browser:
    """One window.

    Its event loop runs in a thread of its own: in the thread of the tests, Prefect would take it
    for the caller's.
    """

    def __init__(self, portal: BlockingPortal, page: Page) -> None:
        self._portal, self._page = portal, page
        self.requests: list[str] = []
        """Addresses that were asked for, by pages and by scripts in them."""
        self._complaints: list[str] = []
        events: dict[str, Callable[[Any], None]] = {
            "request": lambda request: self.requests.append(request.url),
            "console": lambda message: self._complaints.append(message.text),
            "pageerror": lambda error: self._complaints.append(str(error)),
        }
        for event, callback in events.items():
            portal.call(page.on, event, callback)
        portal.call(page.set_default_timeout, 1000 * PATIENCE)

    def _do(self, action: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        return self._portal.call(partial(action, *args, **options))

    def open(
        self, page: Path, *, width: int = 1100, height: int = 900, scheme: str = "light"
    ) -> Seen:
        """Load a page from disk into a window of so many pixels, light or dark."""
        self._do(self._page.emulate_media, color_scheme=scheme)
        self.requests.clear()
        self._complaints.clear()
        self.visit(page.absolute().as_uri(), width=width, height=height)
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return Seen(self.text, [*self.requests], [*self._complaints], self.evaluate(overflow))

    def visit(self, url: str, *, width: int = 1400, height: int = 1000) -> None:
        """Load a page from a server; requests are kept from visit to visit."""
        self._do(self._page.set_viewport_size, {"width": width, "height": height})
        self._do(self._page.goto, url)

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        return self._do(self._page.evaluate, expression)

    @property
    def text(self) -> str:
        """The text that the page shows."""
        return self._do(self._page.inner_text, "body")

    def wait(self, condition: str, what: str) -> None:
        """Wait until a JavaScript expression is true."""
        try:
            self._do(self._page.wait_for_function, condition, polling=200)
        except Timeout as error:
            raise AssertionError(f"{what} did not appear:\n{self.text}") from error

    def wait_for(self, text: str) -> None:
        """Wait until a page shows a text."""
        self.wait(f"document.body.innerText.includes({json.dumps(text)})", repr(text))

    def click(self, selector: str, text: str = "") -> None:
        """Click on the first visible element, or the first with exactly this text."""
        elements = self._page.locator(selector).filter(visible=True)
        if text:
            elements = elements.filter(has_text=re.compile(rf"^\s*{re.escape(text)}\s*$"))
        self._do(elements.first.click)

    def fill(self, label: str, text: str) -> None:
        """Type into the field that follows a label, in place of its content."""
        field = self._after(label, "self::input or self::textarea").filter(visible=True).first
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self._do(field.fill, text)
            # a form that draws itself again meanwhile forgets what was typed
            time.sleep(0.3)
            if self._do(field.input_value) == text:
                return
        raise AssertionError(f"the field {label!r} did not keep its text")

    def choose(self, label: str, option: str) -> None:
        """Choose from the list that follows a label, as Prefect draws lists."""
        button = self._after(label, "self::button[contains(@class, 'select')]").first
        # a click opens such a list and closes it again
        self._do(button.press, "ArrowDown")
        self.click("[class*=select-option]", option)

    def _after(self, label: str, kind: str) -> Locator:
        labels = f"(//body//*[not(*) and normalize-space() = {json.dumps(label)}])[1]"
        return self._page.locator(f"xpath={labels}/following::*[{kind}]")

    def type(self, text: str) -> None:
        """Type into the field that has the focus, in place of its content."""
        self._do(self._page.locator(":focus").fill, text)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Take a picture of the whole page, or of the window."""
        self._do(self._page.screenshot, path=path, full_page=whole)

    def print_to(self, path: Path) -> None:
        """Print the page as PDF."""
        self._do(self._page.pdf, path=path, prefer_css_page_size=True)


@contextmanager
def browser(*flags: str) -> Iterator[Browser]:
    """Start Chromium with an empty profile."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(async_playwright()) as playwright,
    ):
        launch = partial(playwright.chromium.launch, executable_path=find("Chromium"))
        chromium = portal.call(partial(launch, args=[*FLAGS, *flags]))
        try:
            yield Browser(portal, portal.call(chromium.new_page))
        finally:
            portal.call(chromium.close)
