"""The published releases about the same persons, with their vault files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from algorithms.errors import IntegrityError, RefusedError
from expectations.manifest import Manifest, ReleaseFacts, VaultFacts
from expectations.published.files import sha256_of_data
from expectations.request.sections.release import ReleaseSection
from expectations.request.spec import ReleaseSpec
from tasks.store import vault
from tasks.store.disk import Folder
from tasks.store.register import Register
from tasks.store.vault import Header, Members


@dataclass(frozen=True, eq=False)
class Edition:
    """A published release.

    Attributes
    ----------
    attempt : str
        The attempt that wrote its vault file, if there is one.
    manifest : Manifest
        The manifest of its publication.
    forgotten : bool
        Whether its vault file was removed on purpose.
    """

    attempt: str
    manifest: Manifest
    forgotten: bool = False

    @property
    def release(self) -> ReleaseFacts:
        """The dataset, the period and the revision."""
        return self.manifest.release

    @property
    def facts(self) -> VaultFacts | None:
        """What the manifest says about the vault file."""
        return self.manifest.vault

    @property
    def name(self) -> str:
        """The release, for people."""
        return f"{self.release.name} {self.release.edition}"

    @property
    def data_sha256(self) -> str | None:
        """SHA-256 of the public records, as CSV files hold them."""
        public = self.manifest.public
        return None if public is None else sha256_of_data(public.checksums)

    def is_of(self, release: ReleaseSection) -> bool:
        """Return whether it is the publication of this period and revision."""
        own = self.release
        return (own.name, own.period, own.revision) == (
            release.name,
            release.period,
            release.revision,
        )

    def is_in(self, population: str) -> bool:
        """Return whether its vault file is about these persons."""
        return self.facts is not None and self.facts.population == population

    def concerns(self, dataset: str, population: str) -> bool:
        """Return whether it should be compared with releases of a dataset or population."""
        declared = (self.manifest.spec.get("series") or {}).get("population")
        return (
            self.release.name == dataset
            or self.is_in(population)
            or (declared or self.release.name) == population
        )


def population_of(spec: ReleaseSpec) -> str | None:
    """Name the persons of a spec; None if they cannot be followed from release to release."""
    if not spec.follows_persons:
        return None
    return (spec.series.population if spec.series else None) or spec.release.name


def published_editions(register: Register) -> list[Edition]:
    """List all published releases of a register in the order in which they first appeared."""
    chain = register.chain()
    editions: dict[str, Edition] = {}
    for entry in chain.published:
        attempt, manifest = entry.candidate or entry.attempt, register.manifest(entry.attempt)
        # a release that appeared again, after its folder was lost, has its first vault file
        own = attempt if manifest.vault is None else manifest.vault.sha256
        editions.setdefault(own, Edition(attempt, manifest, attempt in chain.forgotten))
    return list(editions.values())


def last_sha256(editions: Iterable[Edition], population: str) -> str:
    """Give the hash of the last vault file of a population; empty if there is none."""
    hashes = [
        edition.facts.sha256
        for edition in editions
        if edition.facts is not None and edition.facts.population == population
    ]
    return hashes[-1] if hashes else ""


def check_last(register: Register, population: str, previous: str) -> None:
    """Check that no release of a population has been published since another was compared with it.

    Raises
    ------
    RefusedError
        If one has.
    """
    editions = [each for each in published_editions(register) if each.is_in(population)]
    if last_sha256(editions, population) != previous:
        raise RefusedError(
            "a release must be compared with all earlier releases of the same persons; "
            f"{editions[-1].name} has been published since: run the release again"
        )


def facts_of_lost(
    register: Register, release: ReleaseSection, data_sha256: str | None
) -> VaultFacts | None:
    """Find the vault file of a release that was published before, and whose folder was lost.

    Returns
    -------
    VaultFacts or None
        None if the release was not published before, or has no vault file.

    Raises
    ------
    RefusedError
        If it was published with other data, with which nothing would be compared.
    """
    lost = [each for each in published_editions(register) if each.is_of(release) and each.facts]
    if not lost:
        return None
    if lost[-1].data_sha256 != data_sha256:
        raise RefusedError(
            f"{lost[-1].name} must not change once published; its folder is gone, and this release "
            "has other data: restore the folder from a backup"
        )
    return lost[-1].facts


def read_members(root: Folder, edition: Edition) -> Members:
    """Read the vault file of a release, and check that it is the one that was published.

    Raises
    ------
    IntegrityError
        If it is missing, was altered, or is about another release.
    """
    facts = edition.facts
    assert facts is not None
    content = vault.read(root, facts.file)
    if content is None:
        raise _not_kept(edition, "is missing")
    if vault.sha256(content) != facts.sha256:
        raise _not_kept(edition, "was altered or exchanged")
    header, members = vault.decode(content, facts.file)
    if not _agrees(header, edition, facts):
        raise _not_kept(edition, "is about another release")
    return members


def _agrees(header: Header, edition: Edition, facts: VaultFacts) -> bool:
    release = edition.release
    return (
        header.dataset,
        header.period,
        header.revision,
        header.population,
        header.key,
        header.previous,
        header.data_sha256,
    ) == (
        release.name,
        release.period,
        release.revision,
        facts.population,
        facts.key,
        facts.previous,
        edition.data_sha256,
    )


def _not_kept(edition: Edition, fault: str) -> IntegrityError:
    assert edition.facts is not None
    return IntegrityError(
        f"every earlier release must have its vault file as it was written; that of {edition.name} "
        f"({edition.facts.file}) {fault}: restore it from a backup, or set series.start to a later "
        "period and give the reason"
    )


def names(editions: Sequence[Edition]) -> str:
    """List releases for people."""
    return ", ".join(edition.name for edition in editions)
