"""Expectations that are not part of Great Expectations.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa
from great_expectations.execution_engine import ExecutionEngine, PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation, ColumnMapExpectation
from great_expectations.expectations.metrics import (
    ColumnMapMetricProvider,
    column_condition_partial,
)
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from expectations.suites import counts


def _condition(expectation: str, *options: str) -> str:
    """Have Great Expectations know a condition on the cells of a column; return its name.

    It registers every class of this kind when the class is made.
    """

    class Condition(ColumnMapMetricProvider):
        condition_metric_name = f"column_values.microrelease.{expectation}"
        condition_value_keys = options

        @column_condition_partial(engine=PandasExecutionEngine)
        def _pandas(cls, column: pd.Series, **given: Any) -> pd.Series:  # noqa: N805
            values = pa.array(column, from_pandas=True)
            cells = counts.CELLS[expectation](values, *(given[option] for option in options))
            return pd.Series(cells, index=column.index)

    return Condition.condition_metric_name


class ExpectColumnValuesToBeNumbers(ColumnMapExpectation):
    """Expect every value of a column to be a number."""

    map_metric: ClassVar[str] = _condition("ExpectColumnValuesToBeNumbers")


class ExpectColumnValuesToBeFinite(ColumnMapExpectation):
    """Expect every number of a column to be finite."""

    map_metric: ClassVar[str] = _condition("ExpectColumnValuesToBeFinite")


class ExpectColumnValuesToBeWhole(ColumnMapExpectation):
    """Expect every finite number of a column to be whole."""

    map_metric: ClassVar[str] = _condition("ExpectColumnValuesToBeWhole")


class ExpectColumnValuesToBeExact(ColumnMapExpectation):
    """Expect every number of a column to keep its value as a real number."""

    map_metric: ClassVar[str] = _condition("ExpectColumnValuesToBeExact")


class ExpectColumnValuesToHavePlaces(ColumnMapExpectation):
    """Expect every value of a column to be a number with at most ``places`` decimals."""

    places: int

    map_metric: ClassVar[str] = _condition("ExpectColumnValuesToHavePlaces", "places")
    success_keys: ClassVar[tuple[str, ...]] = ("places", "mostly")


class _Counted(BatchExpectation):
    """Expect a rule of a table; values and rows that break it are counted."""

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        found: counts.Count = metrics[self.metric_dependencies[0]]
        result = {"unexpected_count": found.rows, "unexpected_values": found.distinct}
        return {"success": found.met, "result": result}


def _count(expectation: str, *options: str) -> tuple[str, ...]:
    """Have Great Expectations know how to count what breaks a rule; return the count's name."""

    class Count(TableMetricProvider):
        metric_name = f"table.microrelease.{expectation}"
        value_keys = options

        @metric_value(engine=PandasExecutionEngine)
        def _pandas(
            cls,  # noqa: N805
            execution_engine: PandasExecutionEngine,
            metric_domain_kwargs: dict[str, Any],
            metric_value_kwargs: dict[str, Any],
            metrics: dict[str, Any],  # noqa: ARG002
            runtime_configuration: dict[str, Any],  # noqa: ARG002
        ) -> counts.Count:
            frame, *_ = execution_engine.get_compute_domain(
                metric_domain_kwargs, domain_type="table"
            )
            given = {option: metric_value_kwargs[option] for option in options}
            return counts.count(expectation, frame, **given)

    return (Count.metric_name,)


class ExpectColumnValuesToBeInLevels(_Counted):
    """Expect every value of a column to be one of some levels."""

    column: str
    levels: list[str]

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnValuesToBeInLevels", "column", "levels"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column",
        "levels",
    )


class ExpectColumnValuesToStandInHierarchy(_Counted):
    """Expect every value of a column to be one of the codes of a hierarchy."""

    column: str
    codes: list[str]

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnValuesToStandInHierarchy", "column", "codes"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column",
        "codes",
    )


class ExpectColumnValuesNotToNameGroups(_Counted):
    """Expect no value of a column to be the name of a group of codes."""

    column: str
    prefixes: list[int]
    paths: dict[str, Any]

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnValuesNotToNameGroups", "column", "prefixes", "paths"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column",
        "prefixes",
        "paths",
    )


class ExpectColumnValuesToBeDates(_Counted):
    """Expect every value of a column to be a date."""

    column: str
    unit: str

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnValuesToBeDates", "column", "unit"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column",
        "unit",
    )


class ExpectColumnValuesToBePositive(_Counted):
    """Expect every value of a column to be a finite number above zero."""

    column: str

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnValuesToBePositive", "column"
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column",)


class ExpectColumnValuesNotToBe(_Counted):
    """Expect no value of a column to be a given label."""

    column: str
    label: str

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnValuesNotToBe", "column", "label"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column",
        "label",
    )


class ExpectColumnToHaveFewLabels(_Counted):
    """Expect a column to have at most ``most`` different values."""

    column: str
    most: int

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnToHaveFewLabels", "column", "most"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column",
        "most",
    )


class ExpectEveryCombinationAtLeastKTimes(_Counted):
    """Expect every combination of values of some columns to occur in at least ``k`` rows."""

    column_list: list[str]
    k: int

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectEveryCombinationAtLeastKTimes", "column_list", "k"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column_list",
        "k",
    )


class ExpectEveryCombinationOfAtLeastKUnits(_Counted):
    """Expect the rows of every combination of values to belong to at least ``k`` units."""

    column_list: list[str]
    unit: str
    k: int

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectEveryCombinationOfAtLeastKUnits", "column_list", "unit", "k"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column_list",
        "unit",
        "k",
    )


class ExpectColumnToHaveDigest(_Counted):
    """Expect the values of a column, in their order, to have a given digest."""

    column: str
    digest: str

    metric_dependencies: ClassVar[tuple[str, ...]] = _count(
        "ExpectColumnToHaveDigest", "column", "digest"
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        "column",
        "digest",
    )
