"""The faults of a request, in words and without confidential values."""

from collections.abc import Iterator

from pydantic import ValidationError
from pydantic_core import ErrorDetails

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
PERIOD = r"^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$"
WORDS = r"\S"
PATTERNS = {
    SLUG: "must be lower-case letters and digits, with single dashes between them",
    PERIOD: "must be letters and digits, with single dots, dashes or underscores between them",
    WORDS: "must be given in words; it is blank",
}

FILE_SOURCE, DATABASE_SOURCE = "(file)", "(database)"
"""The kinds of source, as pydantic inserts them into the path of a fault."""


def faults(error: ValidationError, extra_hint: str | None = None) -> Iterator[str]:
    """Describe each fault after its path in the spec."""
    for fault in error.errors():
        path = ".".join(
            str(part) for part in fault["loc"] if part not in (FILE_SOURCE, DATABASE_SOURCE)
        )
        yield f"{path}: {_words(fault, extra_hint)}" if path else _words(fault, extra_hint)


def _words(fault: ErrorDetails, extra_hint: str | None) -> str:
    match fault["type"]:
        case "missing":
            return "must be given; it is missing"
        case "extra_forbidden":
            return "no such key; " + (extra_hint or "check its spelling and its place")
        case "value_error":
            return str(fault["ctx"]["error"])
        case "too_short":
            return f"must list at least {fault['ctx']['min_length']}; the list is empty"
        case "string_pattern_mismatch":
            return PATTERNS[fault["ctx"]["pattern"]] + _found(fault)
        case _:
            return fault["msg"].replace("Input should", "must") + _found(fault)


def _found(fault: ErrorDetails) -> str:
    value = fault["input"]
    return f"; got {value!r}" if isinstance(value, str | int | float) else ""
