"""The public folder: a release appears in it whole or not at all."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from algorithms.errors import ContractError, IntegrityError, RefusedError, SpecError, StorageError
from expectations.published.claims import claims_of
from expectations.published.files import PACKAGE, PARTS, STATEMENT, Files, checksums_of
from expectations.published.recomputed import recompute
from expectations.published.statement import Statement
from expectations.published.verifier import Verification, verify_content
from expectations.request.sections.publication import PublicationSection
from expectations.request.sections.release import ReleaseSection
from tasks.listening import reporter
from tasks.store.disk import (
    IN_PREPARATION,
    PRIVATE,
    PUBLIC,
    Folder,
    existing_part,
    opened,
)
from tasks.store.signing import installation_key

WRITING, RECOMPUTING = 0.4, 0.8
"""Shares of a publication after which files are verified, and measures computed again."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Public files in the staging folder.

    Attributes
    ----------
    name : str
        Name of their folder there.
    files : mapping of str to OpenFile
        The files that were opened there.
    verified : Verification
        The verification of these files.
    """

    name: str
    files: Files
    verified: Verification


@dataclass(frozen=True)
class Places:
    """The public folder and the staging folder, opened once and locked."""

    public: Folder
    staging: Folder
    mark: str


def check_places(publication: PublicationSection) -> None:
    """Check, before any work is done and without leaving a trace, that folders can be written.

    Raises
    ------
    StorageError
        If one cannot, or if a finished release could not be moved into place in one step.
    """
    _check_apart(publication)
    devices = {
        name: existing_part(folder, name).stat().st_dev
        for name, folder in (
            ("register_folder", publication.register_folder),
            ("public_folder", publication.public_folder),
            ("staging_folder", publication.staging),
        )
    }
    if devices["staging_folder"] != devices["public_folder"]:
        raise StorageError(
            "staging_folder and public_folder must be on one file system; "
            f"{str(publication.staging)!r} and {str(publication.public_folder)!r} are not: set "
            "publication.staging_folder to a folder beside the public one"
        )


def _check_apart(publication: PublicationSection) -> None:
    """Check that no folder was replaced by a link since the spec was read."""
    try:
        publication.check_apart()
    except SpecError as error:
        raise StorageError(f"{error}: a link may have been put in its place") from None


@contextmanager
def opened_places(publication: PublicationSection) -> Iterator[Places]:
    """Open and lock the public folder, and leave nothing in the staging folder."""
    _check_apart(publication)
    with opened(publication.public_folder, "public_folder", PUBLIC) as public:
        with opened(publication.register_folder, "register_folder", PRIVATE) as register:
            # a link can appear at any time; both folders are locked, and would wait for each other
            if public.is_same_as(register):
                raise StorageError(
                    "public_folder must be a folder of its own; it leads to register_folder: put a "
                    "folder in place of the link"
                )
        with (
            public.locked(),
            opened(publication.staging, "staging_folder", IN_PREPARATION) as staging,
        ):
            places = Places(public, staging, _mark(publication))
            _sweep(places)
            try:
                yield places
            finally:
                _sweep(places)
                if publication.staging_folder is None:
                    with suppress(OSError):
                        publication.staging.rmdir()


def _sweep(places: Places) -> None:
    """Remove what a run left in the staging folder; the public folder must be locked."""
    for name in places.staging.names():
        if name.startswith(places.mark):
            places.staging.remove(name)


def _mark(publication: PublicationSection) -> str:
    """Name the prefix of our folders, in case the staging folder is shared."""
    public = hashlib.sha256(os.path.realpath(publication.public_folder).encode()).hexdigest()
    return f"microrelease-{public[:8]}-"


@contextmanager
def opened_stage(attempt: str, places: Places) -> Iterator[Folder]:
    """Create the folder of an attempt in the staging folder."""
    with places.staging.within(f"{places.mark}{attempt}", make=True) as folder:
        yield folder


def stage_files(files: Files, attempt: str, places: Places, reviewers: int) -> Prepared:
    """Copy the files of a candidate into the staging folder, sign them and verify the result."""
    with opened_stage(attempt, places) as folder:
        folder.copy(files)
        written = checksums_of(files)
        written |= write_statement(folder, files[PACKAGE].read(), written, reviewers)
        return verify_staged(folder, written)


def write_statement(
    folder: Folder, description: bytes, checksums: Mapping[str, str], reviewers: int = 0
) -> dict[str, str]:
    """Sign the files of a folder with the key of this installation; return the new checksum."""
    signer = installation_key()
    statement = Statement.of(
        claims_of(description), checksums, reviewers, signer.history, signer.sign
    )
    content = statement.encode()
    folder.write(STATEMENT, content)
    return {STATEMENT: hashlib.sha256(content).hexdigest()}


def verify_staged(folder: Folder, written: Mapping[str, str]) -> Prepared:
    """Flush the files of a folder in the staging folder, read them back and verify them.

    Parameters
    ----------
    folder : Folder
        The folder.
    written : mapping of str to str
        SHA-256 of the bytes that were written, by name.

    Raises
    ------
    IntegrityError
        If their claims do not hold.
    ContractError
        If the bytes read differ from those written.
    """
    folder.flush()
    name = folder.path.name
    files = folder.open_all()
    verified = verify_content(files, name, reporter(WRITING, RECOMPUTING))
    recompute(verified)
    reporter()(1.0)
    if verified.checksums != written:
        raise ContractError("the files read back from disk are not those that were written")
    return Prepared(name, files, verified)


def reveal(prepared: Prepared, release: ReleaseSection, places: Places) -> None:
    """Give prepared files their public name in one step, and check that they are as verified.

    Raises
    ------
    IntegrityError
        If other files appeared; they are withdrawn.
    """
    target = release.folder
    with places.public.within(target.parent.name, make=True) as dataset:
        with places.staging.within(prepared.name) as folder:
            if folder.holds_folder(PARTS):
                with folder.within(PARTS) as parts:
                    parts.open_to(PUBLIC)
            folder.open_to(PUBLIC)
            folder.flush()
        places.staging.move(prepared.name, dataset, target.name)
        try:
            with dataset.within(target.name) as appeared:
                same = checksums_of(appeared.open_all()) == prepared.verified.checksums
        except (StorageError, IntegrityError):
            same = False
        if not same:
            _take_back(dataset, target.name, prepared, places)


def _take_back(dataset: Folder, name: str, prepared: Prepared, places: Places) -> NoReturn:
    """Remove files that were not verified from the public folder."""
    try:
        dataset.move(name, places.staging, prepared.name)
        outcome = "were taken back"
    except StorageError as error:
        outcome = f"could not be taken back ({error}): remove {str(dataset.path / name)!r} at once"
    raise IntegrityError(
        f"only the files that were verified may appear; those of {dataset.path.name} {name} were "
        f"changed in the staging folder meanwhile, and {outcome}: find out who can write there, "
        "and run again"
    )


def flush(release: ReleaseSection, places: Places) -> None:
    """Flush the name of a release that has appeared to disk."""
    with places.public.within(release.folder.parent.name) as dataset:
        dataset.flush()


def same_release(
    release: ReleaseSection, prepared: Prepared, places: Places
) -> Verification | None:
    """Find and verify the same release, if it is published already.

    Returns
    -------
    Verification or None
        None if the release is not published yet.

    Raises
    ------
    RefusedError
        If the period is published with other data, or the revised release is not published.
    IntegrityError
        If the published folder is not intact.
    """
    target = release.folder
    published = _published(places.public, target)
    if published is not None:
        if published.claims.same_release(prepared.verified.claims):
            return published
        raise RefusedError(
            f"{release.name} {target.name} must not change once published; it is published with "
            f"other data or other claims: to replace it, set release.revision to "
            f"{release.revision + 1} and give release.reason, which keeps the old files"
        )
    if release.revision:
        revised = release.model_copy(update={"revision": release.revision - 1})
        if _published(places.public, revised.folder) is None:
            raise RefusedError(
                f"revision {release.revision} must follow a published {revised.folder.name}, "
                f"which does not exist: set release.revision to {revised.revision}"
            )
    return None


def _published(public: Folder, target: Path) -> Verification | None:
    """Verify the release that is published under a name; None if there is no such release."""
    name = target.parent.name
    if not public.has(name):
        return None
    with public.within(name) as dataset:
        if not dataset.has(target.name):
            return None
        with dataset.within(target.name) as folder:
            return verify_content(folder.open_all(), str(folder.path))
