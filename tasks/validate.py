"""Checks the table that was read, and gives its columns their declared kinds."""

import pyarrow as pa

from algorithms.errors import DataError
from algorithms.table import Table
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import Finding, require
from expectations.tables import frame_of, table_from_arrow
from tasks.stage import stage


@stage(name="validate")
def validate(source: pa.Table, spec: ReleaseSpec) -> tuple[Table, tuple[Finding, ...]]:
    """Hold the source against the input suites.

    Returns
    -------
    table : Table
        The source, with its columns in the kinds and roles that the spec declares.
    findings : tuple of Finding
        The rules that were checked.
    """
    from expectations.suites.input_suite import input_suite, shape_suite

    frame = frame_of(source)
    shape = require(shape_suite(spec), frame, DataError, hint=_about_columns(source, spec.columns))
    values = require(
        input_suite(spec), frame, DataError, hint="correct the source, or the roles in the spec"
    )
    return table_from_arrow(source, spec.columns), shape + values


def _about_columns(source: pa.Table, columns: ColumnsSection) -> str:
    """Name the columns of the spec that are missing, and count those without a role.

    Their names stay unsaid: a damaged header has records in it.
    """
    names = source.column_names
    missing = [name for name in columns.all if name not in names]
    extra = sum(name not in columns.all for name in names)
    counts = f"the file has {len(names)} columns, the spec names {len(columns.all)}"
    if len(missing) == len(columns.all):
        return (
            f"no column of the spec is in the file ({counts}); does it have a header, and this "
            "delimiter?"
        )
    if not missing and not extra:
        return ""
    parts = [
        f"missing from the file: {', '.join(map(repr, missing))}" if missing else "",
        f"without a role in the spec: {extra} (their names are not shown)" if extra else "",
        counts,
    ]
    return "; ".join(part for part in parts if part)
