"""Fields that specs and forms share."""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.registry import Registry
from expectations.request.faults import PERIOD


def fields_may_be_empty(schema: dict[str, Any]) -> None:
    """Describe a field that can be left out by what it holds otherwise, as forms show it."""
    for name, field in schema.get("properties", {}).items():
        kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
        if len(kinds) == 1 and len(field["anyOf"]) > 1 and "$ref" not in kinds[0]:
            kept = {k: v for k, v in field.items() if k not in ("anyOf", "default")}
            schema["properties"][name] = {**kept, **kinds[0]}


STRICT = ConfigDict(
    extra="forbid",
    frozen=True,
    use_attribute_docstrings=True,
    json_schema_extra=fields_may_be_empty,
)


def named_in(registry: Registry[Any]) -> AfterValidator:
    """Accept the names on a registry's list only, and help with the others."""
    return AfterValidator(registry.known)


def listed(registry: Registry[Any]) -> Any:
    """Offer the names on a registry's list to whoever fills in a form."""
    return Field(json_schema_extra={"enum": list(registry)})


MethodName = Annotated[str, named_in(METHODS), listed(METHODS)]
OrderingName = Annotated[str, named_in(ORDERINGS), listed(ORDERINGS)]
PeriodName = Annotated[str, Field(pattern=PERIOD, max_length=40)]
Percentage = Annotated[float, Field(ge=0, le=100, strict=True)]
GroupSize = Annotated[int, Field(ge=2, strict=True)]
Revision = Annotated[int, Field(ge=0, strict=True)]
