"""Checks the source, and converts its columns to their declared kinds."""

from collections.abc import Sequence

import pyarrow as pa

from algorithms.errors import DataError
from algorithms.table import Table
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from expectations.suites.input_suite import input_suite, shape_suite
from expectations.suites.require import Finding, Run, require, with_great_expectations
from expectations.tables import frame_of, table_from_arrow
from tasks.stage import stage


@stage(name="validate")
def validate(
    source: pa.Table, spec: ReleaseSpec, run: Run = with_great_expectations
) -> tuple[Table, tuple[Finding, ...]]:
    """Check the source against the input suites.

    Parameters
    ----------
    source : pyarrow.Table
        The columns of the file.
    spec : ReleaseSpec
        The spec of the release.
    run : callable
        What runs the suites; releases use Great Expectations.

    Returns
    -------
    table : Table
        The source, with the kinds and roles that the spec declares.
    findings : tuple of Finding
        Results of all rules.
    """
    return check_source(source, spec, run)


def check_source(
    source: pa.Table, spec: ReleaseSpec, run: Run
) -> tuple[Table, tuple[Finding, ...]]:
    """Check a source as `validate` does, within another stage."""
    frame = frame_of(source)
    hint = about_columns(source.column_names, spec.columns)
    shape = require(shape_suite(spec), frame, DataError, hint, run)
    hint = "correct the source, or the roles in the spec"
    values = require(input_suite(spec), frame, DataError, hint, run)
    return table_from_arrow(source, spec.columns), shape + values


def about_columns(names: Sequence[str], columns: ColumnsSection) -> str:
    """Name the columns of the spec that are missing, and count those without a role.

    Names without a role are not shown: a damaged header may contain records.
    """
    missing = [name for name in columns.all if name not in names]
    unknown = sum(name not in columns.all for name in names)
    counts = f"the file has {len(names)} columns, the spec names {len(columns.all)}"
    if len(missing) == len(columns.all):
        return (
            f"no column of the spec is in the file ({counts}); check its header and "
            "source.delimiter"
        )
    if not missing and not unknown:
        return ""
    parts = [
        f"missing from the file: {', '.join(map(repr, missing))}" if missing else "",
        f"without a role in the spec: {unknown} (names not shown)" if unknown else "",
        counts,
    ]
    return "; ".join(part for part in parts if part)
