"""A drafted spec: what it says, and what a person must settle."""

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from algorithms.errors import DataError, SpecError
from expectations.request.periods import Every, period_in
from expectations.request.sections.source import SourceSection
from expectations.request.spec import PERIOD_MARK
from tasks.draft.ceilings import Ceilings, iterations_for
from tasks.draft.facts import facts_of
from tasks.draft.guess import Guess, Role, as_key, guess_all
from tasks.draft.uniqueness import Alone, uniqueness

USUAL_K = 5
SMALLEST_K = 2
LONGEST_SLUG = 100


@dataclass(frozen=True)
class Asked:
    """What the caller of `draft` says about a table, rather than leaving it to guesses.

    Attributes
    ----------
    name : str, optional
        Name of the dataset.
    every : str, optional
        How often the dataset is released.
    k : int, optional
        Smallest size of a group.
    roles : dict of str to str
        Roles of columns, by their names.
    """

    name: str | None = None
    every: Every | None = None
    k: int | None = None
    roles: dict[str, Role] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """Everything that a drafted spec says.

    Attributes
    ----------
    name, title : str
        Of the dataset.
    table : str
        Name of the file, for the first line of the draft.
    path : str
        Path of the source, as the spec gives it.
    source : SourceSection
        How the source is read.
    period : str
        Period of the table: that in the name of the file, or a placeholder.
    period_known : bool
        Whether the name of the file gives the period.
    every : str, optional
        How often the dataset is released; None for a single release.
    records : int
        Number of records.
    guesses : tuple of Guess
        One for each column, in the order of the file.
    k, iterations : int
        Of the microaggregation.
    alone, alone_by_two : tuple of Alone
        Records that stand out.
    ceilings : Ceilings, optional
        Proposed ceilings; None before they are explored.
    unexplored : str
        Why there are no ceilings.
    """

    name: str
    title: str
    table: str
    path: str
    source: SourceSection
    period: str
    period_known: bool
    every: Every | None
    records: int
    guesses: tuple[Guess, ...]
    k: int
    iterations: int
    alone: tuple[Alone, ...]
    alone_by_two: tuple[Alone, ...]
    ceilings: Ceilings | None = None
    unexplored: str = "nothing was explored"

    def having(self, role: Role) -> list[Guess]:
        """List the guesses with a role."""
        return [found for found in self.guesses if found.role == role]

    @property
    def keys(self) -> list[Guess]:
        """The columns that are masked."""
        return self.having("quasi_identifiers")

    def with_guesses(self, guesses: Sequence[Guess]) -> "Draft":
        """Replace the guesses, after questions were answered."""
        return replace(self, guesses=tuple(guesses))


def draft(
    path: Path, folder: Path, source: SourceSection, table: pa.Table, asked: Asked, year: int
) -> Draft:
    """Draft a spec from a table.

    Parameters
    ----------
    path : Path
        The file that was read.
    folder : Path
        The folder in which the spec will lie.
    source : SourceSection
        How it was read.
    table : pyarrow.Table
        Its content.
    asked : Asked
        What is not left to guesses.
    year : int
        The period of a table whose name gives none.

    Raises
    ------
    DataError, SpecError
        If no column can be published, or ``asked`` does not fit the table.
    """
    _check_names(asked, table.column_names)
    records = table.num_rows
    k = asked.k or min(USUAL_K, max(SMALLEST_K, records // 2))
    columns = [facts_of(name, table[name]) for name in table.column_names]
    guesses = [
        replace(_told(asked.roles[found.column], as_key(facts)), missing=facts.missing)
        if found.column in asked.roles
        else found
        for found, facts in zip(guess_all(columns, k), columns, strict=True)
    ]
    guesses = _give_way(guesses, asked)
    keys = [found.column for found in guesses if found.role == "quasi_identifiers"]
    if not keys:
        raise DataError(
            "at least one column must be fit to be masked and published; none of "
            f"{len(guesses)} is: {_counted(guesses)}"
        )
    known = [*keys, *(found.column for found in guesses if found.role == "strata")]
    alone, alone_by_two = uniqueness(table, known)
    stem, period, every = _period_of(path, asked)
    relative = os.path.relpath(path.absolute(), folder.absolute())
    return Draft(
        name=asked.name or slug(stem),
        title=_title(asked.name or stem),
        table=path.name,
        path=_marked(relative, period) if period and every else Path(relative).as_posix(),
        source=source,
        period=period or str(year),
        period_known=period is not None,
        every=every,
        records=records,
        guesses=tuple(guesses),
        k=k,
        iterations=iterations_for(records, k),
        alone=tuple(alone),
        alone_by_two=tuple(alone_by_two),
    )


def _check_names(asked: Asked, names: Sequence[str]) -> None:
    unknown = [name for name in asked.roles if name not in names]
    if unknown:
        listed = ", ".join(map(repr, unknown))
        raise SpecError(f"columns must be named as in the table; it has no column {listed}")


def _told(role: Role, key: Guess) -> Guess:
    """Take a role from the command line."""
    return replace(key, role=role, reason="given on the command line", decide="", question=None)


def _give_way(guesses: list[Guess], asked: Asked) -> list[Guess]:
    """Let guessed units and weights give way to those that were given."""
    given = set(asked.roles.values())
    return [
        Guess(found.column, "dropped", reason=f"another column is the {found.role}")
        if found.role in ("unit", "weight")
        and found.role in given
        and found.column not in asked.roles
        else found
        for found in guesses
    ]


def _counted(guesses: Sequence[Guess]) -> str:
    roles = [found.role for found in guesses]
    return ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))


def _period_of(path: Path, asked: Asked) -> tuple[str, str | None, Every | None]:
    """Split the name of a file into a name, its period if it has one, and the length of that."""
    stem = path.name.partition(".")[0] if not path.name.startswith(".") else path.stem
    found = period_in(stem)
    if found is None or (asked.every is not None and asked.every != found[1]):
        return stem, None, asked.every
    period, every = found
    return stem.replace(period, " "), period, every


def _marked(relative: str, period: str) -> str:
    path = Path(relative)
    return path.with_name(path.name.replace(period, PERIOD_MARK, 1)).as_posix()


def slug(stem: str) -> str:
    """Make a name of lower-case letters, digits and dashes.

    Examples
    --------
    >>> slug("Año 1_Survey (final)"), slug("調査")
    ('ano-1-survey-final', 'dataset')
    """
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    return "-".join(words)[:LONGEST_SLUG].strip("-") or "dataset"


def _title(stem: str) -> str:
    words = " ".join(re.split(r"[\s_.-]+", stem)).strip()
    return (words[:1].upper() + words[1:])[:LONGEST_SLUG] or "Dataset"
