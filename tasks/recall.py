"""Finds the persons of a table in the earlier releases that the vault remembers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from algorithms.errors import IntegrityError
from algorithms.history import History, Past
from algorithms.table import Table
from expectations.request.periods import in_order
from expectations.request.spec import ReleaseSpec
from tasks.earlier_sources import read_again
from tasks.stage import stage
from tasks.store.editions import (
    Edition,
    last_sha256,
    names,
    population_of,
    published_editions,
    read_members,
)
from tasks.store.register import Register
from tasks.store.vault import VAULT, Members
from tasks.store.vault_key import Key, Tokens, exposed, read_key
from tasks.tokens import Numbers

FEW_KNOWN = 0.2
"""Share of persons seen before below which identifiers may have changed their meaning."""


@dataclass(frozen=True, eq=False)
class Persons:
    """The persons of a new release, as the vault will remember them.

    Attributes
    ----------
    population : str
        Name of the persons.
    key : Key
        What makes tokens of identifiers.
    key_file : Path
        Where the key is kept, or will be.
    tokens : Tokens of shape (n,)
        Token of each person, by the number that it has in the table.
    previous : str
        SHA-256 of the last vault file of the population; empty if there is none.
    against : tuple of str
        SHA-256 of each vault file that the release is compared with, the oldest first.
    """

    population: str
    key: Key
    key_file: Path
    tokens: Tokens
    previous: str
    against: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Recalled:
    """What is known of the persons of a table from earlier releases.

    Attributes
    ----------
    history : History, optional
        The earlier releases; None if persons cannot be followed from release to release.
    persons : Persons, optional
        What the publication adds to the vault; None if it adds nothing.
    warnings : tuple of str
        Likely mistakes, and comparisons that are not possible.
    """

    history: History | None = None
    persons: Persons | None = None
    warnings: tuple[str, ...] = ()


@stage(name="recall", retries=2)
def recall(source: pa.Table, table: Table, spec: ReleaseSpec) -> Recalled:
    """Look up the persons of a table in all earlier releases.

    Parameters
    ----------
    source : pyarrow.Table
        The columns of the source, with the identifiers.
    table : Table
        The same records, checked.
    spec : ReleaseSpec
        The spec of the release.

    Raises
    ------
    IntegrityError
        If the key or a vault file is missing, was altered or belongs elsewhere, or if a series
        cannot be compared with one of its releases.
    """
    population = population_of(spec)
    if population is None:
        return Recalled()
    earlier = _earlier(spec, population)
    file = key_file(spec, population)
    key = _key(file, population, earlier.editions)
    identifiers = source.select(list(spec.columns.identifiers))
    tokens = key.tokens(identifiers, population)
    assert table.persons is not None
    by_number = np.empty_like(tokens)
    by_number[table.persons] = tokens
    numbers = Numbers(tokens, table.persons)
    past, gone = _past(earlier, numbers, spec, key, population)
    against = tuple(edition.facts.sha256 for edition in earlier.editions if edition.facts)
    return Recalled(
        _history(past, earlier.editions, spec),
        Persons(population, key, file, by_number, last_sha256(earlier.known, population), against),
        (
            *earlier.warnings,
            *exposed(file),
            *_late(earlier.known, spec),
            *_strange(past, table, spec),
            *gone,
        ),
    )


def key_file(spec: ReleaseSpec, population: str) -> Path:
    """Name the file that holds the key of a population."""
    publication = spec.publication
    return publication.vault_key or publication.register_folder / VAULT / f"{population}.key"


@dataclass(frozen=True, eq=False)
class _Earlier:
    """Earlier releases of the same persons: all, those that are compared, and who was in these."""

    known: Sequence[Edition] = ()
    editions: Sequence[Edition] = ()
    members: Sequence[Members] = ()
    warnings: tuple[str, ...] = ()


def _earlier(spec: ReleaseSpec, population: str) -> _Earlier:
    register = Register(spec.publication.register_folder)
    if not register.begun:
        return _Earlier()
    with register.read_only() as root:
        known = _known(register, spec, population)
        editions, warnings = _comparable(known, spec, population)
        members = [read_members(root, edition) for edition in editions]
    return _Earlier(known, editions, members, warnings)


def _known(register: Register, spec: ReleaseSpec, population: str) -> list[Edition]:
    """List earlier releases of the same persons; a release that is repeated is not its own past."""
    editions = published_editions(register)
    own = [place for place, edition in enumerate(editions) if edition.is_of(spec.release)]
    return [
        edition
        for edition in editions[: own[0] if own else None]
        if edition.concerns(spec.release.name, population)
    ]


def _comparable(
    known: Sequence[Edition], spec: ReleaseSpec, population: str
) -> tuple[list[Edition], tuple[str, ...]]:
    """Choose the releases that can be compared, and warn of those that should be and cannot.

    Raises
    ------
    IntegrityError
        If there are such releases, and the spec declares a series.
    """
    series = spec.series
    start = None if series is None else series.start
    begun = [
        edition
        for edition in known
        if start is None or in_order(edition.release.period) >= in_order(start.period)
    ]
    window = None if series is None or series.window is None else series.window - 1
    needed = begun if window is None else begun[max(len(begun) - window, 0) :]
    revised = [edition for edition in begun if _is_revised(edition, spec)][-1:]
    lacking = [
        edition
        for edition in dict.fromkeys([*revised, *needed])
        if edition.forgotten or not edition.is_in(population)
    ]
    if lacking and series is not None:
        raise IntegrityError(
            f"a series must be compared with all its releases; there is no vault file about "
            f"{population!r} for {names(lacking)}: set series.start to a later period and give the "
            "reason"
        )
    comparable = [each for each in begun if each.is_in(population) and not each.forgotten]
    if not lacking:
        return comparable, ()
    return comparable, (
        f"the release cannot be compared with {names(lacking)}, for which there is no vault file: "
        "someone who has both may learn more than from each alone",
    )


def _is_revised(edition: Edition, spec: ReleaseSpec) -> bool:
    """Return whether the release of a spec revises an edition; the last such one counts."""
    release = edition.release
    same = (release.name, release.period) == (spec.release.name, spec.release.period)
    return same and spec.release.revision > 0


def _key(file: Path, population: str, editions: Sequence[Edition]) -> Key:
    """Read the key of a population; draw one if no release needs it yet.

    Raises
    ------
    IntegrityError
        If earlier releases need a key, and it is missing or another one.
    """
    key = read_key(file)
    needed = {edition.facts.key for edition in editions if edition.facts is not None}
    if needed - ({key.fingerprint} if key else set()):
        fault = "it is missing" if key is None else "it is another one"
        raise IntegrityError(
            f"{str(file)!r} must be the key with which earlier releases about {population!r} were "
            f"written; {fault}: restore it from its backup, or set series.start to a later period "
            "and give the reason"
        )
    return key or Key.new()


def _past(
    earlier: _Earlier, numbers: Numbers, spec: ReleaseSpec, key: Key, population: str
) -> tuple[list[Past], tuple[str, ...]]:
    """Give the persons of earlier releases their numbers, and read their sources again."""
    past, gone = [], []
    for edition, members in zip(earlier.editions, earlier.members, strict=True):
        original = None
        if spec.series is not None and edition.release.name == spec.release.name:
            original = read_again(edition, spec, members, key, population, numbers)
            gone += [edition] if original is None else []
        persons, groups, visible = numbers.arranged(members)
        past.append(
            Past(_label(edition, spec), edition.manifest.k, persons, groups, visible, original)
        )
    if not gone:
        return past, ()
    return past, (
        f"measures that need the sources of earlier releases leave out those of {names(gone)}, "
        "which are gone or have changed since",
    )


def _label(edition: Edition, spec: ReleaseSpec) -> str:
    """Name an earlier release for people; that of another dataset with its name."""
    own = edition.release.name == spec.release.name
    return edition.release.edition if own else edition.name


def _history(past: Sequence[Past], editions: Sequence[Edition], spec: ReleaseSpec) -> History:
    revised = [place for place, each in enumerate(editions) if _is_revised(each, spec)]
    series = spec.series
    return History(
        tuple(past),
        None if series is None else series.window,
        "perfect" if series is None else series.links,
        revised[-1] if revised else None,
    )


def _late(known: Sequence[Edition], spec: ReleaseSpec) -> tuple[str, ...]:
    """Warn of a period that comes after later ones."""
    release = spec.release
    later = [
        edition
        for edition in known
        if edition.release.name == release.name
        and in_order(edition.release.period) > in_order(str(release.period))
    ]
    if not later or release.revision:
        return ()
    return (
        f"periods should be published in order; {release.period} comes after {names(later)}, and "
        "is compared with all of them",
    )


def _strange(past: Sequence[Past], table: Table, spec: ReleaseSpec) -> tuple[str, ...]:
    """Warn of persons who should last and have not been seen before."""
    if spec.series is None or not past:
        return ()
    assert table.persons is not None
    seen = np.isin(table.persons, np.concatenate([each.persons for each in past])).mean()
    if seen >= FEW_KNOWN:
        return ()
    return (
        f"persons of a series should last; only {100 * seen:.0f} % of these records are about "
        "persons of an earlier release: check whether the identifiers still mean the same, or set "
        "series.persons",
    )
