"""Periods: that of a run that names none, and those in names of files."""

import re
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from algorithms.errors import SpecError

Every = Literal["month", "quarter", "year"]
MONTHS = {"month": 1, "quarter": 3, "year": 12}
FORMS = {
    "month": (r"\d{4}-(0[1-9]|1[0-2])", "2026-09"),
    "quarter": (r"\d{4}-Q[1-4]", "2026-Q3"),
    "year": (r"\d{4}", "2026"),
}
"""How periods are written, and an example."""

IN_NAMES = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9]{4}-)(?:19|20)[0-9]{2}(?:-(?:(Q[1-4])|(0[1-9]|1[0-2])))?"
    r"(?![0-9A-Za-z]|[-.][0-9Q])"
)
"""Periods as `last_full` writes them, within a name; a day is none."""


def last_full(every: Every, time: datetime, zone: str) -> str:
    """Name the last month, quarter or year that had ended at a given time.

    Parameters
    ----------
    every : "month", "quarter" or "year"
        Length of a period.
    time : datetime
        With its zone.
    zone : str
        Name of the time zone in which periods begin.

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
    # periods counted from the year 0: the one before that in which this moment lies
    year, number = divmod((local.year * 12 + local.month - 1) // length - 1, 12 // length)
    part = {"year": "", "quarter": f"-Q{number + 1}", "month": f"-{number + 1:02d}"}
    return f"{year}{part[every]}"


def period_in(name: str) -> tuple[str, Every] | None:
    """Find the period in a name, and its length; None unless there is exactly one.

    Examples
    --------
    >>> period_in("survey-2026-Q3"), period_in("2026-03_final"), period_in("panel 2026")
    (('2026-Q3', 'quarter'), ('2026-03', 'month'), ('2026', 'year'))
    >>> period_in("survey-2026-03-09"), period_in("from-2025-to-2026")
    (None, None)
    """
    found = list(IN_NAMES.finditer(name))
    if len(found) != 1:
        return None
    quarter, month = found[0].groups()
    return found[0].group(), "quarter" if quarter else "month" if month else "year"


def in_order(period: str) -> tuple[tuple[bool, int, str], ...]:
    """Give the key by which periods are sorted: 9 comes before 10.

    Examples
    --------
    >>> sorted(["wave-10", "wave-9"], key=in_order)
    ['wave-9', 'wave-10']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", period)
    return tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)


def check_period(every: Every, period: str) -> None:
    """Accept only a period of the length that is released.

    Examples
    --------
    >>> check_period("quarter", "2026-Q3")
    """
    pattern, example = FORMS[every]
    if re.fullmatch(pattern, period, re.ASCII) is None:
        raise SpecError(
            f"period must name a {every}, such as {example}, because a {every} is released each "
            f"time; got {period!r}"
        )


def check_zone(zone: str) -> str:
    """Accept only the name of a time zone."""
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SpecError(
            f"time_zone must be the name of a time zone, such as Europe/Madrid; got {zone!r}"
        ) from None
    return zone
