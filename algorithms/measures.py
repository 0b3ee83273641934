"""All measures by name: one list for the gate, the command line, reports and documentation."""

from collections.abc import Mapping

from algorithms.measure import Measure
from algorithms.risk import (
    across,
    classes,
    differencing,
    diversity,
    dld,
    interval,
    known,
    links,
    one_to_one,
    solving,
    stable,
)
from algorithms.utility import certificate, il, labels, moments, presence, propensity, structure

MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for module in (
        il, certificate, labels, presence, moments, structure, propensity,
        classes, known, dld, interval, one_to_one, diversity,
        across, differencing, stable, links, solving,
    )
    for measure in module.MEASURES
}  # fmt: skip
"""Utility first, then risk."""
