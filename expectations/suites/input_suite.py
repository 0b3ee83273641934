"""Suites for the source file."""

from collections.abc import Iterator, Sequence

from algorithms.attributes import Hierarchy
from algorithms.attributes.tree import Tree
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from expectations.suites.kinds import kind_of
from expectations.suites.rules import Rule, Suite, rule


def shape_suite(spec: ReleaseSpec) -> Suite:
    """Build the suite for the shape of the source: its columns and its number of rows."""
    k = spec.microaggregation.k
    return Suite(
        name="input-shape",
        rules=(
            rule(
                "ExpectTableColumnsToMatchSet",
                "the file must have exactly the columns to which the spec gives a role",
                column_set=list(spec.columns.all),
            ),
            rule(
                "ExpectTableRowCountToBeBetween",
                f"the file must have at least k={k} rows",
                min_value=k,
            ),
        ),
    )


def input_suite(spec: ReleaseSpec) -> Suite:
    """Build the suite for the values of the source."""
    return Suite(
        name="input",
        rules=(
            *_complete(spec.columns),
            *(
                rule(
                    "ExpectColumnValuesToBeUnique",
                    f"{column!r} is an identifier and must be unique (if several records "
                    "belong to one person, household or company, name it in columns.unit)",
                    column=column,
                )
                for column in spec.columns.identifiers
            ),
            *_weights(spec.columns),
            *_strata(spec.columns),
            *(
                each_rule
                for attribute in spec.columns.attributes
                for each_rule in kind_of(attribute).input_rules(attribute)
            ),
        ),
    )


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


def _complete(columns: ColumnsSection) -> Iterator[Rule]:
    """Require values in columns where none may be missing."""
    needed = [*columns.identifiers, *columns.strata]
    needed += [name for name in (columns.unit, columns.weight) if name is not None]
    for name in needed:
        yield rule(
            "ExpectColumnValuesToNotBeNull",
            f"{name!r} must have no missing values",
            column=name,
        )
    for name in columns.quasi_identifiers:
        if columns.missing.get(name, "refuse") == "refuse":
            yield rule(
                "ExpectColumnValuesToNotBeNull",
                f"{name!r} must have no missing values, or columns.missing must say how they "
                "are treated",
                column=name,
            )


def _weights(columns: ColumnsSection) -> Iterator[Rule]:
    if columns.weight is not None:
        yield rule(
            "ExpectColumnValuesToBePositive",
            f"{columns.weight!r} must be positive and finite",
            "is not",
            "are not",
            column=columns.weight,
        )


def _strata(columns: ColumnsSection) -> Iterator[Rule]:
    """Require strata that may be merged to have a place in their hierarchy."""
    for name in columns.strata:
        if name in columns.hierarchies:
            declared = Hierarchy(name, Tree.of([]), paths=columns.hierarchies[name].paths)
            yield from kind_of(declared).input_rules(declared)
