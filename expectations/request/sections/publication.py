"""The section ``publication``: where the files go."""

import os
from pathlib import Path
from typing import Self

from pydantic import BaseModel, model_validator

from algorithms.errors import SpecError
from expectations.request.fields import STRICT


class PublicationSection(BaseModel):
    """Where the files go. Relative paths are taken from the folder of the spec."""

    model_config = STRICT

    public_folder: Path
    """Folder of the public files, with one folder per dataset and in that one per period."""
    register_folder: Path
    """Folder of the internal register; never inside the public one."""
    staging_folder: Path | None = None
    """Folder in which a release is prepared before it appears, on the same file system as the
    public folder; by default a folder beside that one."""
    vault_key: Path | None = None
    """File with the key of the vault, created if it is missing; by default beside the vault in the
    register, but better on another disk."""

    @model_validator(mode="after")
    def _apart(self) -> Self:
        self.check_apart()
        return self

    def check_apart(self) -> None:
        """Check that no folder lies inside another, with links followed as they are now.

        Raises
        ------
        SpecError
            If one does.
        """
        folders = {
            "public_folder": self.public_folder,
            "register_folder": self.register_folder,
            "staging_folder": self.staging,
        }
        places = {**folders, "vault_key": self.vault_key}
        for inner, outer in (
            ("register_folder", "public_folder"),
            ("public_folder", "register_folder"),
            ("staging_folder", "public_folder"),
            ("staging_folder", "register_folder"),
            ("vault_key", "public_folder"),
            ("vault_key", "staging_folder"),
        ):
            place = places[inner]
            if place is not None and lies_within(place, folders[outer]):
                raise SpecError(f"{inner} must lie outside {outer}; it lies inside: choose another")

    @property
    def staging(self) -> Path:
        """Folder in which a release is prepared before it appears, given or by default."""
        return self.staging_folder or self.public_folder.with_name(
            f".{self.public_folder.name}.staging"
        )


def lies_within(path: Path, folder: Path) -> bool:
    """Check whether a path lies in a folder once links are followed."""
    # unlike Path.resolve, realpath also gives an answer for links that lead in a circle
    real, outer = (Path(os.path.realpath(each)) for each in (path, folder))
    return real == outer or outer in real.parents
