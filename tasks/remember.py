"""Adds the groups of a release to the vault, so that later releases can be compared with it."""

from algorithms.errors import ContractError
from algorithms.masked import Masked
from expectations.manifest import VaultFacts
from expectations.request.spec import ReleaseSpec
from tasks.recall import Persons, Recalled
from tasks.store import vault
from tasks.store.disk import Folder
from tasks.store.editions import check_last, facts_of_lost, population_of
from tasks.store.public_folder import Prepared
from tasks.store.register import Register
from tasks.store.vault import Header, Members
from tasks.store.vault_key import keep_key


def persons_of(spec: ReleaseSpec, recalled: Recalled | None) -> Persons | None:
    """Give the persons that a publication adds to the vault; None if it adds nothing.

    Raises
    ------
    ContractError
        If the spec declares a series, and its release was compared with nothing.
    """
    persons = None if recalled is None else recalled.persons
    if persons is None and spec.series is not None and population_of(spec) is not None:
        raise ContractError("a release of a series must be compared with the earlier releases")
    return persons


def remember(
    masked: Masked,
    spec: ReleaseSpec,
    persons: Persons,
    prepared: Prepared,
    register: Register,
    root: Folder,
    attempt: str,
) -> VaultFacts:
    """Write the vault file of a release that is about to be published or sealed.

    Raises
    ------
    RefusedError
        If another release of the same persons has been published in the meantime, or the release
        was published before with other data.
    """
    data_sha256 = prepared.verified.claims.data_sha256
    assert data_sha256 is not None
    lost = facts_of_lost(register, spec.release, data_sha256)
    if lost is not None:
        return lost
    population, key = persons.population, persons.key
    check_last(register, population, persons.previous)
    keep_key(key, persons.key_file)
    members = members_of(masked, spec, persons)
    header = Header(
        population=population,
        dataset=spec.release.name,
        period=str(spec.release.period),
        revision=spec.release.revision,
        k=masked.k,
        key=key.fingerprint,
        data_sha256=data_sha256,
        previous=persons.previous,
    )
    content = vault.encode(header, members)
    vault.keep(root, population, attempt, content)
    return VaultFacts(
        population=population,
        file=vault.file_of(population, attempt),
        sha256=vault.sha256(content),
        persons=len(members.tokens),
        muted=int((~members.visible).sum()),
        key=key.fingerprint,
        previous=persons.previous,
        against=persons.against,
    )


def members_of(masked: Masked, spec: ReleaseSpec, persons: Persons) -> Members:
    """Give the token, the group and the visibility of every person whose record is published."""
    numbers = masked.original.persons
    assert numbers is not None
    tokens = persons.tokens[numbers]
    edition = "\0".join(spec.release.folder.parts)
    groups = persons.key.numbered(masked.groups, tokens, edition)
    return Members(tokens, groups, masked.visible)
