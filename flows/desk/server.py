"""Asks the Prefect server what runs and what is due, without keeping a visitor waiting."""

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from algorithms.errors import ReleaseError

if TYPE_CHECKING:
    from flows.operation.status import Status

PATIENCE = 2.0
"""Seconds within which the server must answer."""
FRESH = 5.0
"""Seconds after which the server is asked again."""
USABLE = 60.0
"""Seconds for which an answer is shown while the server is asked again."""

NO_SERVER = (
    "No Prefect server is known, so that due and late runs are not shown: start the desk with the "
    "home of an installation, or set PREFECT_API_URL."
)
NO_ANSWER = (
    f"The Prefect server did not answer within {PATIENCE:g} seconds, so that running, due and late "
    "runs are not shown: check that it runs."
)


@dataclass(frozen=True)
class Answer:
    """What the server said.

    Attributes
    ----------
    status : Status, optional
        Its answer; None if there is none.
    fault : str
        Why there is no answer, in a sentence.
    """

    status: "Status | None" = None
    fault: str = ""


class Server:
    """The Prefect server in ``PREFECT_API_URL``, asked in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answer: Answer | None = None
        self._answered = self._asked = float("-inf")
        self._done: threading.Event | None = None

    def answer(self) -> Answer:
        """Give the last answer if it is recent; otherwise wait for one, but not for long."""
        if not os.environ.get("PREFECT_API_URL"):
            return Answer(fault=NO_SERVER)
        with self._lock:
            now = time.monotonic()
            age = now - self._answered
            if self._answer is not None and age < FRESH:
                return self._answer
            if self._done is None:
                self._asked, self._done = now, threading.Event()
                threading.Thread(target=self._ask, args=(self._done,), daemon=True).start()
            if self._answer is not None and self._answer.status is not None and age < USABLE:
                return self._answer
            done, left = self._done, self._asked + PATIENCE - now
        done.wait(max(left, 0.0))
        with self._lock:
            answered = self._answered >= self._asked and self._answer is not None
            return self._answer if answered and self._answer else Answer(fault=NO_ANSWER)

    def _ask(self, done: threading.Event) -> None:
        answer = _ask_once()
        with self._lock:
            self._answer, self._answered, self._done = answer, time.monotonic(), None
        done.set()


def _ask_once() -> Answer:
    # importing Prefect takes seconds
    from flows.operation.status import Status, ask_server

    status = Status()
    try:
        ask_server(status)
    except ReleaseError as error:
        return Answer(fault=f"Runs are not shown: {error}.")
    return Answer(status) if status.server else Answer(fault=NO_ANSWER)
