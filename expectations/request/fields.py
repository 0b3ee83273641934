"""Types of fields, and the configuration of models, that specs and forms share."""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.registry import Registry
from expectations.request.faults import PERIOD, WORDS


def fields_may_be_empty(schema: dict[str, Any]) -> None:
    """Describe an optional field by the type of its value, so that forms show a plain input."""
    for name, field in schema.get("properties", {}).items():
        kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
        if len(kinds) == 1 and len(field["anyOf"]) > 1 and "$ref" not in kinds[0]:
            kept = {k: v for k, v in field.items() if k not in ("anyOf", "default")}
            schema["properties"][name] = {**kept, **kinds[0]}


def title_of(model: type[Any]) -> str:
    """Title a model for schemas and forms: `GateSection` is shown as "Gate"."""
    return model.__name__.removesuffix("Section")


STRICT = ConfigDict(
    extra="forbid",
    frozen=True,
    use_attribute_docstrings=True,
    model_title_generator=title_of,
    json_schema_extra=fields_may_be_empty,
)


def named_in(registry: Registry[Any]) -> AfterValidator:
    """Accept the names of a registry only; suggest a name for any other."""
    return AfterValidator(registry.known)


def listed(registry: Registry[Any]) -> Any:
    """Offer the names of a registry as the choices of a form."""
    return Field(json_schema_extra={"enum": list(registry)})


MethodName = Annotated[str, named_in(METHODS), listed(METHODS)]
OrderingName = Annotated[str, named_in(ORDERINGS), listed(ORDERINGS)]
PeriodName = Annotated[str, Field(pattern=PERIOD, max_length=40)]
Percentage = Annotated[float, Field(ge=0, le=100, strict=True)]
Limit = Annotated[float, Field(strict=True, allow_inf_nan=False)]
GroupSize = Annotated[int, Field(ge=2, strict=True)]
Revision = Annotated[int, Field(ge=0, strict=True)]
Reason = Annotated[str, Field(pattern=WORDS, max_length=500)]
