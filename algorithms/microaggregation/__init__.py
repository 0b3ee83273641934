"""Ways to group similar records."""

from algorithms.microaggregation.method import Method
from algorithms.registry import Registry

METHODS: Registry[Method] = Registry(
    __name__,
    "method",
    (
        "best",
        "cbfs",
        "cvmdav",
        "dba1",
        "dba2",
        "dbm",
        "fcm",
        "imhmi",
        "kward",
        "md",
        "mdav",
        "mdav1",
        "mdav2",
        "mdav_generic",
        "mhm",
        "mst_md",
        "mu_approx",
        "multi_dsort",
        "ps",
        "tfrp1",
        "tfrp2",
        "vmdav",
    ),
)
