"""Expectations that are not part of Great Expectations.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

from collections.abc import Callable
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

from algorithms.types import Mask
from expectations.digest import digest_of
from expectations.numbers import has_places, is_exact, is_finite, is_number, is_whole


def _register(name: str, condition: Callable[..., Mask], *options: str) -> None:
    """Have Great Expectations know a condition on the cells of a column.

    It registers every class of this kind when the class is made.
    """

    class Condition(ColumnMapMetricProvider):
        condition_metric_name = f"column_values.microrelease.{name}"
        condition_value_keys = options

        @column_condition_partial(engine=PandasExecutionEngine)
        def _pandas(cls, column: pd.Series, **given: Any) -> pd.Series:  # noqa: N805
            values = pa.array(column, from_pandas=True)
            cells = condition(values, *(given[option] for option in options))
            return pd.Series(cells, index=column.index)


_register("number", is_number)
# other rules count the cells that are no numbers at all, or not finite
_register("finite", lambda column: is_finite(column) | ~is_number(column))
_register("whole", lambda column: is_whole(column) | ~is_finite(column))
_register("exact", is_exact)
_register("places", has_places, "places")


class ExpectColumnValuesToBeNumbers(ColumnMapExpectation):
    """Expect every value of a column to be a number."""

    map_metric: ClassVar[str] = "column_values.microrelease.number"


class ExpectColumnValuesToBeFinite(ColumnMapExpectation):
    """Expect every number of a column to be finite."""

    map_metric: ClassVar[str] = "column_values.microrelease.finite"


class ExpectColumnValuesToBeWhole(ColumnMapExpectation):
    """Expect every finite number of a column to be whole."""

    map_metric: ClassVar[str] = "column_values.microrelease.whole"


class ExpectColumnValuesToBeExact(ColumnMapExpectation):
    """Expect every number of a column to keep its value as a real number."""

    map_metric: ClassVar[str] = "column_values.microrelease.exact"


class ExpectColumnValuesToHavePlaces(ColumnMapExpectation):
    """Expect every value of a column to be a number with at most ``places`` decimals."""

    places: int

    map_metric: ClassVar[str] = "column_values.microrelease.places"
    success_keys: ClassVar[tuple[str, ...]] = ("places", "mostly")


class _RowsInSmallGroups(TableMetricProvider):
    metric_name = "table.microrelease.rows_in_small_groups"
    value_keys = ("column_list", "k")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG002
        runtime_configuration: dict[str, Any],  # noqa: ARG002
    ) -> int:
        frame, *_ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type="table")
        sizes = frame.groupby(list(metric_value_kwargs["column_list"]), dropna=False).size()
        return int(sizes[sizes < metric_value_kwargs["k"]].sum())


class ExpectEveryCombinationAtLeastKTimes(BatchExpectation):
    """Expect every combination of values of some columns to occur in at least ``k`` rows."""

    column_list: list[str]
    k: int

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.microrelease.rows_in_small_groups",)
    success_keys: ClassVar[tuple[str, ...]] = ("column_list", "k")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        rows = metrics["table.microrelease.rows_in_small_groups"]
        return {"success": rows == 0, "result": {"unexpected_count": rows}}


class _ColumnDigest(TableMetricProvider):
    metric_name = "table.microrelease.column_digest"
    value_keys = ("column",)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG002
        runtime_configuration: dict[str, Any],  # noqa: ARG002
    ) -> str:
        frame, *_ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type="table")
        return digest_of(frame[[metric_value_kwargs["column"]]])


class ExpectColumnToHaveDigest(BatchExpectation):
    """Expect the values of a column, in their order, to have a given digest."""

    column: str
    digest: str

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.microrelease.column_digest",)
    success_keys: ClassVar[tuple[str, ...]] = ("column", "digest")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        return {"success": metrics["table.microrelease.column_digest"] == self.digest}
