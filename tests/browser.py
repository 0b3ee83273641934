"""Opens pages in headless Chromium and tells what they asked for and complained of."""

import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE = 60.0
COMPLAINTS = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")


@dataclass
class Seen:
    """A page as a reader met it."""

    text: str = ""
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    overflow: int = 0
    """Pixels by which the page is wider than its window."""


class Browser:
    """One window, driven by the DevTools protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._events: list[dict[str, Any]] = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and wait for its result; what happens meanwhile is kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (message := self._next()).get("id") != number:
            self._events.append(message)
        assert "error" not in message, message["error"]
        result: dict[str, Any] = message["result"]
        return result

    def open(
        self, page: Path, *, width: int = 1100, height: int = 900, scheme: str = "light"
    ) -> Seen:
        """Load a page from disk into a window of so many pixels, light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self._events.clear()
        self._load(page.absolute().as_uri())
        seen = Seen(
            text=self.evaluate("document.body.innerText"),
            overflow=self.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            ),
            requests=self.requests,
        )
        for event in self._events:
            if event["method"] in COMPLAINTS:
                seen.complaints.append(json.dumps(event["params"]))
        return seen

    def visit(self, url: str, *, width: int = 1400, height: int = 1000) -> None:
        """Load a page from a server; what it asks for is kept from visit to visit."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self._load(url)

    def _load(self, url: str) -> None:
        before = len(self._events)
        self.call("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self._events[before:]):
            self._events.append(self._next())

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for, by pages and by what runs in them."""
        return [
            event["params"]["request"]["url"]
            for event in self._events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def wait(self, condition: str, what: str, patience: float = PATIENCE) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + patience
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"{what} did not appear:\n{self.text}"
            time.sleep(0.2)

    def wait_for(self, text: str, patience: float = PATIENCE) -> None:
        """Wait until a page shows a text."""
        self.wait(f"document.body.innerText.includes({json.dumps(text)})", repr(text), patience)

    @property
    def text(self) -> str:
        """What the page shows."""
        shown: str = self.evaluate("document.body.innerText")
        return shown

    def click(self, selector: str, text: str = "", *, last: bool = False) -> None:
        """Click, as a mouse does, on a visible element, if asked for on one with that text."""
        found = f"""(() => {{
            const all = [...document.querySelectorAll({json.dumps(selector)})].filter(
                e => e.offsetParent !== null
                && ["", (e.innerText || "").trim()].includes({json.dumps(text)}));
            const e = all[{"all.length - 1" if last else "0"}];
            if (!e) return null;
            e.scrollIntoView({{block: "center"}});
            const box = e.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
        self.wait(f"{found} !== null", f"{selector} with text {text!r}")
        x, y = self.evaluate(found)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def fill(self, label: str, text: str) -> None:
        """Type into the field that follows a label."""
        self._focus(label)
        self.type(text)

    def choose(self, label: str, option: str) -> None:
        """Choose from the list that follows a label."""
        self._focus(label)
        self.evaluate(f"""(() => {{
            const list = document.activeElement;
            list.selectedIndex = [...list.options].findIndex(o => o.text === {json.dumps(option)});
            list.dispatchEvent(new Event("change", {{bubbles: true}}));
        }})()""")

    def _focus(self, label: str) -> None:
        """Go to the field that follows a label."""
        focus = f"""(() => {{
            const follows = Node.DOCUMENT_POSITION_FOLLOWING;
            const label = [...document.querySelectorAll("*")].filter(
                e => e.children.length === 0 && e.innerText
                && e.innerText.trim() === {json.dumps(label)})[0];
            const field = label && [...document.querySelectorAll("input, textarea, select")].find(
                e => e.offsetParent !== null && label.compareDocumentPosition(e) & follows);
            if (field) {{ field.scrollIntoView({{block: "center"}}); field.focus(); }}
            return Boolean(field);
        }})()"""
        self.wait(focus, f"a field after {label!r}")

    def type(self, text: str) -> None:
        """Type into what has the focus, in place of what is there."""
        self.evaluate("document.activeElement.select && document.activeElement.select()")
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Take a picture of the whole page, or of the window."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def print_to(self, path: Path) -> None:
        """Print the page as PDF."""
        printed = self.call("Page.printToPDF", preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(printed["data"]))

    def evaluate(self, expression: str) -> Any:
        """Ask the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=PATIENCE))
        return message


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium with a profile of its own in ``folder``."""
    assert CHROMIUM is not None
    process = subprocess.Popen(
        [
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}", "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with connect(_address(folder), max_size=None, proxy=None, ping_interval=None) as socket:
            yield Browser(socket)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def _address(folder: Path) -> str:
    """Wait until Chromium says where it listens, and ask for its window."""
    import urllib.request

    told, end = folder / "DevToolsActivePort", time.monotonic() + PATIENCE
    while not (told.exists() and told.read_text(encoding="utf-8").count("\n")):
        assert time.monotonic() < end, "Chromium did not start"
        time.sleep(0.05)
    port = told.read_text(encoding="utf-8").split("\n")[0]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE) as answer:
        windows = json.load(answer)
    address: str = next(w["webSocketDebuggerUrl"] for w in windows if w["type"] == "page")
    return address
