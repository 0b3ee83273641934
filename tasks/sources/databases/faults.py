"""Puts a sentence in place of any error of a database.

The text of an error may quote values, the query or the address. It is looked at here, and never
shown; what is shown is a sentence of ours and, where nothing better is known, the class of the
SQLSTATE.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from algorithms.errors import DataError, ReleaseError, StorageError

Fault: TypeAlias = tuple[type[ReleaseError], str]
"""The kind of an error, and what the database must do, what was found and what helps."""

LOST: Fault = (
    StorageError,
    "must answer; no connection to it could be made or kept: check that it runs, and the address "
    "in the connection",
)
BUSY: Fault = (
    StorageError,
    "must accept connections; it is busy, starting or shutting down: run again later",
)
REFUSED: Fault = (
    DataError,
    "must accept the connection; it refused the role, the password or the name of the database: "
    "correct the connection",
)
WRITES: Fault = (
    DataError,
    "must only be read; the query tries to write: correct source.query",
)
UNKNOWN: Fault = (
    DataError,
    "must have the tables and columns that the query names; it does not have one of them: correct "
    "source.query",
)

BY_SQLSTATE: dict[str, Fault] = {
    "08": LOST,
    "22": (
        DataError,
        "must be able to compute the query; a value cannot be converted or is out of range (class "
        "22 of SQLSTATE): correct the data, or the casts in source.query",
    ),
    "25006": WRITES,
    "28": REFUSED,
    "3D": REFUSED,
    "40": BUSY,
    "42501": (
        DataError,
        "must let the role of the connection read what the query names; it does not: grant SELECT "
        "to the role",
    ),
    "42703": UNKNOWN,
    "42P01": UNKNOWN,
    "42883": (
        DataError,
        "must know the functions and operators of the query for the types they are used with; it "
        "does not know one of them: cast in source.query (:period is text)",
    ),
    "53": BUSY,
    "57014": (
        DataError,
        "must answer the query in time; it took too long and was cancelled: make source.query "
        "faster, or raise the statement_timeout of the role",
    ),
    "57P": BUSY,
}
"""The faults by the beginning of their SQLSTATE; the longest that fits counts."""

BY_TEXT: tuple[tuple[str, Fault], ...] = (
    (
        r"authentication failed|no password supplied|no pg_hba\.conf entry|"
        r"FATAL: +(role|database) ",
        REFUSED,
    ),
    (r"starting up|shutting down|too many|remaining connection|locked|busy", BUSY),
    (
        r"failed to connect|could not connect|connection refused|closed the connection|timeout "
        r"expired|no connection to the server",
        LOST,
    ),
    (r"readonly database", WRITES),
    (r"no such (table|column)", UNKNOWN),
    (
        r"not a database|malformed|unable to open",
        (DataError, "must be an SQLite database; the file is not one, or cannot be opened"),
    ),
)
"""The faults by words in their text, where a driver gives no SQLSTATE."""
QUOTED_QUERY = re.compile(r"\nquery:|Query was:", re.IGNORECASE)


@contextmanager
def in_words(connection: str) -> Iterator[None]:
    """Replace every error in this context that is not ours.

    Raises
    ------
    ReleaseError
        Our own errors, and one sentence in place of any other. A `StorageError` may be temporary.
    """
    try:
        yield
    except ReleaseError:
        raise
    except Exception as error:
        kind, words = _fault(error)
        raise kind(f"the database {connection!r} {words}") from None


def _fault(error: Exception) -> Fault:
    from adbc_driver_manager import Error

    state = (error.sqlstate or "") if isinstance(error, Error) else ""
    for length in range(len(state), 1, -1):
        if state[:length] in BY_SQLSTATE:
            return BY_SQLSTATE[state[:length]]
    if not state:
        text = QUOTED_QUERY.split(str(error))[0]
        for pattern, fault in BY_TEXT:
            if re.search(pattern, text, re.IGNORECASE):
                return fault
    shown = f"class {state[:2]} of SQLSTATE" if state.isalnum() else type(error).__name__
    return (
        DataError,
        f"must be able to run the query; it reports an error ({shown}): try source.query with a "
        "client of the database",
    )
