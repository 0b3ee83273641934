"""Kinds of source: one reader each. `expectations.request.sections.source` lists them."""

from algorithms.registry import Registry
from expectations.request.sections.source import SOURCE_KINDS
from tasks.sources.reader import Reader

READERS: Registry[Reader] = Registry(__name__, "reader", SOURCE_KINDS)
