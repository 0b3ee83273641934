"""Registries of algorithms: listed by name, imported on first use."""

import difflib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

from algorithms.errors import SpecError

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """The algorithms of one kind, by name.

    The module ``<package>.<name>`` holds the algorithm as the constant ``constant``. A module is
    imported when its name is first looked up, so that listing names costs nothing. An
    algorithm that is not on the list cannot be used: each one is reviewed before it may release
    data.
    """

    def __init__(self, package: str, kind: str, names: tuple[str, ...]) -> None:
        self.kind = kind
        self._package = package
        self._names = names

    def __getitem__(self, name: str) -> Entry:
        if name not in self._names:
            raise KeyError(name)
        module = import_module(f"{self._package}.{name}")
        entry: Entry = getattr(module, self.kind.upper())
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def known(self, name: str) -> str:
        """Return ``name`` if it is on the list.

        Raises
        ------
        SpecError
            If it is not on the list; the message suggests a similar name.
        """
        if name in self._names:
            return name
        near = difflib.get_close_matches(name, self._names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(self._names)}"
        raise SpecError(f"no {self.kind} is called {name!r}; {hint}")
