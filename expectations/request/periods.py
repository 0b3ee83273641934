"""Which period a run is about."""

from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from algorithms.errors import SpecError

Every = Literal["month", "quarter", "year"]
MONTHS = {"month": 1, "quarter": 3, "year": 12}


def last_full(every: Every, time: datetime, zone: str) -> str:
    """Name the last month, quarter or year that was over at a time.

    Parameters
    ----------
    every : "month", "quarter" or "year"
        Which of them.
    time : datetime
        With its zone.
    zone : str
        Where months begin.

    Examples
    --------
    >>> from datetime import UTC
    >>> new_year = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)
    >>> last_full("quarter", new_year, "UTC"), last_full("quarter", new_year, "Europe/Madrid")
    ('2026-Q3', '2026-Q4')
    >>> last_full("month", new_year, "UTC"), last_full("year", new_year, "UTC")
    ('2026-11', '2025')
    """
    local = time.astimezone(ZoneInfo(zone))
    length = MONTHS[every]
    # counted from the year 0: the period in which that moment lies, less one
    year, number = divmod((local.year * 12 + local.month - 1) // length - 1, 12 // length)
    within = {"year": "", "quarter": f"-Q{number + 1}", "month": f"-{number + 1:02d}"}
    return f"{year}{within[every]}"


def check_zone(zone: str) -> str:
    """Accept the name of a time zone only."""
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SpecError(
            f"time_zone must be the name of a time zone, such as Europe/Madrid; got {zone!r}"
        ) from None
    return zone
