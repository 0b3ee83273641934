"""Rules of tables, declared apart from the engine that checks them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from algorithms.errors import ContractError


@dataclass(frozen=True)
class Rule:
    """One rule of a suite.

    Attributes
    ----------
    expectation : str
        Name of the expectation, of Great Expectations or of `expectations.suites.custom`.
    words : str
        The rule in reports.
    given : mapping of str to object
        Arguments of the expectation, such as its column.
    one, several : str
        The end of a sentence on values that break the rule, such as "is not" and "are not"; empty
        if rows are counted and not values.
    """

    expectation: str
    words: str
    given: Mapping[str, Any]
    one: str = ""
    several: str = ""


@dataclass(frozen=True)
class Suite:
    """Rules that a table must satisfy together."""

    name: str
    rules: tuple[Rule, ...]


def rule(expectation: str, words: str, one: str = "", several: str = "", **given: Any) -> Rule:
    """Declare a rule with the arguments of its expectation."""
    return Rule(expectation, words, given, one, several)


def could_not_run(rule: Rule) -> ContractError:
    """Give the error of a rule that could not be checked."""
    return ContractError(f"the check could not be run: {rule.words}")
