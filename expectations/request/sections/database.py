"""The section ``source`` of a table that a query reads from a database."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, model_validator

from algorithms.errors import SpecError
from expectations.request.faults import SLUG
from expectations.request.fields import STRICT
from expectations.request.query import Query
from expectations.request.sections.wait import WaitSection

ENDING = ".sql"


def _connection_name(name: str) -> str:
    # what stands here by mistake may hold a password, and is not shown
    if not re.match(SLUG, name) or len(name) > 100:
        raise SpecError(
            "must be the name of a connection, in lower-case letters and digits with single "
            "dashes between them; it is not (it is not shown, because it may hold a password)"
        )
    return name


class DatabaseSection(BaseModel):
    """The confidential table, as a query reads it from a database."""

    model_config = STRICT

    database: Annotated[str, AfterValidator(_connection_name)]
    """Name of a connection. Its address and password stand in the environment, in a mounted file or
    in a Prefect Secret block, and never here."""
    query: Path
    """File with one SQL query, reviewed with the spec; a relative path is taken from the folder of
    the spec. :period in it is bound to the period of the run, as text."""
    snapshot: Literal["transaction"] = "transaction"
    """The query is read in one transaction that sees no later change."""
    wait: WaitSection | None = None
    """How long a run waits until the query gives rows; by default it does not wait."""
    query_sha256: str = ""
    """Fingerprint of the file; filled in when the spec is read."""
    query_text: str = ""
    """The query; filled in when the spec is read."""

    @model_validator(mode="after")
    def _is_one_query(self) -> Self:
        if self.query.suffix.lower() != ENDING:
            raise SpecError(f"query must be a file that ends in {ENDING}; it does not")
        try:
            Query.of(self.query_text)
        except SpecError as fault:
            raise SpecError(f"query: {fault}") from None
        return self

    @property
    def statement(self) -> Query:
        """The query, ready for its parameter."""
        return Query.of(self.query_text)
