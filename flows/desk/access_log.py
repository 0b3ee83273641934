"""The log of the desk: a line for each request and each login."""

import logging
from datetime import UTC, datetime
from pathlib import Path

from flows.operation.log import Log


class AccessLog:
    """Writes lines that start with the time, the address and the login."""

    def __init__(self, path: Path) -> None:
        self.handler = Log(path)

    def write(self, address: str, login: str, words: str) -> None:
        """Write a line; control characters and line breaks are escaped."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = escaped(f"{time} {address} {login or '-'} {words}")
        self.handler.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Close the file."""
        self.handler.close()


def escaped(text: str) -> str:
    r"""Write everything but printable ASCII characters as escapes, so that a line stays one line.

    Examples
    --------
    >>> escaped("two\nlines, \x1b[31m red")
    'two\\nlines, \\x1b[31m red'
    """
    return "".join(
        sign if " " <= sign <= "~" else sign.encode("unicode_escape").decode() for sign in text
    )
