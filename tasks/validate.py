"""Checks the source, and converts its columns to their declared kinds."""

import pyarrow as pa

from algorithms.errors import DataError
from algorithms.table import Table
from expectations.request.spec import ReleaseSpec
from expectations.suites.input_suite import about_columns, input_suite, shape_suite
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
