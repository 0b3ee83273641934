"""Numbers are read exactly or refused, and averages are written with the decimals of the source."""

import random
from collections import Counter
from decimal import Decimal, InvalidOperation
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.attributes import Number
from algorithms.errors import DataError
from algorithms.rounding.centroids import decimal_centroids, integer_centroids, to_places
from algorithms.rounding.grid import grid_of
from algorithms.standardisation import scale_of
from algorithms.types import Partition
from expectations import numbers
from expectations.published.claims import Kind
from expectations.published.verifier import verify
from tasks.ingest import ingest
from tasks.publish import publish
from tasks.validate import validate
from tests.conftest import Request
from tests.publishing import candidate

LARGE = 9007199254740993
"""2**53 + 1, which no 64-bit real number is."""


def text(*values: str | None) -> pa.Array:
    return pa.array(values, pa.string())


ONE_GROUP = Partition(np.zeros(3, dtype=np.int64), k=3)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (text(str(LARGE), "5.0"), [LARGE, 5]),
        (text(f"{LARGE}.000", "+5"), [LARGE, 5]),
        (text("1e18", "1.5E1"), [10**18, 15]),
        (text("9223372036854775807", "-9223372036854775808"), [2**63 - 1, -(2**63)]),
        (text("0000000000000000000000007", ".0"), [7, 0]),
        (text("0e99", " 7 "), [0, 7]),
        (pa.array([Decimal(LARGE), Decimal(5)], pa.decimal128(38, 0)), [LARGE, 5]),
        (pa.array([Decimal(LARGE), Decimal(5)], pa.decimal128(38, 3)), [LARGE, 5]),
        (pa.array([LARGE, 5], pa.uint64()), [LARGE, 5]),
        (pa.array([LARGE, -(2**63)], pa.int64()), [LARGE, -(2**63)]),
        (pa.array([2.0**53 - 1, -3.0], pa.float64()), [2**53 - 1, -3]),
    ],
)
def test_whole_numbers_are_read_to_the_last_digit(values: pa.Array, expected: list[int]) -> None:
    assert numbers.is_whole(values).all()
    assert numbers.to_integers(values).tolist() == expected


@pytest.mark.parametrize(
    "values",
    [
        text("9223372036854775808"),
        text("-9223372036854775809"),
        text("9007199254740993.5"),
        text("1e19"),
        text("1e300"),
        text("1e-99999999999999999999"),
        text("0.5"),
        text(None),
        pa.array([Decimal(2**63)], pa.decimal128(38, 0)),
        pa.array([Decimal("0.5")], pa.decimal128(38, 1)),
        pa.array([2**63], pa.uint64()),
        pa.array([None], pa.uint64()),
        pa.array([2.0**53], pa.float64()),
        pa.array([0.5], pa.float64()),
        pa.array([True], pa.bool_()),
    ],
)
def test_what_is_no_whole_number_of_64_bits_is_not_taken_for_one(values: pa.Array) -> None:
    assert not numbers.is_whole(values).any()


def test_large_numbers_with_many_digits_do_not_pass_as_real() -> None:
    values = text(str(LARGE), "9007199254740994", "6.02214076e23", "0.1234567890123456789", "x")
    assert numbers.is_exact(values).tolist() == [False, True, True, True, True]
    assert numbers.is_exact(pa.array([LARGE, 2**53 + 2], pa.int64())).tolist() == [False, True]
    assert numbers.is_exact(pa.array([1e300], pa.float64())).all()
    large = pa.array([Decimal(LARGE), Decimal("0.1")], pa.decimal128(38, 2))
    assert numbers.is_exact(large).tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "places"),
    [
        (text("12.50", "3", "-0.1"), 2),
        (text("12", "3"), 0),
        (text("1.5e-3", "1E2"), 4),
        (text("1.25e1"), 1),
        (text("1.50000000000000000000", "2"), 1),
        (text("1.2345678901234567"), None),
        (text("0.0000000000000000001"), None),
        (text("1e-99999999999999999999"), None),
        (pa.array([0.1, 2.25], pa.float64()), 2),
        (pa.array([0.1 + 0.2], pa.float64()), None),
        (pa.array([0.1, 2.25], pa.float32()), 2),
        (pa.array([1e300], pa.float64()), 0),
        (pa.array([7], pa.int64()), 0),
        (pa.array([Decimal("1.50")], pa.decimal128(9, 2)), 2),
        (pa.array(np.array([0.5], dtype=np.float16)), 1),
    ],
)
def test_the_decimals_of_a_column_are_those_it_is_written_with(
    values: pa.Array, places: int | None
) -> None:
    assert numbers.places_of(values) == places


def test_sums_of_large_whole_numbers_do_not_wrap() -> None:
    # three of these make 2**62 - 1, and rounding doubles that and adds the size of the group
    values = np.full(3, (2**62 - 1) // 3)
    assert integer_centroids(values, ONE_GROUP).tolist() == values.tolist()
    largest = np.array([2**63 - 1, 2**63 - 1, 2**63 - 2])
    assert integer_centroids(largest, ONE_GROUP).tolist() == [2**63 - 1] * 3
    smallest = np.full(3, -(2**63))
    assert integer_centroids(smallest, ONE_GROUP).tolist() == smallest.tolist()


def test_averages_of_decimals_are_exact() -> None:
    pair = Partition(np.zeros(2, dtype=np.int64), k=2)
    # in floating point this average is 1.00499...
    assert decimal_centroids(np.array([1.0, 1.01]), pair, 2).tolist() == [1.01, 1.01]
    assert decimal_centroids(np.array([0.125, 0.126]), pair, 2).tolist() == [0.13, 0.13]
    assert decimal_centroids(np.array([1e300, 1e300]), pair, 15).tolist() == [1e300, 1e300]
    assert str(decimal_centroids(np.array([-0.001, 0.0]), pair, 2)[0]) == "0.0"


@pytest.mark.parametrize("places", [0, 2, 7, 15])
def test_rounding_twice_is_rounding_once_and_leaves_no_more_decimals(places: int) -> None:
    sizes = np.repeat(10.0 ** np.arange(-3, 20), 200)
    values = np.random.default_rng(places).normal(size=sizes.size) * sizes
    rounded = to_places(values, places)
    assert (to_places(rounded, places) == rounded).all()
    assert numbers.has_places(pa.array(rounded), places).all()
    written = [Decimal(repr(value)).normalize() for value in rounded.tolist()]
    assert all(value.as_tuple().exponent >= -places for value in written)
    assert (np.abs(rounded - values) <= 0.5 / 10.0**places + 2 * np.spacing(np.abs(values))).all()


def test_steps_too_many_to_count_are_not_counted() -> None:
    values = np.array([[-(2.0**63)], [2.0**63], [0.0]])
    assert not grid_of(values, scale_of(values), [0], [True]).whole.any()
    assert grid_of(values / 2**20, scale_of(values), [0], [True]).whole.all()


def release_text(request_of: Request, **sections: Any) -> list[str]:
    """Publish, and read the lines of data.csv."""
    publication = publish.fn(*candidate(request_of, **sections))
    return (publication.folder / "data.csv").read_text(encoding="utf-8").splitlines()


def places_of_sales(request_of: Request, **sections: Any) -> int | None:
    _, sales = candidate(request_of, **sections)[0].published.attributes
    assert isinstance(sales, Number)
    return sales.places


def test_averages_are_published_with_the_decimals_of_the_source(request_of: Request) -> None:
    sales = [5.1, 5.62, 6.2, 90.11, 91.25, 95.5, 99.0]
    rows = [f"{i},z,{i // 3},{value}," for i, value in enumerate(sales)]
    request_of.source.write_text("id,zone,staff,sales,score\n" + "\n".join(rows), encoding="utf-8")
    assert places_of_sales(request_of) == 2
    published = {line.split(",")[1] for line in release_text(request_of)[1:]}
    assert published == {"5.64", "93.97"}
    folder = request_of.public / "small" / "2026-Q3"
    assert "averaged, rounded to 2 decimals" in (folder / "README.md").read_text(encoding="utf-8")
    assert verify(folder).claims.kinds["sales"] == Kind("number", places=2)


def test_declared_decimals_come_before_those_of_the_source(request_of: Request) -> None:
    assert places_of_sales(request_of) == 1
    assert places_of_sales(request_of, columns={"decimals": {"sales": 3}}) == 3


def test_a_source_with_all_digits_is_published_with_all_digits(request_of: Request) -> None:
    content = request_of.source.read_text(encoding="utf-8").replace("10.5", "10.123456789012345")
    request_of.source.write_text(content, encoding="utf-8")
    assert places_of_sales(request_of) is None
    masked = candidate(request_of)[0]
    assert not numbers.has_places(pa.array(masked.published.keys[1]), 10).all()


def test_large_whole_numbers_are_published_to_the_last_digit(request_of: Request) -> None:
    rows = [f"{i},z,{LARGE},1,{LARGE}" for i in range(3)]
    rows += [f"{i},z,5.0,1,5.0" for i in range(3, 6)]
    request_of.source.write_text("id,zone,staff,sales,score\n" + "\n".join(rows), encoding="utf-8")
    assert release_text(request_of)[1:] == ['5,1,"z","5.0"'] * 3 + [f'{LARGE},1,"z","{LARGE}"'] * 3


def test_large_decimals_of_parquet_are_published_to_the_last_digit(request_of: Request) -> None:
    exact = pa.array([Decimal(LARGE)] * 3, pa.decimal128(38, 0))
    table = {"id": [1, 2, 3], "zone": exact, "staff": exact, "sales": [1, 2, 3], "score": exact}
    pyarrow.parquet.write_table(pa.table(table), request_of.folder / "table.parquet")
    lines = release_text(request_of, source={"path": "table.parquet"})
    assert lines[1:] == [f"{LARGE},2,{LARGE},{LARGE}"] * 3


@pytest.mark.parametrize(
    ("kind", "sections", "words"),
    [
        (
            pa.uint64(),
            {},
            "'staff' is declared as integer and must hold whole numbers of at most",
        ),
        (pa.float64(), {}, "(53 bits if the file holds real numbers); 3 rows break this"),
        (
            pa.uint64(),
            {"columns": {"integers": []}},
            "'staff' must hold numbers that keep their digits as real numbers",
        ),
    ],
)
def test_numbers_that_cannot_be_kept_are_refused(
    request_of: Request, kind: pa.DataType, sections: dict[str, Any], words: str
) -> None:
    staff = pa.array([2**64 - 2**11 - 1] * 3, pa.uint64()).cast(kind, safe=False)
    table = {"id": [1, 2, 3], "zone": staff, "staff": staff, "sales": [1, 2, 3], "score": staff}
    pyarrow.parquet.write_table(pa.table(table), request_of.folder / "table.parquet")
    spec = request_of.load(source={"path": "table.parquet"}, **sections)
    with pytest.raises(DataError) as raised:
        validate.fn(ingest.fn(spec)[0], spec)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "value",
    [
        "1234567890123456",
        "1234567890.1234567",
        "0.12345678901234567",
        "1e18",
        "9223372036854775808",
    ],
)
def test_columns_published_as_they_are_keep_every_digit(request_of: Request, value: str) -> None:
    rows = [f"{i},z,{i},{i},{number}" for i, number in enumerate([value, "5.0", "7"])]
    request_of.source.write_text("id,zone,staff,sales,score\n" + "\n".join(rows), encoding="utf-8")
    written = [line.split(",")[3].strip('"') for line in release_text(request_of)[1:]]
    assert {Decimal(cell) for cell in written} == {Decimal(value), Decimal(5), Decimal(7)}


NOTATIONS: list[tuple[str, bool, str | None]] = [
    # as it is written, whether it is a number, and what it is read as if that loses nothing
    ("7", True, "int64"),
    ("-7", True, "int64"),
    ("0", True, "int64"),
    ("1" * 18, True, "int64"),
    ("1" * 19, True, None),
    ("-0", True, "double"),
    ("0.0", True, "double"),
    ("2.50", True, "double"),
    ("1e5", True, "double"),
    ("1E-05", True, "double"),
    ("0.30000000000000004", True, "double"),
    ("0.300000000000000041234", True, None),
    ("1e300", True, None),
    ("007", True, None),
    ("-07", True, None),
    ("+5", True, None),
    (" 5", True, None),
    ("5\n", True, None),
    ("5.", True, None),
    ("5.e3", True, None),
    (".5", True, None),
    ("-.5", True, None),
    ("inf", True, None),
    ("-Infinity", True, None),
    ("1e999", True, None),
    ("", False, None),
    (".", False, None),
    ("-", False, None),
    ("e5", False, None),
    ("1e", False, None),
    ("1,5", False, None),
    ("1_000", False, None),
    ("1.2.2026", False, None),
    ("2026-01-01", False, None),
    ("0x1F", False, None),
    ("nan", False, None),
    ("\u0663", False, None),  # a digit, but not one of ASCII
    ("5\u00a0", False, None),
    ("5\v", False, None),
]


@pytest.mark.parametrize(("cell", "number", "kind"), NOTATIONS, ids=[repr(n[0]) for n in NOTATIONS])
def test_a_notation_is_a_number_and_may_be_read_without_loss(
    cell: str, number: bool, kind: str | None
) -> None:
    assert numbers.is_number(text(cell)).tolist() == [number]
    lossless = numbers.lossless(text(cell, None))
    assert (None if lossless is None else str(lossless.type)) == kind


def test_one_cell_that_would_change_keeps_its_column_text() -> None:
    assert numbers.lossless(text("1", "2.5", "007")) is None
    assert numbers.lossless(text("1", "2.5", None)).to_pylist() == [1.0, 2.5, None]
    assert numbers.lossless(text(None, None)) is None
    assert numbers.lossless(text()) is None


def test_random_text_is_read_without_loss_or_not_at_all() -> None:
    rng = random.Random(13)
    pieces = ["0", "1", "25", "900719925474099", "3", ".", ".", "-", "e", "E-", "+", " ", "x", ","]
    outcomes: Counter[str] = Counter()
    for _ in range(4000):
        cell = "".join(rng.choices(pieces, k=rng.randint(1, 5)))
        values = numbers.lossless(text(cell))
        try:
            exact = Decimal(cell.strip(" "))
        except InvalidOperation:
            exact = None
        assert numbers.is_number(text(cell)).tolist() == [exact is not None], repr(cell)
        if values is None:
            outcomes["text"] += 1
            continue
        outcomes[str(values.type)] += 1
        value = values[0].as_py()
        assert float(value) == float(cell)
        assert Decimal(repr(value)) == exact, repr(cell)
        whole = numbers.to_integers(text(cell))[0]
        assert not numbers.is_whole(text(cell))[0] or whole == exact
    assert min(outcomes["text"], outcomes["int64"], outcomes["double"]) > 30


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2.50"],
        ["1e-3", "7.0", "1"],
        ["0.120000000000000000000", "5"],
        ["0.123456789012345678", "2.5"],
    ],
)
def test_decimals_can_be_counted_in_parts(cells: list[str]) -> None:
    whole = numbers.decimals_of(pa.array(cells))
    parts = [numbers.decimals_of(pa.array([cell])) for cell in cells]
    assert reduce(or_, parts) == whole
    assert whole.kept == numbers.places_of(pa.array(cells))


def test_a_part_of_a_column_is_averaged_as_the_whole_column_is() -> None:
    groups = Partition(np.zeros(2, dtype=np.int64), k=2)
    values = np.array([1.0, 1.01])
    assert decimal_centroids(values, groups, 2, counted=True).tolist() == [1.01, 1.01]
    # in real numbers, the average is a little below the half
    assert decimal_centroids(values, groups, 2, counted=False).tolist() == [1.0, 1.0]
