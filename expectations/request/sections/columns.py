"""The section ``columns``: the role of each column."""

from collections import Counter
from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from algorithms.attributes import Attribute, Number
from algorithms.errors import SpecError
from expectations.request.fields import STRICT


class ColumnsSection(BaseModel):
    """The role of each column; a column of the file that has none is an error, not a leak."""

    model_config = STRICT

    identifiers: tuple[str, ...] = ()
    """Never published."""
    quasi_identifiers: tuple[str, ...] = Field(min_length=1)
    """Numeric and microaggregated: published records share their values in groups of at least k."""
    confidential: tuple[str, ...] = ()
    """Published unchanged; the values an attacker would want to learn."""
    other: tuple[str, ...] = ()
    """Published unchanged; of no use to an attacker."""
    integers: tuple[str, ...] = ()
    """Quasi-identifiers that are whole numbers and stay whole numbers."""
    decimals: dict[str, Annotated[int, Field(ge=0, le=15, strict=True)]] = {}
    """Number of decimals published for each quasi-identifier that is not whole; by default as many
    as the source has."""

    @model_validator(mode="after")
    def _one_role_each(self) -> Self:
        counts = Counter(self.all)
        repeated = [name for name, count in counts.items() if count > 1]
        if repeated:
            raise SpecError(
                f"each column must have one role; listed more than once: {_quoted(repeated)}"
            )
        not_keys = [name for name in self.integers if name not in self.quasi_identifiers]
        if not_keys:
            raise SpecError(
                "integers must be quasi-identifiers (other columns are published unchanged); these "
                f"are not: {_quoted(not_keys)}"
            )
        not_real = [
            name
            for name in self.decimals
            if name in self.integers or name not in self.quasi_identifiers
        ]
        if not_real:
            raise SpecError(
                "decimals must be given only for quasi-identifiers that are not integers; these "
                f"are not: {_quoted(not_real)}"
            )
        if "" in counts:
            raise SpecError("a column must have a name; one of the listed names is empty")
        return self

    @property
    def all(self) -> tuple[str, ...]:
        """Every column, by role."""
        return self.identifiers + self.published

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of the public files, in their order there."""
        return self.other + self.quasi_identifiers + self.confidential

    @property
    def untouched(self) -> tuple[str, ...]:
        """The columns that are published unchanged."""
        return self.other + self.confidential

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The kind of each quasi-identifier, as declared."""
        return tuple(
            Number(name, places=0, whole=True)
            if name in self.integers
            else Number(name, places=self.decimals.get(name))
            for name in self.quasi_identifiers
        )

    def role_of(self, column: str) -> str:
        """Name the role of a published column, for people who use the data."""
        if column in self.quasi_identifiers:
            return "quasi-identifier"
        return "confidential" if column in self.confidential else "other"


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
