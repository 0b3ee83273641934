"""Ways to group similar records."""

from algorithms.microaggregation.method import Method
from algorithms.registry import Registry

METHODS: Registry[Method] = Registry(
    __name__,
    "method",
    ("mdav",),
)
