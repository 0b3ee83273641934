"""The contract of a kind of file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from algorithms.errors import DataError
from expectations.published.files import OpenFile
from expectations.request.sections.source import SourceSection

Code = str | float
"""A value of a column that stands for something else."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """A file as its reader decodes it, with codes as they are.

    Attributes
    ----------
    table : pyarrow.Table
        All columns; names may repeat.
    written : tuple of str
        Columns whose cells are given as text although they may be numbers.
    labels : mapping of str to mapping of codes to labels
        The value labels that the file declares, by column.
    missing : mapping of str to int
        Number of cells that are missing because the file declares their code to be, by column.
    """

    table: pa.Table
    written: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reader:
    """A kind of file.

    Attributes
    ----------
    file : str
        Name of such a file in messages, such as "a CSV file".
    is_text : bool
        Whether such a file is text.
    read : callable
        Decodes the bytes of a file. It raises `DataError` if they cannot be read, and never quotes
        them: many readers of files quote the line that they cannot read.
    stream : callable, optional
        Decodes a file that is open, without reading all of its bytes into memory first.
    starts : bytes, optional
        Regular expression of the first bytes of such a file, if they show its kind.
    """

    file: str
    is_text: bool
    read: Callable[[bytes, SourceSection], Decoded]
    stream: Callable[[OpenFile, SourceSection], Decoded] | None = None
    starts: bytes | None = None


def unreadable(file: str) -> DataError:
    """Make the error of a file that cannot be read, such as "a Parquet file"."""
    return DataError(
        f"the source must be {file}, but cannot be read as one: it may be damaged or incomplete"
    )
