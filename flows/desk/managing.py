"""Adds, changes and removes users."""

from collections.abc import Iterable

from algorithms.errors import RefusedError, ReleaseError
from flows.desk.passwords import LEAST_CHARACTERS, MOST_CHARACTERS, hashed
from flows.desk.user import User
from flows.desk.users import Account, Users, login_fault, name_fault


def add(users: Users, user: User, password: str | None) -> None:
    """Add a user; without a password, only a trusted proxy can name the user.

    Raises
    ------
    RefusedError
        If the login is taken.
    ReleaseError
        If login, name or password is not valid.
    StorageError
        If the file of users cannot be read or written, or is faulty.
    """
    check_free(users, user.login)
    _check(name_fault(user.name))
    password_hash = _hashed(user.login, password)
    with users.changing() as accounts:
        if user.login in accounts:
            raise _taken(user.login)
        accounts[user.login] = Account(user, password_hash)


def change(
    users: Users,
    login: str,
    *,
    name: str | None = None,
    roles: Iterable[str] | None = None,
    key: str | None = None,
) -> None:
    """Give a user another name, other roles or another key; None leaves them as they are.

    Raises
    ------
    RefusedError
        If there is no such user.
    ReleaseError
        If the name is not valid.
    StorageError
        If the file of users cannot be read or written, or is faulty.
    """
    if name is not None:
        _check(name_fault(name))
    with users.changing() as accounts:
        account = _existing(accounts.get(login), login)
        user = User(
            login,
            account.user.name if name is None else name,
            account.user.roles if roles is None else frozenset(roles),
            account.user.key if key is None else key,
        )
        accounts[login] = Account(user, account.password)


def set_password(users: Users, login: str, password: str | None) -> None:
    """Give a user another password, or none; sessions of the user end.

    Raises
    ------
    RefusedError
        If there is no such user.
    ReleaseError
        If the password is not valid.
    StorageError
        If the file of users cannot be read or written, or is faulty.
    """
    check_known(users, login)
    password_hash = _hashed(login, password)
    with users.changing() as accounts:
        account = _existing(accounts.get(login), login)
        accounts[login] = Account(account.user, password_hash)


def remove(users: Users, login: str) -> None:
    """Remove a user, whose sessions end.

    Raises
    ------
    RefusedError
        If there is no such user.
    StorageError
        If the file of users cannot be read or written, or is faulty.
    """
    with users.changing() as accounts:
        _existing(accounts.get(login), login)
        del accounts[login]


def check_free(users: Users, login: str) -> None:
    """Check that a login is valid and not taken.

    Raises
    ------
    RefusedError
        If it is taken.
    ReleaseError
        If it is not valid.
    """
    _check(login_fault(login))
    if login in users.accounts():
        raise _taken(login)


def check_known(users: Users, login: str) -> None:
    """Check that there is a user with this login.

    Raises
    ------
    RefusedError
        If there is none.
    """
    _existing(users.accounts().get(login), login)


def password_fault(login: str, password: str) -> str:
    """Say what is wrong with a new password; empty if nothing is.

    Examples
    --------
    >>> password_fault("anna", "hunter2")
    'a password must have at least 12 characters; this one has 7: a few random words are good'
    """
    if len(password) < LEAST_CHARACTERS:
        return (
            f"a password must have at least {LEAST_CHARACTERS} characters; this one has "
            f"{len(password)}: a few random words are good"
        )
    if len(password) > MOST_CHARACTERS:
        return (
            f"a password must have at most {MOST_CHARACTERS} characters; this one has "
            f"{len(password)}: shorten it"
        )
    if len(set(password)) < 5 or password.lower().replace(login, "") == "":
        return (
            "a password must not be easy to guess; this one repeats a few characters or the "
            "login: a few random words are good"
        )
    return ""


def _hashed(login: str, password: str | None) -> str:
    if password is None:
        return ""
    _check(password_fault(login, password))
    return hashed(password)


def _check(fault: str) -> None:
    if fault:
        raise ReleaseError(fault)


def _existing(account: Account | None, login: str) -> Account:
    if account is None:
        raise RefusedError(
            f"only an existing user can be changed; none has the login {login!r}: see "
            "`microrelease users list`"
        )
    return account


def _taken(login: str) -> RefusedError:
    return RefusedError(
        f"each user needs a login of their own; {login!r} is taken: choose another, or use "
        "`microrelease users change`"
    )
