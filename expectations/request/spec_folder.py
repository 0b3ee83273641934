"""Reads all specs in a folder; a faulty one does not hide the others."""

from pathlib import Path

from algorithms.errors import ReleaseError, SpecError
from expectations.request.spec_file import SpecFile, read


def read_all(folder: Path) -> tuple[list[SpecFile], list[SpecError]]:
    """Read every spec in a folder, in the order of the file names.

    Returns
    -------
    list of SpecFile
        The valid ones.
    list of SpecError
        One error for each file that is not a valid spec; it names the file.
    """
    files: list[SpecFile] = []
    faults: list[SpecError] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            files.append(read(path))
        except ReleaseError as error:
            lines = "; ".join(str(error).splitlines())
            faults.append(SpecError(f"{path.name} must be a valid spec; it is not: {lines}"))
    return files, faults
