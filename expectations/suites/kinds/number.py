"""Numbers in files."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from algorithms.attributes import Number, Values
from expectations.numbers import places_of, to_floats, to_integers
from expectations.suites.require import rule

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation


class NumberKind:
    """Columns of numbers; Great Expectations is imported when rules are listed."""

    def input_rules(self, attribute: Number) -> "Iterator[Expectation]":
        """Require finite numbers that can be read without loss."""
        from expectations.suites import custom

        name = attribute.name
        yield custom.ExpectColumnValuesToBeNumbers(
            column=name, meta=rule(f"{name!r} must be numeric")
        )
        yield custom.ExpectColumnValuesToBeFinite(
            column=name, meta=rule(f"{name!r} must be finite")
        )
        if attribute.whole:
            yield custom.ExpectColumnValuesToBeWhole(
                column=name,
                meta=rule(
                    f"{name!r} is declared as integer and must hold whole numbers of at most 64 "
                    "bits (53 bits if the file holds real numbers)"
                ),
            )
        else:
            yield custom.ExpectColumnValuesToBeExact(
                column=name,
                meta=rule(
                    f"{name!r} must hold numbers that keep their digits as real numbers; large "
                    "whole numbers must be declared in columns.integers"
                ),
            )

    def read(self, attribute: Number, column: pa.ChunkedArray) -> tuple[Number, Values]:
        """Read numbers; averages are published with the decimals of the source by default."""
        if attribute.whole:
            return attribute, to_integers(column)
        places = attribute.places
        if places is None and not attribute.all_digits:
            places = places_of(column)
        return replace(attribute, places=places), to_floats(column)

    def output_rules(self, attribute: Number) -> "Iterator[Expectation]":
        """Require that numbers stay whole, or have at most the declared number of decimals."""
        from expectations.suites import custom

        name, places = attribute.name, attribute.places
        if attribute.whole:
            yield custom.ExpectColumnValuesToBeWhole(
                column=name, meta=rule(f"{name!r} must still hold whole numbers")
            )
        elif places is not None:
            yield custom.ExpectColumnValuesToHavePlaces(
                column=name,
                places=places,
                meta=rule(
                    f"{name!r} must be published with at most {places} "
                    f"decimal{'' if places == 1 else 's'}"
                ),
            )
