"""Unpacks compressed files, and tells files of different kinds apart by their first bytes."""

import codecs
import io

import pyarrow as pa

from algorithms.errors import DataError

TEXT = "a text file, such as CSV"
FIRST_BYTES = {
    b"PAR1": "a Parquet file",
    b"PARE": "an encrypted Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x1f\x8b": "compressed with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\0": "compressed with xz",
    b"PK\x03\x04": "a ZIP archive, as Excel files are",
    b"\xd0\xcf\x11\xe0": "an Excel file in the old format or with a password",
    b"<stata_dta>": "a Stata file",
    b"$FL2": "an SPSS file",
    b"$FL3": "an SPSS file",
    b"HEADER RECORD*******LIB": "a SAS file",
    b"\0" * 12 + b"\xc2\xea\x81\x60": "a SAS file",
}
"""Kinds of file that are often confused, by their first bytes."""
CHUNK = 2**24
"""Number of bytes that are unpacked at a time."""
HEAD = 65_536
"""Number of bytes that show whether a file is text."""

ALWAYS_ALLOWED = 2**28
"""Number of bytes to which any file may grow."""
MOST_EXPANSION = 200
"""Number of times its size to which a larger file may grow; tables rarely grow fifty times."""


def unpacked(content: bytes, compression: str) -> bytes:
    """Unpack a compressed file.

    Raises
    ------
    DataError
        If it is not compressed in this way, is damaged, or grows too much.
    """
    kind = kind_by_content(content)
    if kind not in (None, f"compressed with {compression}"):
        raise DataError(
            f"the source must be compressed with {compression}, as its name says; it is {kind}: "
            "correct source.path"
        )
    result = io.BytesIO()
    try:
        with pa.input_stream(pa.BufferReader(content), compression=compression) as stream:
            while chunk := stream.read(CHUNK):
                result.write(chunk)
                check_growth(result.tell(), len(content))
    except (pa.ArrowException, OSError):
        raise DataError(
            f"the source must be compressed with {compression}, but cannot be unpacked: it may be "
            "damaged or incomplete"
        ) from None
    return result.getvalue()


def check_growth(unpacked: int, packed: int) -> None:
    """Check that a file does not grow too much when it is unpacked.

    Raises
    ------
    DataError
        If its bytes are too many.
    """
    if unpacked > max(ALWAYS_ALLOWED, MOST_EXPANSION * packed):
        raise DataError(
            f"the source must not grow to more than {MOST_EXPANSION} times its size when it is "
            "unpacked; it does: unpack it yourself if it is the right file"
        )


def kind_by_content(content: bytes) -> str | None:
    """Tell the kind of a file by its first bytes; None if they do not show it."""
    kinds = (kind for start, kind in FIRST_BYTES.items() if content.startswith(start))
    return TEXT if _is_text(content) else next(kinds, None)


def _is_text(content: bytes) -> bool:
    try:
        # unlike bytes.decode, this accepts a character that is cut in two at the end
        return "\0" not in codecs.getincrementaldecoder("utf-8")().decode(content[:HEAD])
    except UnicodeDecodeError:
        return False
