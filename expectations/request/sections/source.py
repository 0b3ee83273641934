"""The section ``source``: the file with the confidential table."""

import codecs
import math
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from algorithms.errors import SpecError
from expectations.request.fields import STRICT
from expectations.request.sections.wait import WaitSection

SourceKind = Literal[
    "csv",
    "parquet",
    "stata",
    "spss",
    "sas",
    "excel",
]
"""The kinds of file. Each is read by the module of that name in ``tasks.sources``."""

SOURCE_KINDS: tuple[str, ...] = get_args(SourceKind)
OTHER_ENDINGS = {
    "stata": (".dta",),
    "spss": (".sav", ".zsav", ".por"),
    "sas": (".sas7bdat", ".xpt"),
    "excel": (".xlsx",),
}
"""The endings of files, for kinds whose name is not the ending."""
ENDINGS = {
    ending: kind for kind in SOURCE_KINDS for ending in OTHER_ENDINGS.get(kind, (f".{kind}",))
}
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
"""Endings that may follow any of them, and what unpacks such a file."""
OTHER_SHEETS = (".xls", ".xlsb", ".xlsm", ".ods")
"""Endings of spreadsheets that are not read."""

WITH_LABELS = ("stata", "spss", "sas")
ABOUT = {
    "delimiter": ("csv",),
    "decimal": ("csv",),
    "encoding": ("csv", *WITH_LABELS),
    "codes": WITH_LABELS,
    "sheet": ("excel",),
}
"""The kinds of file that a key is about."""

NOT_FOR_FILES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
"""Codecs for names and source code, which Python lists among the character encodings."""


def _code(code: object) -> object:
    """Refuse a code that YAML reads neither as text nor as a number."""
    if isinstance(code, bool) or not isinstance(code, str | int | float):
        found = str(code).lower() if isinstance(code, bool) else "nothing that a cell can hold"
        raise SpecError(
            f"a code must be text or a number, and YAML reads this one as {found}: quote it"
        )
    if isinstance(code, float) and not math.isfinite(code):
        raise SpecError("a code must be text or a finite number; this one is not finite: quote it")
    return code


MissingCode = Annotated[
    str | int | float, Field(union_mode="left_to_right"), BeforeValidator(_code)
]


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
    """Character encoding of a CSV file, or of a Stata, SPSS or SAS file that states a wrong one or
    none."""
    sheet: str | None = Field(default=None, min_length=1)
    """Sheet of an Excel file that has several."""
    codes: tuple[str, ...] = ()
    """Columns of a Stata, SPSS or SAS file that are read as codes, without their value labels."""
    missing_codes: dict[str, Annotated[tuple[MissingCode, ...], Field(min_length=1)]] = {}
    """Values of a column that mean missing, as numbers or text."""
    wait: WaitSection | None = None
    """How long a run waits for the file; by default it does not wait."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.format is None and self._ending not in ENDINGS:
            save_as = ": save the sheet as .xlsx" if self._ending in OTHER_SHEETS else ""
            raise SpecError(
                f"path must end in {', '.join(ENDINGS)}, each also with {' or '.join(COMPRESSED)}, "
                f"or format must name the format; got a path that ends in {self._ending!r}{save_as}"
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
        for key, kinds in ABOUT.items():
            if (
                self.kind not in kinds
                and getattr(self, key) != type(self).model_fields[key].default
            ):
                raise SpecError(
                    f"{key} is about files of kind {', '.join(kinds)}; this file is of kind "
                    f"{self.kind}: leave it out"
                )
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
        return self.format or ENDINGS[self._ending]

    @property
    def compression(self) -> str | None:
        """What unpacks the file, by its ending; None if it is not compressed."""
        return COMPRESSED.get(self.path.suffix.lower())

    @property
    def _ending(self) -> str:
        """The ending that shows the kind of file."""
        path = self.path.with_suffix("") if self.compression else self.path
        return path.suffix.lower()
