"""The pages of the desk that every page leads to."""

from typing import NamedTuple

from flows.desk.user import ADMINISTRATOR, AUDITOR, ENGINEER, REVIEWER, User


class Entry(NamedTuple):
    """A page in the navigation, and the roles that may see it; any role if there is none."""

    title: str
    path: str
    roles: tuple[str, ...] = ()


NAVIGATION = (
    Entry("Datasets", "/datasets"),
    Entry("Review", "/review", (REVIEWER, AUDITOR)),
    Entry("Register", "/register", (ENGINEER, REVIEWER, AUDITOR)),
    Entry("Audit", "/audit", (ENGINEER, AUDITOR, ADMINISTRATOR)),
    Entry("Health", "/health", (ENGINEER, AUDITOR, ADMINISTRATOR)),
    Entry("Users", "/users", (ADMINISTRATOR,)),
)


def navigation(user: User | None) -> list[Entry]:
    """List the pages that a user may see."""
    return [entry for entry in NAVIGATION if user and user.may(*entry.roles)]
