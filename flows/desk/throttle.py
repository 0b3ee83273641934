"""Limits on failed logins."""

import ipaddress
import time
from collections import deque
from collections.abc import Callable

MOST_PER_LOGIN = 5
"""Number of failures of one login from one address within the window."""
MOST_PER_ADDRESS = 20
"""Number of failures from one address within the window, whatever the login."""
WINDOW_SECONDS = 15 * 60.0

Key = tuple[str, ...]


class Throttle:
    """Counts failed logins by login and address, and by address alone.

    An attempt counts as failed from its start, so that many attempts at the same time are no way
    around the limits; `forgive` takes it back if the password was right.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._failures: dict[Key, deque[float]] = {}

    def attempt(self, login: str, address: str) -> float:
        """Count an attempt; return the seconds to wait if it is refused, and otherwise 0.

        An attempt that is refused is not counted, so that the block ends even if someone keeps
        trying.
        """
        now = self.clock()
        self._forget(now)
        limits = _limits(login, address)
        wait = max(self._wait(key, most, now) for key, most in limits)
        if wait == 0.0:
            for key, _ in limits:
                self._failures.setdefault(key, deque()).append(now)
        return wait

    def forgive(self, login: str, address: str) -> None:
        """Take back an attempt that succeeded, and the earlier failures of that login.

        Failures with other logins still count for the address: someone who has one password must
        not be able to guess others without end.
        """
        self.withdraw(login, address)
        self._failures.pop((login, network_of(address)), None)

    def withdraw(self, login: str, address: str) -> None:
        """Take back an attempt that was not made after all."""
        for key, _ in _limits(login, address):
            failures = self._failures.get(key)
            if failures:
                failures.pop()

    def _wait(self, key: Key, most: int, now: float) -> float:
        failures = self._failures.get(key, ())
        return failures[-most] + WINDOW_SECONDS - now if len(failures) >= most else 0.0

    def _forget(self, now: float) -> None:
        """Forget what lies outside the window."""
        for key, failures in list(self._failures.items()):
            while failures and failures[0] + WINDOW_SECONDS <= now:
                failures.popleft()
            if not failures:
                del self._failures[key]


def _limits(login: str, address: str) -> tuple[tuple[Key, int], tuple[Key, int]]:
    network = network_of(address)
    return ((login, network), MOST_PER_LOGIN), ((network,), MOST_PER_ADDRESS)


def network_of(address: str) -> str:
    """Return the addresses that one person can easily have: a /64 network for IPv6.

    Examples
    --------
    >>> network_of("2001:db8::1:2"), network_of("10.0.0.9")
    ('2001:db8::/64', '10.0.0.9')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False))
