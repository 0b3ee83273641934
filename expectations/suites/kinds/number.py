"""Numbers in files."""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from algorithms.attributes import Number, Values
from expectations.numbers import places_of, to_floats, to_integers
from expectations.suites.rules import Rule, rule


class NumberKind:
    """Columns of numbers."""

    def input_rules(self, attribute: Number) -> Iterator[Rule]:
        """Require finite numbers that can be read without loss."""
        name = attribute.name
        yield rule(
            "ExpectColumnValuesToBeNumbers",
            f"{name!r} must be numeric",
            column=name,
        )
        yield rule(
            "ExpectColumnValuesToBeFinite",
            f"{name!r} must be finite",
            column=name,
        )
        if attribute.whole:
            yield rule(
                "ExpectColumnValuesToBeWhole",
                f"{name!r} is declared as integer and must hold whole numbers of at most 64 "
                "bits (53 bits if the file holds real numbers)",
                column=name,
            )
        else:
            yield rule(
                "ExpectColumnValuesToBeExact",
                f"{name!r} must hold numbers that keep their digits as real numbers; large "
                "whole numbers must be declared in columns.integers",
                column=name,
            )

    def read(self, attribute: Number, column: pa.ChunkedArray) -> tuple[Number, Values]:
        """Read numbers; averages are published with the decimals of the source by default."""
        if attribute.whole:
            return attribute, to_integers(column)
        places = attribute.places
        if places is None and not attribute.all_digits:
            places = places_of(column)
        return replace(attribute, places=places), to_floats(column)

    def output_rules(self, attribute: Number) -> Iterator[Rule]:
        """Require that numbers stay whole, or have at most the declared number of decimals."""
        name, places = attribute.name, attribute.places
        if attribute.whole:
            yield rule(
                "ExpectColumnValuesToBeWhole",
                f"{name!r} must still hold whole numbers",
                column=name,
            )
        elif places is not None:
            yield rule(
                "ExpectColumnValuesToHavePlaces",
                f"{name!r} must be published with at most {places} "
                f"decimal{'' if places == 1 else 's'}",
                column=name,
                places=places,
            )
