"""Reads all specs in a folder; a faulty one does not hide the others."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from algorithms.errors import ReleaseError, SpecError
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import SpecFile, read


def read_all(folder: Path) -> tuple[list[SpecFile], list[SpecError]]:
    """Read every spec in a folder, in the order of the file names.

    Returns
    -------
    list of SpecFile
        The valid ones. Two that release the same dataset are among them: what they have released
        before is still there.
    list of SpecError
        One error for each file that releases nothing; it names the file.
    """
    files: list[SpecFile] = []
    faults: list[SpecError] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            # a pipe would keep its reader waiting
            if not path.is_file():
                raise SpecError("it is not a file")  # noqa: TRY301 - one of many faults
            files.append(read(path))
        except ReleaseError as error:
            faults.append(_fault(path.name, str(error)))
        except Exception as error:
            faults.append(_fault(path.name, f"it cannot be read ({type(error).__name__})"))
    return files, faults + list(_rivalries(files))


def rivalry(file: SpecFile, files: Iterable[SpecFile]) -> str:
    """Say which other spec releases the same dataset; empty if none does."""
    for rival in files:
        if rival.name != file.name and _dataset(rival.spec) & _dataset(file.spec):
            return (
                f"a dataset must have one spec; {file.name} and {rival.name} both release "
                f"{file.spec.release.name!r}: remove one of them, or give it another release.name"
            )
    return ""


def _rivalries(files: list[SpecFile]) -> Iterator[SpecError]:
    for file in files:
        words = rivalry(file, files)
        if words:
            yield _fault(file.name, words)


def _dataset(spec: ReleaseSpec) -> set[str]:
    """Identify the dataset of a spec, by its name and by its folder; neither may be shared."""
    name = spec.release.name
    return {name, os.path.realpath(spec.publication.public_folder / name)}


def _fault(file: str, words: str) -> SpecError:
    # the name may be no text, and is shown on pages
    name = os.fsencode(file).decode("utf-8", errors="replace")
    lines = "; ".join(words.splitlines())
    return SpecError(f"{name} must be a valid spec; it is not: {lines}")
