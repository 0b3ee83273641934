"""A dataset is released from one spec file, and all its releases are in one register."""

from algorithms.errors import RefusedError
from expectations.request.sections.publication import PublicationSection
from expectations.request.sections.release import ReleaseSection, folder_name
from tasks.store.chain import PUBLISHED, PUBLISHING
from tasks.store.register import Register


def check_owner(
    register: Register, release: ReleaseSection, publication: PublicationSection, file: str | None
) -> None:
    """Check that no other spec file or register releases this dataset.

    Parameters
    ----------
    register : Register
        The register of the spec.
    release, publication : ReleaseSection, Publication
        These sections of the spec.
    file : str, optional
        Name of the spec file, if it is known.

    Raises
    ------
    RefusedError
        If the dataset was published from another spec file, or the public folder holds releases of
        it that the register does not know.
    """
    name = release.name
    published = [
        entries[-1]
        for entries in register.chain().attempts.values()
        if entries[-1].event in (PUBLISHING, PUBLISHED) and entries[-1].dataset == name
    ]
    known = {folder_name(entry.period, entry.revision) for entry in published}
    dataset = publication.public_folder / name
    folders = {path.name for path in dataset.glob("[!.]*") if path.is_dir()}
    if strangers := len(folders - known):
        raise RefusedError(
            f"all releases of {name} must be in one register; {strangers} in {str(dataset)!r} are "
            f"not in {str(register.folder)!r}: name the register that holds them in "
            "publication.register_folder, or give the dataset another release.name"
        )
    owner = register.manifest(published[-1].attempt).spec_file if published else None
    if file and owner and owner.name not in (file, release.formerly):
        raise RefusedError(
            f"{name} must be released from one spec file; it was published from "
            f"{owner.name!r}, and this is {file!r}: give this dataset another release.name or, "
            f"if the file was renamed, set release.formerly to {owner.name}"
        )
