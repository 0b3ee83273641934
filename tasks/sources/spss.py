"""Reads SPSS files."""

from datetime import date

import pyreadstat

from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Decoded, Reader, unreadable
from tasks.sources.readstat import Clock, decode

FILE = "an SPSS file"
SYSTEM_FILES = (b"$FL2", b"$FL3")
DATES = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "MOYR", "QYR", "WKYR", "DATETIME", "YMDHMS")
CLOCK = Clock(
    # day 1 is the first day of the Gregorian calendar
    origin=date(1582, 10, 14),
    name=r"[A-Z]+",
    seconds=dict.fromkeys(DATES, 1),
)


def read(content: bytes, source: SourceSection) -> Decoded:
    """Read a system file (.sav, .zsav) or a portable file (.por)."""
    try:
        if content.startswith(SYSTEM_FILES):
            # otherwise missing values that the file declares would be missing uncounted
            return decode(content, source, pyreadstat.read_sav, CLOCK, user_missing=True)
        return decode(content, source, pyreadstat.read_por, CLOCK)
    except Exception:
        raise unreadable(FILE) from None


READER = Reader(FILE, is_text=False, read=read, starts=rb"\$FL[23]|.{0,200}SPSS PORT FILE")
