"""People who use the desk, and their roles."""

from dataclasses import dataclass

ENGINEER, REVIEWER, AUDITOR, ADMINISTRATOR = "engineer", "reviewer", "auditor", "administrator"
ROLES = (ENGINEER, REVIEWER, AUDITOR, ADMINISTRATOR)
"""All roles. No role includes another: an administrator who also reviews has both."""


@dataclass(frozen=True)
class User:
    """A person who may log in.

    Attributes
    ----------
    login : str
        Name by which the person logs in; it never changes.
    name : str
        Name as pages and the register show it.
    roles : frozenset of str
        Some of `ROLES`.
    key : str
        Ed25519 public key of a reviewer as PEM text, or empty.
    """

    login: str
    name: str
    roles: frozenset[str]
    key: str = ""

    def may(self, *roles: str) -> bool:
        """Return whether the person has any of these roles; if none is given, anyone may.

        Examples
        --------
        >>> anna = User("anna", "Anna", frozenset({REVIEWER}))
        >>> anna.may(ENGINEER, REVIEWER), anna.may(ADMINISTRATOR), anna.may()
        (True, False, True)
        """
        return not roles or not self.roles.isdisjoint(roles)
