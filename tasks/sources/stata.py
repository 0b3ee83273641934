"""Reads Stata files."""

from tasks.sources.apart import apart
from tasks.sources.reader import Reader

FILE = "a Stata file"
READER = Reader(
    FILE,
    is_text=False,
    read=apart("stata", FILE),
    starts=rb"<stata_dta>|[\x66-\x73][\x01\x02]\x01",
)
