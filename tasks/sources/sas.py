"""Reads SAS files: data sets (.sas7bdat) and transport files (.xpt)."""

from tasks.sources.apart import apart
from tasks.sources.reader import Reader

FILE = "a SAS file"
READER = Reader(
    FILE,
    is_text=False,
    read=apart("sas", FILE),
    starts=rb"\0{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB",
)
