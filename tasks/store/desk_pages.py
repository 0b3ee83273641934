"""Addresses of pages of the desk, for texts that send people there."""

import hashlib
import os
from pathlib import Path

from tasks.store.home import DESK_URL

KEY_DIGITS = 12


def key_of(register: Path) -> str:
    """Give the short name of a register in addresses."""
    return hashlib.sha256(os.fsencode(register)).hexdigest()[:KEY_DIGITS]


def review_page(register: Path, candidate: str) -> str:
    """Give the address of the page on which a candidate is decided; empty if no desk is known."""
    return _page("review", register, candidate)


def release_page(register: Path, attempt: str) -> str:
    """Give the address of the page of an attempt; empty if no desk is known."""
    return _page("releases", register, attempt)


def _page(kind: str, register: Path, attempt: str) -> str:
    desk = os.environ.get(DESK_URL, "").rstrip("/")
    return f"{desk}/{kind}/{key_of(register)}/{attempt}" if desk else ""
