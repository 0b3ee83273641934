"""Reads SAS files."""

from datetime import date

import pyreadstat

from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Decoded, Reader, unreadable
from tasks.sources.readstat import DAY, Clock, decode

FILE = "a SAS file"
TRANSPORT = b"HEADER RECORD*******LIB"
RECORD = 80
"""Transport files consist of records of so many bytes."""

DATES = (
    "DATE", "WEEKDATE", "WEEKDATX", "WORDDATE", "WORDDATX", "JULIAN", "MONYY", "YYMON", "E8601DA",
    "B8601DA", "IS8601DA", "NLDATE",
)  # fmt: skip
SEPARATED = ("DDMMYY", "MMDDYY", "YYMMDD", "YYMM", "MMYY", "YYQ")
"""Formats of dates whose name may end in the sign between their parts."""
SIGNS = ("", "B", "C", "D", "N", "P", "S")
TIMES = (
    "DATETIME", "DATEAMPM", "MDYAMPM", "E8601DT", "B8601DT", "IS8601DT", "DTDATE", "DTMONYY",
    "NLDATM",
)  # fmt: skip
CLOCK = Clock(
    origin=date(1960, 1, 1),
    name=r"[A-Z0-9]*[A-Z]",
    seconds=dict.fromkeys(DATES, DAY)
    | {name + sign: DAY for name in SEPARATED for sign in SIGNS}
    | dict.fromkeys(TIMES, 1),
)


def read(content: bytes, source: SourceSection) -> Decoded:
    """Read a data set (.sas7bdat) or a transport file (.xpt)."""
    is_transport = content.startswith(TRANSPORT)
    if is_transport and len(content) % RECORD:
        raise unreadable(FILE)
    function = pyreadstat.read_xport if is_transport else pyreadstat.read_sas7bdat
    try:
        return decode(content, source, function, CLOCK)
    except Exception:
        raise unreadable(FILE) from None


READER = Reader(
    FILE, is_text=False, read=read, starts=rb"\0{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB"
)
