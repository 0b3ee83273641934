"""Kinds of key columns: their dissimilarity, and the values that can be published."""

from algorithms.attributes.attribute import MISSING, Attribute, Coordinates, Values, is_missing
from algorithms.attributes.category import Category
from algorithms.attributes.date import Date
from algorithms.attributes.hierarchy import Hierarchy
from algorithms.attributes.missing import WithMissing
from algorithms.attributes.number import Number
from algorithms.attributes.ordered import Ordered

KINDS: tuple[type[Attribute], ...] = (Number, Date, Ordered, Category, Hierarchy, WithMissing)
"""All kinds; the contract tests check each of them."""

__all__ = [
    "KINDS",
    "MISSING",
    "Attribute",
    "Category",
    "Coordinates",
    "Date",
    "Hierarchy",
    "Number",
    "Ordered",
    "Values",
    "WithMissing",
    "is_missing",
]
