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
        self.call("Page.navigate", url=page.absolute().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._next())
        seen = Seen(
            text=self._evaluate("document.body.innerText"),
            overflow=self._evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            ),
        )
        for event in self._events:
            about = event["params"]
            match event["method"]:
                case "Network.requestWillBeSent":
                    seen.requests.append(about["request"]["url"])
                case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                    seen.complaints.append(json.dumps(about))
        return seen

    def screenshot(self, path: Path) -> None:
        """Take a picture of the whole page."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    def print_to(self, path: Path) -> None:
        """Print the page as PDF."""
        printed = self.call("Page.printToPDF", preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(printed["data"]))

    def _evaluate(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"][
            "value"
        ]

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
        with connect(_address(folder), max_size=None, proxy=None) as socket:
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
