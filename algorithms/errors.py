"""All errors of the product.

A message gives the rule, then the fault, then the remedy. It may name parameters, columns and
counts, but never a cell: messages travel to logs, databases and screens.
"""


class ReleaseError(Exception):
    """Any fault that prevents a release from being published.

    The command line exits with its ``exit_code``.
    """

    exit_code = 1


class SpecError(ReleaseError, ValueError):
    """The spec is invalid."""

    exit_code = 10


class DataError(ReleaseError, ValueError):
    """The input does not match the spec."""

    exit_code = 11


class RefusedError(ReleaseError):
    """The gate refuses: a measure breaks its limit, or the period is already published."""

    exit_code = 12


class RejectedError(ReleaseError):
    """A reviewer rejected the release, or nobody decided in time."""

    exit_code = 15


class IntegrityError(ReleaseError):
    """Published files or the register do not match their own description."""

    exit_code = 13


class StorageError(ReleaseError):
    """A file or folder cannot be read or written."""

    exit_code = 14


class ContractError(ReleaseError):
    """The code violates its own contract: a bug."""

    exit_code = 70
