"""The Python interface: mask a data frame, explore choices, run a release.

Names are imported on first use. Importing this package turns off telemetry, as every part of the
product does, and loads nothing else.

Examples
--------
>>> import microrelease
>>> frame = microrelease.example(rows=200)[["region", "employees", "turnover"]]
>>> masked = microrelease.mask(
...     frame, k=5, quasi_identifiers=["region", "employees", "turnover"],
...     categories=["region"], integers=["employees", "turnover"], method="mdav",
... )
>>> masked.k, len(masked.frame)
(5, 200)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# the first import: it sets what must be set before Prefect and Great Expectations are imported
import expectations  # noqa: F401
from algorithms.errors import (
    ContractError,
    DataError,
    IntegrityError,
    RefusedError,
    RejectedError,
    ReleaseError,
    SpecError,
    StorageError,
)

if TYPE_CHECKING:
    from microrelease.estimator import Microaggregator
    from microrelease.examples import example
    from microrelease.exploring import Exploration, explore
    from microrelease.masking import Certificate, Masked, mask
    from microrelease.releases import Release

__all__ = [
    "Certificate",
    "ContractError",
    "DataError",
    "Exploration",
    "IntegrityError",
    "Masked",
    "Microaggregator",
    "RefusedError",
    "RejectedError",
    "Release",
    "ReleaseError",
    "SpecError",
    "StorageError",
    "example",
    "explore",
    "mask",
]

_HOMES = {
    "Certificate": "masking",
    "Exploration": "exploring",
    "Masked": "masking",
    "Microaggregator": "estimator",
    "Release": "releases",
    "example": "examples",
    "explore": "exploring",
    "mask": "masking",
}
"""The module of each name; none has the name of a function, which it would hide."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("microrelease")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, "__version__"])
