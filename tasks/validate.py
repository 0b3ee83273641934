"""Checks the table that was read, and gives its quasi-identifiers their declared types."""

from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from algorithms.errors import DataError
from expectations.numbers import places_of, to_floats, to_integers
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import Finding, require
from tasks.stage import stage


@dataclass(frozen=True, eq=False)
class Validated:
    """A table that fits its spec.

    Attributes
    ----------
    frame : DataFrame
        The table, with its quasi-identifiers as numbers.
    spec : ReleaseSpec
        The spec, in which quasi-identifiers without declared decimals have those of the source.
    findings : tuple of Finding
        The rules that were checked.
    """

    frame: pd.DataFrame
    spec: ReleaseSpec
    findings: tuple[Finding, ...]


@stage(name="validate")
def validate(frame: pd.DataFrame, spec: ReleaseSpec) -> Validated:
    """Hold the table against the input suites."""
    from expectations.suites.input_suite import input_suite, shape_suite

    shape = require(shape_suite(spec), frame, DataError, hint=_about_columns(frame, spec.columns))
    values = require(
        input_suite(spec), frame, DataError, hint="correct the source, or the roles in the spec"
    )
    typed = frame.copy()
    for column in spec.columns.quasi_identifiers:
        whole = column in spec.columns.integers
        typed[column] = (to_integers if whole else to_floats)(pa.array(frame[column]))
    return Validated(typed, _with_places(frame, spec), shape + values)


def _with_places(frame: pd.DataFrame, spec: ReleaseSpec) -> ReleaseSpec:
    """Publish averages with the decimals of the source where the spec does not say how many."""
    columns = spec.columns
    real = [name for name in columns.quasi_identifiers if name not in columns.integers]
    places = {
        name: places_of(pa.array(frame[name])) for name in real if name not in columns.decimals
    }
    decimals = columns.decimals | {name: n for name, n in places.items() if n is not None}
    settled = columns.model_copy(update={"decimals": decimals})
    return spec.model_copy(update={"columns": settled})


def _about_columns(frame: pd.DataFrame, columns: ColumnsSection) -> str:
    """Name the columns of the spec that are missing, and count those without a role.

    Their names stay unsaid: a damaged header has records in it.
    """
    missing = [name for name in columns.all if name not in frame.columns]
    extra = sum(name not in columns.all for name in frame.columns)
    counts = f"the file has {len(frame.columns)} columns, the spec names {len(columns.all)}"
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
