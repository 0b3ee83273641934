"""Processes that end with the one that started them."""

import ctypes
import signal
import sys


def end_with_parent() -> None:
    """Have Linux send SIGTERM to this process when its parent dies."""
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGTERM)
