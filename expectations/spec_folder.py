"""Reads all specs of a folder; a faulty one does not hide the others."""

from pathlib import Path

from algorithms.errors import ReleaseError, SpecError
from expectations.spec import ReleaseSpec
from expectations.spec_file import load


def load_all(folder: Path) -> tuple[dict[str, ReleaseSpec], list[SpecError]]:
    """Read every spec of a folder.

    Returns
    -------
    dict
        The valid specs by the names of their files, in the order of these names.
    list
        One error for each file that is not a valid spec; it names the file.
    """
    specs: dict[str, ReleaseSpec] = {}
    faults: list[SpecError] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            specs[path.name] = load(path)
        except ReleaseError as error:
            found = "; ".join(str(error).splitlines())
            faults.append(SpecError(f"{path.name} must be a valid spec; it is not: {found}"))
    return specs, faults
