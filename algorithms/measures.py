"""All measures, by name: one list for gate, command line, report, artefacts and docs."""

from collections.abc import Mapping

from algorithms.measure import Measure
from algorithms.risk import classes, diversity, dld, interval, one_to_one
from algorithms.utility import certificate, il, moments, propensity, structure

MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for module in (
        il, certificate, moments, structure, propensity,
        classes, dld, interval, one_to_one, diversity,
    )
    for measure in module.MEASURES
}  # fmt: skip
"""Utility first, then risk."""
