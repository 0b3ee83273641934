"""The section ``source``: the file with the confidential table."""

import codecs
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import BaseModel, Field, field_validator, model_validator

from algorithms.errors import SpecError
from expectations.request.fields import STRICT
from expectations.request.sections.wait import WaitSection

SourceKind = Literal[
    "csv",
    "parquet",
]
"""The kinds of source. Each is read by the module of that name in ``tasks.sources``, and is the
ending of its files."""

SOURCE_KINDS: tuple[str, ...] = get_args(SourceKind)
ENDINGS = {f".{kind}": kind for kind in SOURCE_KINDS}

NOT_FOR_FILES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
"""Codecs for names and source code, which Python lists among the character encodings."""


class SourceSection(BaseModel):
    """The confidential table."""

    model_config = STRICT

    path: Path
    """File with the table; a relative path is taken from the folder of the spec, and {period} in it
    stands for the period."""
    format: SourceKind | None = Field(
        default=None,
        description=f"Format of the file, if its ending ({', '.join(ENDINGS)}) does not show it.",
    )
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """Character between two fields of a CSV file."""
    decimal: Literal[".", ","] = "."
    """Decimal mark in a CSV file."""
    encoding: str = "utf-8"
    """Character encoding of a CSV file."""
    wait: WaitSection | None = None
    """How long a run waits for the file; by default it does not wait."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.format is None and self.path.suffix.lower() not in ENDINGS:
            raise SpecError(
                f"path must end in {' or '.join(ENDINGS)}, or format must name the format; got a "
                f"path that ends in {self.path.suffix!r}"
            )
        if "\0" in str(self.path):
            raise SpecError("path must be the name of a file; it contains a NUL character")
        if not self.delimiter.isascii() or self.delimiter in '\0\r\n"':
            raise SpecError(
                "delimiter must be an ASCII character other than a quote or a line end; got "
                f"{self.delimiter!r}"
            )
        if self.delimiter == self.decimal:
            raise SpecError(f"delimiter and decimal must differ; both are {self.decimal!r}")
        return self

    @field_validator("wait")
    @classmethod
    def _waits_for_no_rows(cls, wait: WaitSection | None) -> WaitSection | None:
        if wait is not None and wait.rows is not None:
            raise SpecError("rows is about the rows of a query; the source is a file: leave it out")
        return wait

    @field_validator("encoding")
    @classmethod
    def _encodes_files(cls, encoding: str) -> str:
        try:
            "".encode(encoding)
            known = codecs.lookup(encoding).name not in NOT_FOR_FILES
        except (LookupError, ValueError):
            known = False
        if not known:
            raise SpecError(
                "must be a character encoding of files, such as utf-8, latin-1 or cp1252; got "
                f"{encoding!r}"
            )
        return encoding

    @property
    def kind(self) -> str:
        """Format of the file, as given or else by its ending."""
        return self.format or ENDINGS[self.path.suffix.lower()]
