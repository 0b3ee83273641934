"""Logs of server, worker and desk, limited in size."""

import logging
import threading
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

MOST_BYTES = 10_000_000
"""A log that would exceed this size is renamed, and a new one is started."""
KEPT = 5
"""Number of earlier logs to keep; older ones are deleted."""
MOST_LINE = 100_000
"""A longer line is cut in several."""

LineCallback = Callable[[str], None]


class Log(RotatingFileHandler):
    """A log and its earlier parts: server.log, server.log.1, server.log.2 and so on."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", errors="replace"
        )

    def handleError(self, _record: logging.LogRecord) -> None:  # noqa: N802 - logging chose the name
        """Drop a line if the disk is full, so that the process that wrote it does not block."""

    def follow(self, stream: IO[bytes], on_line: LineCallback) -> threading.Thread:
        """Log each line of a stream until it ends, and pass it to a callback."""

        def copy() -> None:
            while line := stream.readline(MOST_LINE):
                text = line.decode("utf-8", errors="replace").rstrip("\n")
                self.handle(logging.makeLogRecord({"msg": text}))
                on_line(text)

        thread = threading.Thread(target=copy, daemon=True, name=f"log {self.baseFilename}")
        thread.start()
        return thread
