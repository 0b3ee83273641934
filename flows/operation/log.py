"""Keeps the output of server and worker, up to a limit."""

import logging
import threading
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

MOST_BYTES = 10_000_000
"""A log that would grow larger is renamed, and a new one begun."""
KEPT = 5
"""So many earlier logs are kept; the oldest is removed."""

Hearer = Callable[[str], None]


class Log(RotatingFileHandler):
    """One log with its earlier parts: server.log, server.log.1, server.log.2 and so on."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", errors="replace"
        )

    def handleError(self, _record: logging.LogRecord) -> None:  # noqa: N802 - the name of logging
        """Lose a line on a full disk: the process that wrote it must not be held up."""

    def follow(self, stream: IO[bytes], hear: Hearer) -> threading.Thread:
        """Write down, until it ends, each line of a stream, and have someone hear it."""

        def copy() -> None:
            for line in stream:
                text = line.decode("utf-8", errors="replace").rstrip("\n")
                self.handle(logging.makeLogRecord({"msg": text}))
                hear(text)

        thread = threading.Thread(target=copy, daemon=True, name=f"log {self.baseFilename}")
        thread.start()
        return thread
