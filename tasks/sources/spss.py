"""Reads SPSS files: system files (.sav, .zsav) and portable files (.por)."""

from tasks.sources.apart import apart
from tasks.sources.reader import Reader

FILE = "an SPSS file"
READER = Reader(
    FILE,
    is_text=False,
    read=apart("spss", FILE),
    starts=rb"\$FL[23]|.{0,200}SPSS PORT FILE",
)
