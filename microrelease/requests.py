"""What is asked of a frame: the sections of a spec, without a source and a place to publish."""

from collections.abc import Mapping
from dataclasses import replace
from operator import index
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from algorithms.errors import DataError
from algorithms.table import Table
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import from_content
from expectations.suites.require import plainly
from tasks.sources.table import checked
from tasks.validate import validate

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of arguments that are mappings."""

NO_FILE: dict[str, Any] = {
    "release": {"name": "frame", "period": "none", "title": "frame", "licence": "none"},
    "source": {"path": "frame.parquet"},
    "publication": {"public_folder": "public", "register_folder": "register"},
}
"""Sections that a spec must have, and that nothing reads where no file is read or written."""

NO_CEILING = {"withheld": 100.0}
"""Stands in for the ceiling without which a release withholds no records: nothing is published."""

ROW = "microrelease: row"
"""Carries the row of each record through the pipeline, and is never published."""

ROLES = "quasi_identifiers, strata, weight, confidential, unit or identifiers"


def request(
    columns: Mapping[str, Any],
    microaggregation: Mapping[str, Any],
    gate: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
) -> ReleaseSpec:
    """Validate the sections of a spec, by the rules that hold for a file.

    Raises
    ------
    SpecError
        If they are not valid; the message names every fault with its path.
    """
    how = dict(microaggregation)
    # numpy has whole numbers of its own, and a spec is strict
    how["k"] = index(how["k"]) if hasattr(how["k"], "__index__") else how["k"]
    limits = {key: dict(value) for key, value in (gate or {}).items()}
    if how.get("small_strata") == "withhold":
        limits["ceilings"] = NO_CEILING | limits.get("ceilings", {})
    content = {
        **NO_FILE,
        "columns": dict(columns),
        "microaggregation": how,
        "gate": limits,
        "evaluation": dict(evaluation or {}),
    }
    return from_content(content, Path.cwd())


def read_frame(frame: pa.Table, spec: ReleaseSpec) -> Table:
    """Check a frame against the input suites, and convert it to the declared kinds and roles.

    Raises
    ------
    DataError
        If it breaks a rule; the message names columns and counts.
    """
    source = checked(frame, spec.columns)
    if not source.num_rows:
        raise DataError("the frame must have rows; it is empty")
    try:
        table, _ = validate.fn(source, spec, plainly)
    except DataError as error:
        raise _with_advice(error, source, spec.columns) from None
    rows = pa.chunked_array([pa.array(range(source.num_rows), pa.int64())])
    return replace(table, carried={**table.carried, ROW: rows})


def _with_advice(error: DataError, source: pa.Table, columns: ColumnsSection) -> DataError:
    """Say what to pass if columns have no role; their names are not shown, as for a file."""
    strays = sum(name not in columns.all for name in source.column_names)
    if not strays:
        return error
    return DataError(
        f"{error}: name each column in {ROLES}, or leave it out, for example with "
        "frame.drop(columns=...)"
    )
