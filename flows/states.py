"""Names of the states in which runs end, as the Prefect UI shows them."""

from algorithms.errors import (
    ContractError,
    DataError,
    IntegrityError,
    RefusedError,
    RejectedError,
    ReleaseError,
    SpecError,
    StorageError,
)

PUBLISHED, SEALED, APPROVED = "Published", "Sealed", "Approved"
EXPLORED, VERIFIED = "Explored", "Verified"
WAITING = "Waits for a reviewer"
"""Shown while a run is paused."""
WAITING_FOR_SOURCE = "Waiting for its source"
"""The state of a run whose source is not there yet."""

ERRORS: dict[type[ReleaseError], str] = {
    ReleaseError: "Failed",
    SpecError: "Misspecified",
    DataError: "Invalid",
    RefusedError: "Blocked",
    RejectedError: "Rejected",
    IntegrityError: "Corrupt",
    StorageError: "Inaccessible",
    ContractError: "Broken",
}


def state_name(error: ReleaseError) -> str:
    """Name the state of a run that an error ended."""
    return ERRORS[type(error)]
