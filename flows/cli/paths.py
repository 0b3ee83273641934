"""Paths are printed as the user wrote them: a relative path stays relative."""

import os
import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path

_written: ContextVar[Mapping[str, str] | None] = ContextVar("_written", default=None)
"""Absolute folders, each with the way in which the user wrote it."""


def remember(arguments: Mapping[str, object]) -> None:
    """Note the relative paths among the arguments of a command.

    Files of a spec are found from its folder, so the folder is noted in place of the spec.
    """
    written = {}
    for name, value in arguments.items():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path) and not path.is_absolute():
                folder = path.parent if name == "spec" else path
                written[str(folder.absolute())] = str(folder)
    _written.set(dict(sorted(written.items(), key=lambda pair: -len(pair[0]))))


def as_written(text: str) -> str:
    """Write the folders in a text as the user wrote them.

    Examples
    --------
    >>> remember({"spec": Path("demo/survey.yaml")})
    >>> as_written(f"published in {Path.cwd()}/demo/public")
    'published in demo/public'
    """
    for absolute, relative in (_written.get() or {}).items():
        inside = "" if relative == os.curdir else relative + os.sep
        text = text.replace(absolute + os.sep, inside)
        # the folder itself, and not a longer name that starts like it
        text = re.sub(rf"{re.escape(absolute)}(?![\w.-]*\w)", lambda _: relative, text)  # noqa: B023
    return text


def all_as_written(value: object) -> object:
    """Write the folders in all texts of a JSON document as the user wrote them."""
    if isinstance(value, str):
        return as_written(value)
    if isinstance(value, Path):
        return as_written(str(value))
    if isinstance(value, Mapping):
        return {str(all_as_written(key)): all_as_written(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [all_as_written(item) for item in value]
    return value
