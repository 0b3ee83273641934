"""Checks the table that was read, and gives its quasi-identifiers their declared types."""

from dataclasses import dataclass

import pandas as pd

from algorithms.errors import DataError
from expectations.numbers import to_floats, to_integers
from expectations.require import Finding, require
from expectations.spec import Columns, ReleaseSpec
from tasks.stage import stage


@dataclass(frozen=True, eq=False)
class Validated:
    """A table that fits its spec, and what was checked."""

    frame: pd.DataFrame
    findings: tuple[Finding, ...]


@stage(name="validate")
def validate(frame: pd.DataFrame, spec: ReleaseSpec) -> Validated:
    """Hold the table against the input suites."""
    from expectations.input_suite import input_suite, shape_suite

    shape = require(shape_suite(spec), frame, DataError, hint=_about_columns(frame, spec.columns))
    values = require(
        input_suite(spec), frame, DataError, hint="correct the source, or the roles in the spec"
    )
    typed = frame.assign(
        **{
            column: to_integers(frame[column])
            if column in spec.columns.integers
            else to_floats(frame[column])
            for column in spec.columns.quasi_identifiers
        }
    )
    return Validated(typed, shape + values)


def _about_columns(frame: pd.DataFrame, columns: Columns) -> str:
    """Name the columns that are missing or have no role."""
    missing = [name for name in columns.all if name not in frame.columns]
    if len(missing) == len(columns.all):
        # a file without a header has its first record there: not a word of that
        return "no column of the spec is in the file; does it have a header, and this delimiter?"
    extra = [name for name in frame.columns if name not in columns.all]
    parts = [
        f"missing from the file: {', '.join(map(repr, missing))}" if missing else "",
        f"without a role in the spec: {', '.join(map(repr, extra))}" if extra else "",
    ]
    return "; ".join(part for part in parts if part)
