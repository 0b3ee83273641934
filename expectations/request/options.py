"""The options of an algorithm, as its signature declares them."""

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from algorithms.errors import SpecError
from algorithms.problem import Budget
from expectations.request.faults import faults


@lru_cache
def options_of(function: Callable[..., Any]) -> type[BaseModel]:
    """Build a strict model of the keyword-only parameters of ``function``.

    Examples
    --------
    >>> def cut(x, k, *, gamma: float = 0.2): ...
    >>> options_of(cut).model_validate({"gamma": 0.5})
    Options(gamma=0.5)
    """
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    fields: dict[str, Any] = {
        name: (hints[name], parameter.default)
        for name, parameter in parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    if "budget" in parameters:
        limits = get_type_hints(Budget, include_extras=True)
        fields = {name: (hint, None) for name, hint in limits.items()} | fields
    return create_model("Options", __config__=ConfigDict(extra="forbid", strict=True), **fields)


def check_options(kind: str, name: str, run: Callable[..., Any], options: dict[str, Any]) -> None:
    """Check options against the signature of the algorithm that takes them.

    Parameters
    ----------
    kind : str
        Kind of the algorithm, such as "method".
    name : str
        Its name.
    run : callable
        The algorithm.
    options : dict of str to object
        Its options in a spec.

    Raises
    ------
    SpecError
        If they do not fit; the message names every fault.
    """
    model = options_of(run)
    try:
        model.model_validate(options)
    except ValidationError as error:
        known = ", ".join(model.model_fields) or "none"
        listed = "; ".join(faults(error, f"the options of {name!r} are: {known}"))
        raise SpecError(f"options of {kind} {name!r} do not fit: {listed}") from None


def described(function: Callable[..., Any]) -> list[str]:
    """Describe each option by its name, the values it accepts and its default.

    Examples
    --------
    >>> def cut(x, k, *, gamma: float = 0.2): ...
    >>> described(cut)
    ['gamma: number, default 0.2']
    """
    schema = options_of(function).model_json_schema()
    return [
        f"{name}: {_accepted(facts)}, default {_shown(facts['default'])}"
        for name, facts in schema.get("properties", {}).items()
    ]


def _accepted(facts: dict[str, Any]) -> str:
    if "anyOf" in facts:
        return " or ".join(_accepted(choice) for choice in facts["anyOf"])
    if "enum" in facts:
        return " or ".join(repr(value) for value in facts["enum"])
    bounds = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    limits = [f"{words} {facts[key]}" for key, words in bounds.items() if key in facts]
    kind = {"null": "none"}.get(facts["type"], facts["type"])
    return " ".join([kind, *limits])


def _shown(value: Any) -> str:
    """Write a value as a spec would."""
    return (
        "none" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    )
