"""Sessions of people who have logged in, in the memory of the server."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

COOKIE = "__Host-desk"
"""Browsers accept this name only for a cookie that is Secure and belongs to this host alone."""
IDLE_SECONDS = 30 * 60.0
MOST_SECONDS = 12 * 60 * 60.0


@dataclass
class Session:
    """A person who has logged in.

    Attributes
    ----------
    login : str
        The user.
    stamp : str
        Identifies the password with which the user logged in; with another, the session is over.
    csrf : str
        Token that every form of the session must send.
    started, seen : float
        When the user logged in and sent the last request.
    """

    login: str
    stamp: str
    csrf: str
    started: float
    seen: float


class Sessions:
    """All sessions, by the hash of their token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._sessions: dict[bytes, Session] = {}
        self._lock = threading.Lock()

    def start(self, login: str, stamp: str) -> str:
        """Start a session; return its token."""
        token, now = secrets.token_urlsafe(32), self.clock()
        with self._lock:
            self._sessions = {
                key: session
                for key, session in self._sessions.items()
                if not _is_over(session, now)
            }
            self._sessions[_key(token)] = Session(login, stamp, secrets.token_urlsafe(32), now, now)
        return token

    def find(self, token: str) -> Session | None:
        """Find a session that is not over, and note that it is in use."""
        now = self.clock()
        with self._lock:
            session = self._sessions.get(_key(token))
            if session is None:
                return None
            if _is_over(session, now):
                del self._sessions[_key(token)]
                return None
            session.seen = now
            return session

    def end(self, token: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_key(token), None)

    def __len__(self) -> int:
        return len(self._sessions)


def _key(token: str) -> bytes:
    """Hash a token: a look-up must not reveal by its time how much of a guess is right."""
    return hashlib.sha256(token.encode("utf-8", errors="surrogatepass")).digest()


def _is_over(session: Session, now: float) -> bool:
    return now - session.seen >= IDLE_SECONDS or now - session.started >= MOST_SECONDS
