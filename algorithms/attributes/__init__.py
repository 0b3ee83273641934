"""Kinds of key columns: how each differs between records, and which values it can publish."""

from algorithms.attributes.attribute import Attribute, Coordinates, Values
from algorithms.attributes.number import Number

KINDS: tuple[type[Attribute], ...] = (Number,)
"""Every kind; the contract tests try each."""

__all__ = ["KINDS", "Attribute", "Coordinates", "Number", "Values"]
