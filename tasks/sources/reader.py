"""The contract of a kind of source."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from expectations.request.spec import ReleaseSpec


@dataclass(frozen=True)
class Reader:
    """A kind of source.

    Attributes
    ----------
    file : str
        Name of such a file in messages, such as "a CSV file".
    is_text : bool
        Whether such a file is text.
    read : callable
        Reads the bytes of the file that a spec names. It raises `DataError` if they cannot be read,
        and never quotes them: the readers of Arrow and Python quote the line that they cannot read.
    """

    file: str
    is_text: bool
    read: Callable[[bytes, ReleaseSpec], pa.Table]
