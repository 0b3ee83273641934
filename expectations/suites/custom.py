"""Expectations that are not part of Great Expectations.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
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

from algorithms.attributes.tree import ListedPaths, PrefixPaths, Tree
from algorithms.types import Mask
from expectations.digest import digest_of
from expectations.labels import as_text, is_date, is_level, read_labels
from expectations.numbers import (
    has_places,
    is_exact,
    is_finite,
    is_number,
    is_positive,
    is_whole,
)


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


class _BrokenCells(BatchExpectation):
    """Expect a condition of every cell of a column; values and rows that break it are counted."""

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        (values, rows) = metrics[self.metric_dependencies[0]]
        found = {"unexpected_count": rows, "unexpected_values": values}
        return {"success": rows == 0, "result": found}


def _register_count(name: str, count: Callable[..., tuple[int, int]], *options: str) -> str:
    """Have Great Expectations know how to count the values and rows that break a condition."""

    class Count(TableMetricProvider):
        metric_name = f"table.microrelease.{name}"
        value_keys = ("column", *options)

        @metric_value(engine=PandasExecutionEngine)
        def _pandas(
            cls,  # noqa: N805
            execution_engine: PandasExecutionEngine,
            metric_domain_kwargs: dict[str, Any],
            metric_value_kwargs: dict[str, Any],
            metrics: dict[str, Any],  # noqa: ARG002
            runtime_configuration: dict[str, Any],  # noqa: ARG002
        ) -> tuple[int, int]:
            frame, *_ = execution_engine.get_compute_domain(
                metric_domain_kwargs, domain_type="table"
            )
            column = frame[metric_value_kwargs["column"]].dropna()
            given = [metric_value_kwargs[option] for option in options]
            return count(pa.array(column, from_pandas=True), *given)

    return Count.metric_name


def _broken(column: pa.Array, met: Mask) -> tuple[int, int]:
    cells = as_text(column).filter(pa.array(~met))
    return len(cells.unique()), len(cells)


def _beyond(column: pa.Array, most: int) -> tuple[int, int]:
    """Count the labels beyond a number of labels, the rarest first, and their rows."""
    counts = as_text(column).value_counts()
    by_size = sorted(counts.field("counts").to_pylist(), reverse=True)[most:]
    return len(by_size), sum(by_size)


def _group_names(
    column: pa.Array, prefixes: list[int], paths: dict[str, list[str]]
) -> tuple[int, int]:
    labels, codes = read_labels(column)
    rule = PrefixPaths(tuple(prefixes)) if prefixes else ListedPaths(paths)
    clashes = Tree.of([path for path in map(rule.to, labels) if path is not None]).clashes()
    broken = np.array([label in clashes for label in labels], dtype=bool)
    return int(broken.sum()), int(broken[codes].sum())


class ExpectColumnValuesToBeInLevels(_BrokenCells):
    """Expect every value of a column to be one of some levels."""

    column: str
    levels: list[str]

    metric_dependencies: ClassVar[tuple[str, ...]] = (
        _register_count("levels", lambda c, levels: _broken(c, is_level(c, levels)), "levels"),
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column", "levels")


class ExpectColumnValuesToStandInHierarchy(_BrokenCells):
    """Expect every value of a column to be one of the codes of a hierarchy."""

    column: str
    codes: list[str]

    metric_dependencies: ClassVar[tuple[str, ...]] = (
        _register_count("codes", lambda c, codes: _broken(c, is_level(c, codes)), "codes"),
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column", "codes")


class ExpectColumnValuesNotToNameGroups(_BrokenCells):
    """Expect no value of a column to be the name of a group of codes."""

    column: str
    prefixes: list[int]
    paths: dict[str, Any]

    metric_dependencies: ClassVar[tuple[str, ...]] = (
        _register_count("group_names", _group_names, "prefixes", "paths"),
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column", "prefixes", "paths")


class ExpectColumnValuesToBeDates(_BrokenCells):
    """Expect every value of a column to be a date."""

    column: str
    unit: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (
        _register_count("dates", lambda c, unit: _broken(c, is_date(c, unit)), "unit"),
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column", "unit")


class ExpectColumnValuesToBePositive(_BrokenCells):
    """Expect every value of a column to be a finite number above zero."""

    column: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (
        _register_count("positive", lambda c: _broken(c, is_positive(c))),
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column",)


class ExpectColumnValuesNotToBe(_BrokenCells):
    """Expect no value of a column to be a given label."""

    column: str
    label: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (
        _register_count("label", lambda c, label: _broken(c, ~is_level(c, [label])), "label"),
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column", "label")


class ExpectColumnToHaveFewLabels(_BrokenCells):
    """Expect a column to have at most ``most`` different values."""

    column: str
    most: int

    metric_dependencies: ClassVar[tuple[str, ...]] = (
        _register_count("few_labels", _beyond, "most"),
    )
    success_keys: ClassVar[tuple[str, ...]] = ("column", "most")


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


class _RowsOfFewUnits(TableMetricProvider):
    metric_name = "table.microrelease.rows_of_few_units"
    value_keys = ("column_list", "unit", "k")

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
        unit = metric_value_kwargs["unit"]
        groups = frame.groupby(list(metric_value_kwargs["column_list"]), dropna=False)[unit]
        units = groups.nunique()
        return int(groups.size()[units < metric_value_kwargs["k"]].sum())


class ExpectEveryCombinationOfAtLeastKUnits(BatchExpectation):
    """Expect the rows of every combination of values to belong to at least ``k`` units."""

    column_list: list[str]
    unit: str
    k: int

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.microrelease.rows_of_few_units",)
    success_keys: ClassVar[tuple[str, ...]] = ("column_list", "unit", "k")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        rows = metrics["table.microrelease.rows_of_few_units"]
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
