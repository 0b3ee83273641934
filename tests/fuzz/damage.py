"""Tables and specs with sentinels in them, and what can go wrong with files."""

import io
import random
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

SENTINEL = "SENTINEL"
"""Stands in every record; in no name that a spec gives."""

WHOLE, REAL = 7654321987, 8877665.44
"""A record's own numbers, which averages over groups do not show."""

NAMES = ("id", "zone", "staff", "sales", "score")
ODD_NAMES = (
    "self", "count_all", "index", "level_0", "columns", "frame", " ", "a\nb", "x" * 5000, "None",
    "0", "k", "column", "$PARAMETER", "__index_level_0__", 'x"y', "é", "size", "name", "\t",
    "id,x", "dtype", "values", "unexpected_count", "<b>", "a|b", "%s", "{}",
)  # fmt: skip

ODD_CELLS = (
    "inf", "-inf", "nan", "NaN", "", " ", '""', "1e300", "-1e300", "1e308", "1e309", "1e-320",
    "5e-324", "-0", "-0.0", "0", "5.0", "1e18", "1e19", "9007199254740993", "-9007199254740993.5",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    "99999999999999999999999", "1e-99999999999999999999", "1e99999999999999999999",
    "0e99999999999999999999", "0x1F", "1_000", "1,5", "1.5", "+3", ".5", "5.",
    "1.0000000000000000000000001", "0.1234567890123456789", "007", "2026-01-01", "true", "None",
    "NULL", "NA", "\0", "\ufeff", "é", "\u0661", "1 000", "1e", "--1", f"{SENTINEL}CELL",
    str(WHOLE), str(REAL), "x" * 100_000, "1" * 400, "0." + "0" * 400 + "1",
)  # fmt: skip

NUMBERS = [cell for cell in ODD_CELLS if cell[:1] in "-.0123456789" and len(cell) < 30]

Rows = list[list[str]]
Damage = Callable[[random.Random, bytes], bytes]


def rows_of(rng: random.Random, n: int) -> Rows:
    """Draw records; many share a value, and some are equal."""
    rows = []
    for i in range(n):
        staff = rng.choice([str(rng.randrange(5)), str(rng.randrange(10**6)), str(WHOLE)])
        sales = rng.choice([f"{rng.random() * 100:.2f}", str(rng.randrange(9)), str(REAL)])
        score = rng.choice([f"{SENTINEL}SCORE{i}", str(i), "", f"{rng.random():.3f}"])
        rows.append(
            [f"{SENTINEL}PERSON{i}", rng.choice(["n", "s", f"{SENTINEL}ZONE"]), staff, sales, score]
        )
    return rows


def spoil_cells(rng: random.Random, rows: Rows) -> None:
    """Put odd values into cells or whole columns."""
    for _ in range(rng.choice([0, 0, 0, 1, 1, 3])):
        column, cell = rng.randrange(5), rng.choice(ODD_CELLS)
        if rng.random() < 0.6:
            column, cell = rng.choice([2, 3]), rng.choice(NUMBERS)
        for row in rows if rng.random() < 0.3 else [rng.choice(rows)]:
            row[column] = cell
    if rng.random() < 0.05:
        for row in rows:
            row[3] = row[4] = row[2]


def flip(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content))
    return (
        content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
    )


def delete(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content))
    return content[:place] + content[place + rng.choice([1, 1, 2, 10, 50]) :]


def insert(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.randbytes(rng.choice([1, 1, 3, 20])) + content[place:]


def truncate(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


MARKS = (b'"', b'""', b",", b";", b"\n", b"\r", b"\r\n", b"\0", b"\xef\xbb\xbf", b"'", b"\\")


def put_mark(rng: random.Random, content: bytes) -> bytes:
    """Put in a quote, delimiter, line end or the like, early as often as late."""
    end = rng.choice([len(content), min(len(content), 40)])
    place = rng.randrange(end + 1)
    mark = rng.choice(
        [b'"', b'""', b",", b";", b"\n", b"\r", b"\r\n", b"\0", b"\xef\xbb\xbf", b"'", b"\\"]
    )
    return content[:place] + mark + content[place + rng.randrange(2) :]


def lose_mark(rng: random.Random, content: bytes) -> bytes:
    """Take one line end or delimiter away, the first of them half of the time."""
    mark = rng.choice([b"\n", b",", b'"'])
    places = [i for i in range(len(content)) if content[i : i + 1] == mark]
    if not places:
        return content
    place = rng.choice([places[0], rng.choice(places)])
    return content[:place] + content[place + 1 :]


def change_lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[place]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines.insert(0, b"")
        case 4:
            del lines[0]
        case 5:
            return content.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\n", b"\n ", b""]))
    return b"\n".join(lines)


def recode(rng: random.Random, content: bytes) -> bytes:
    text = content.decode("latin-1")
    encoding = rng.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7", "cp037"])
    return text.encode(encoding, errors="replace")


CSV_DAMAGE: tuple[Damage, ...] = (
    flip, flip, delete, insert, truncate, put_mark, put_mark, lose_mark, lose_mark, change_lines,
    change_lines, recode,
)  # fmt: skip
BYTE_DAMAGE: tuple[Damage, ...] = (flip, flip, flip, delete, insert, truncate)


def damaged(rng: random.Random, content: bytes, ways: tuple[Damage, ...]) -> bytes:
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 4])):
        if content:
            content = rng.choice(ways)(rng, content)
    return content


def csv_of(names: list[str], rows: Rows, delimiter: str = ",") -> bytes:
    def field(text: str) -> str:
        quoted = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
        return f'"{text.replace(chr(34), chr(34) * 2)}"' if quoted else text

    lines = [delimiter.join(map(field, row)) for row in [names, *rows]]
    return ("\n".join(lines) + "\n").encode("utf-8", errors="surrogatepass")


def parquet_of(rng: random.Random, names: list[str], rows: Rows) -> bytes:
    """Write records with types that are as odd as Parquet allows."""
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    n = len(rows)
    columns[2] = _numbers(rng, n)
    columns[3] = _numbers(rng, n)
    columns[4] = _anything(rng, n)
    if rng.random() < 0.2:
        columns[1] = _anything(rng, n)
    if rng.random() < 0.1:
        columns[0] = pa.array(range(n))
    table = pa.table([pa.array(column) for column in columns], names=names)
    if rng.random() < 0.05:
        table = table.append_column(rng.choice([f"{SENTINEL}NAME", names[0]]), _anything(rng, n))
    if rng.random() < 0.05:
        table = table.slice(0, rng.randrange(4))
    if rng.random() < 0.05:
        table = table.replace_schema_metadata({"pandas": rng.choice(["{}", "x", f"{SENTINEL}"])})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(
        table,
        buffer,
        compression=rng.choice(["none", "snappy"]),
        row_group_size=rng.choice([3, 1000]),
    )
    return buffer.getvalue()


def _numbers(rng: random.Random, n: int) -> pa.Array:
    whole = [rng.choice([rng.randrange(9), rng.randrange(10**5), WHOLE]) for _ in range(n)]
    big = [rng.choice([2**53 + 1, 2**63 - 1, -(2**63), 2**62, 5]) for _ in range(n)]
    real = [rng.choice([REAL, rng.random(), float(rng.randrange(9)), -0.0]) for _ in range(n)]
    odd = [rng.choice([1e300, 1e-320, float("nan"), float("inf"), 1e308, 0.5]) for _ in range(n)]
    match rng.choice([0, 0, 0, 0, 3, 3, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13]):
        case 0:
            return pa.array(whole)
        case 3:
            return pa.array(real)
        case 5:
            return pa.array(big, pa.int64())
        case 6:
            return pa.array([abs(value) * 2 for value in whole], pa.uint64())
        case 7:
            return pa.array([rng.choice([2**64 - 1, 2**63, 7]) for _ in range(n)], pa.uint64())
        case 8:
            return pa.array(
                [Decimal(value) for value in big], pa.decimal128(38, rng.choice([0, 2]))
            )
        case 9:
            return pa.array([Decimal(f"{value:.2f}") for value in real], pa.decimal128(20, 2))
        case 10:
            return pa.array(np.array([value % 100 for value in whole], dtype=np.float16))
        case 11:
            return pa.array(real, pa.float32())
        case 12:
            return pa.array(odd)
        case _:
            return pa.array([1e300 if rng.random() < 0.5 else 7.0] * n)


def _anything(rng: random.Random, n: int) -> pa.Array:
    text = [rng.choice([f"{SENTINEL}{i}", "x", None]) for i in range(n)]
    days = [rng.choice([-800_000, 0, 20_000, 4_000_000]) for _ in range(n)]
    times = [rng.choice([-(10**11), 0, 10**9, 10**15]) for _ in range(n)]
    choices: list[Callable[[], pa.Array]] = [
        lambda: pa.array(text),
        lambda: pa.array(text, pa.string()).dictionary_encode(),
        lambda: pa.array(text, pa.large_string()),
        lambda: pa.array([[word] for word in text]),
        lambda: pa.array([{SENTINEL: word} for word in text]),
        lambda: pa.array([None] * n),
        lambda: pa.array([rng.choice([True, False, None]) for _ in range(n)]),
        lambda: pa.array(days, pa.int32()).cast(pa.date32()),
        lambda: pa.array(times, pa.timestamp(rng.choice(["s", "ms", "us", "ns"]))),
        lambda: pa.array(
            [datetime(2026, 1, 1 + i % 28) for i in range(n)], pa.timestamp("s", "UTC")
        ),
        lambda: pa.array([date(2026, 1, 1 + i % 28) for i in range(n)]),
        lambda: pa.array([(word or "").encode() for word in text]),
        lambda: pa.array(days, pa.time32("s")),
        lambda: pa.array(days, pa.duration("s")),
        lambda: _numbers(rng, n),
        lambda: _numbers(rng, n),
    ]
    can_be_published = [*choices[:3], *choices[5:7], choices[10], *choices[14:]]
    return rng.choice(can_be_published if rng.random() < 0.7 else choices)()


SPEC_VALUES = (
    "2026-13-45", "2026-11-01", "!!int abc", "!!float x", "!!bool maybe", "!!timestamp x",
    "!!binary x", "!!python/object/apply:os.system [ls]", "!!set {a, b}", "!!null x", "!!str 5",
    "[a, b]", "{a: b}", "? [a]\n: b", "{[a]: b}", "{{a: 1}: 2}", "&a [*a]", "*nothing", "<<",
    "{<<: 5}", "[" * 2000, "{a: " * 2000, ".inf", "-.inf", ".nan", "1e999", "9" * 30, "9" * 5000,
    "-1", "0", "2.5", "~", "true", "yes", '"\\0"', '"a\\0b"', '"\\ud800"', '"\\x07"', "'", '"',
    "\t- x", "%YAML 9", "---\na: 1", "...", "!x y", "x" * 5000, "é", '"\\u202e"', "1:30", "0o17",
    "017", "1_0", "=", "| x", ">\n  x", "§", "\\t", "punycode", "idna", "base64", "rot13", "zlib",
    "utf-16", "utf-7", "undefined", "unicode_escape", "mbcs", "hex", "csv", "parquet", "a/b/c",
    "..", "/", "/dev/null", "'{period}'", "''", "' '",
)  # fmt: skip


def spoiled_spec(rng: random.Random, text: str) -> bytes:
    """Put odd values into a spec, and damage its bytes now and then."""
    lines = text.splitlines()
    for _ in range(rng.choice([1, 1, 2, 3])):
        place = rng.randrange(len(lines))
        key, colon, _ = lines[place].partition(":")
        match rng.randrange(8):
            case 0 | 1 | 2 | 3:
                lines[place] = f"{key}{colon or ':'} {rng.choice(SPEC_VALUES)}"
            case 4:
                lines.insert(place, f"{' ' * rng.choice([0, 2, 4])}{rng.choice(SPEC_VALUES)}: 1")
            case 5:
                lines.insert(rng.randrange(len(lines)), lines[place])
            case 6:
                del lines[place]
                lines = lines or ["x"]
            case 7:
                lines[place] = rng.choice(["  ", "\t", "", "- "]) + lines[place]
    content = "\n".join(lines).encode("utf-8", errors="surrogatepass")
    return damaged(rng, content, BYTE_DAMAGE) if rng.random() < 0.3 else content
