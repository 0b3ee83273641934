"""The contract of a database engine."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa
from pydantic import SecretStr

from expectations.request.query import Query


@dataclass(frozen=True)
class Snapshot:
    """A database in an open transaction that writes nothing and sees no later change.

    Attributes
    ----------
    version : str
        Version of the engine.
    time : str
        Time of the snapshot, by the clock of the database, in UTC.
    read : callable
        Reads a query with the period of the run. Names may repeat, and values have the types that
        the driver gives them.
    """

    version: str
    time: str
    read: Callable[[Query, str], pa.Table]


@dataclass(frozen=True)
class Engine:
    """A kind of database.

    Attributes
    ----------
    name : str
        For people.
    opens : callable
        Whether an address is one of this engine.
    snapshot : callable
        Opens a snapshot on an address, and closes the connection at the end. Errors of the driver
        pass through: `tasks.sources.databases.faults` puts a sentence in their place.
    """

    name: str
    opens: Callable[[SecretStr], bool]
    snapshot: Callable[[SecretStr], AbstractContextManager[Snapshot]]
