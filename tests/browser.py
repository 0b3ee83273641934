"""Opens pages in headless Chromium, and keeps their requests and complaints."""

import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.async_api import Error, Locator, Page, async_playwright

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
        self.complaints: list[str] = []
        """What the console said."""
        events: dict[str, Callable[[Any], None]] = {
            "request": lambda request: self.requests.append(request.url),
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
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
        self.show(scheme=scheme)
        self.requests.clear()
        self.complaints.clear()
        self.visit(page.absolute().as_uri(), width=width, height=height)
        return Seen(self.text, [*self.requests], [*self.complaints], self.overflow)

    def visit(self, url: str, *, width: int = 1400, height: int = 1000) -> None:
        """Load a page from a server; requests are kept from visit to visit."""
        self.show(width=width, height=height)
        self._do(self._page.goto, url)

    def show(self, *, width: int = 0, height: int = 1000, scheme: str = "") -> None:
        """Show the page in a window of so many pixels, light or dark."""
        if width:
            self._do(self._page.set_viewport_size, {"width": width, "height": height})
        if scheme:
            self._do(self._page.emulate_media, color_scheme=scheme)

    def back(self) -> None:
        """Go back to the page before, which may have been kept as it was."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                # a page that was kept is not loaded again
                self._do(self._page.go_back, wait_until="commit")
            except Error as error:
                # another page that was kept is just taking its place
                if "Not attached to an active page" not in error.message or time.monotonic() > end:
                    raise
                time.sleep(0.1)
            else:
                return

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._page.url

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        root = "document.documentElement"
        return int(self.evaluate(f"{root}.scrollWidth - {root}.clientWidth"))

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        return self._do(self._page.evaluate, expression)

    @property
    def text(self) -> str:
        """The text that the page shows."""
        return self._do(self._page.inner_text, "body")

    def frame_text(self, title: str) -> str:
        """Scroll to a frame, and read the text that it shows once it is loaded."""
        element = self._page.locator(f"iframe[title={json.dumps(title)}]")
        self._do(element.scroll_into_view_if_needed)
        return self._do(element.content_frame.locator("main").inner_text)

    def wait(self, condition: str, what: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + PATIENCE
        # asked again from here: the policy of a page may forbid a script to ask itself
        while not self._holds(condition):
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not appear:\n{self.text}")
            time.sleep(0.1)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.evaluate(condition))
        except Error:
            # another page takes its place
            return False

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

    def press(self, key: str) -> None:
        """Press a key, wherever the focus is."""
        self._do(self._page.keyboard.press, key)

    def write(self, label: str, text: str) -> None:
        """Type into the field that a label belongs to, in place of its content."""
        self._do(self._page.get_by_label(label, exact=True).fill, text)

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
    with browsers(*flags) as new, new() as window:
        yield window


@contextmanager
def browsers(
    *flags: str, without: Sequence[str] = ()
) -> Iterator[Callable[[], AbstractContextManager[Browser]]]:
    """Start Chromium, and open a window whenever asked to, each with an empty profile.

    Parameters
    ----------
    *flags : str
        Further flags of Chromium.
    without : sequence of str
        Flags that Playwright must not set.
    """
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(async_playwright()) as playwright,
    ):
        launch = partial(playwright.chromium.launch, executable_path=find("Chromium"))
        arguments = [*FLAGS, *flags]
        chromium = portal.call(partial(launch, args=arguments, ignore_default_args=list(without)))

        @contextmanager
        def new() -> Iterator[Browser]:
            context = portal.call(chromium.new_context)
            try:
                yield Browser(portal, portal.call(context.new_page))
            finally:
                portal.call(context.close)

        try:
            yield new
        finally:
            portal.call(chromium.close)
