"""Kinds of key columns: their dissimilarity, and the values that can be published."""

from algorithms.attributes.attribute import Attribute, Coordinates, Values
from algorithms.attributes.number import Number

KINDS: tuple[type[Attribute], ...] = (Number,)
"""All kinds; the contract tests check each of them."""

__all__ = ["KINDS", "Attribute", "Coordinates", "Number", "Values"]
