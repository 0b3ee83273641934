"""Decodes files in a process of its own, which may crash on a damaged file."""

import codecs
import json
import os
import subprocess
import sys
from collections.abc import Callable

import pyarrow.ipc

from algorithms.errors import ContractError
from expectations.request.sections.source import SourceSection
from tasks.sources import readstat
from tasks.sources.reader import Decoded, unreadable

FOR_IMPORTS = ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH")
"""Variables that the program gets; passwords of databases and servers stand in others, and a file
may be made to take the program over."""


def apart(kind: str, file: str) -> Callable[[bytes, SourceSection], Decoded]:
    """Give a function that lets the program `tasks.sources.readstat` decode a file.

    The file and its table travel through pipes and are never written to disk.

    Parameters
    ----------
    kind : str
        The kind of file, as the program names it.
    file : str
        Name of such a file in messages.
    """

    def read(content: bytes, source: SourceSection) -> Decoded:
        # a file states its encoding, unless the spec does
        stated = "encoding" in source.model_fields_set
        name = codecs.lookup(source.encoding).name.upper().removesuffix("-SIG")
        encoding = name if stated else ""
        with subprocess.Popen(
            # the folder of the program is no place for imports: it has a module called csv
            [sys.executable, "-P", readstat.__file__, kind, encoding],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # messages may quote a cell
            env={name: os.environ[name] for name in FOR_IMPORTS if name in os.environ},
        ) as process:
            output, _ = process.communicate(content)
        # the code of a process that crashed is negative
        if process.returncode < 0 or process.returncode == readstat.UNREADABLE:
            raise unreadable(file)
        if process.returncode:
            raise ContractError("the program that decodes the source could not be started")
        table = pyarrow.ipc.open_stream(output).read_all()
        labels, missing = json.loads(table.schema.metadata[readstat.METADATA])
        return Decoded(
            table.replace_schema_metadata(None),
            labels={column: dict(pairs) for column, pairs in labels},
            missing=missing,
        )

    return read
