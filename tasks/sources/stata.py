"""Reads Stata files."""

from datetime import date

import pyreadstat

from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Decoded, Reader, unreadable
from tasks.sources.readstat import DAY, Clock, decode

FILE = "a Stata file"
CLOCK = Clock(
    origin=date(1960, 1, 1),
    name=r"%t[a-zA-Z]|%d",
    seconds={"%tc": 0.001, "%td": DAY, "%d": DAY},
    months={"%tm": 1, "%tq": 3, "%th": 6},
)


def read(content: bytes, source: SourceSection) -> Decoded:
    """Read a Stata file of any version; extended missing values (.a to .z) are missing."""
    # pyreadstat reads a file that ends too early without its value labels
    if content.startswith(b"<stata_dta>") and not content.rstrip().endswith(b"</stata_dta>"):
        raise unreadable(FILE)
    try:
        return decode(content, source, pyreadstat.read_dta, CLOCK)
    except Exception:
        raise unreadable(FILE) from None


READER = Reader(FILE, is_text=False, read=read, starts=rb"<stata_dta>|[\x66-\x73][\x01\x02]\x01")
