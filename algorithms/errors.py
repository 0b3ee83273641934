"""The whole error hierarchy.

A message says what must hold, then what was found, then what to do. It may name parameters,
columns and counts, never a cell: messages travel to logs, databases and screens.
"""


class ReleaseError(Exception):
    """Anything that keeps a release from being published.

    The command line ends with its ``exit_code``.
    """

    exit_code = 1


class SpecError(ReleaseError, ValueError):
    """The request is wrong."""

    exit_code = 10


class DataError(ReleaseError):
    """The input is not what the request says it is."""

    exit_code = 11


class RefusedError(ReleaseError):
    """The gate says no: a measure is over its ceiling, or the period is already published."""

    exit_code = 12


class RejectedError(ReleaseError):
    """A reviewer said no, or nobody answered in time."""

    exit_code = 15


class IntegrityError(ReleaseError):
    """Published files or the register are not what they claim to be."""

    exit_code = 13


class StorageError(ReleaseError):
    """A file or folder cannot be read or written."""

    exit_code = 14


class ContractError(ReleaseError):
    """The code itself is at fault."""

    exit_code = 70
