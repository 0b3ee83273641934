"""Replaces codes by their meaning: missing values first, then value labels."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from algorithms.types import Mask
from expectations.labels import as_text
from expectations.numbers import LARGEST_INTEGER, lossless, to_floats
from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Code, Decoded


@dataclass(frozen=True, eq=False)
class SourceTable:
    """A source with codes replaced by their meaning.

    Attributes
    ----------
    table : pyarrow.Table
        Its columns.
    declared_missing : dict of str to int
        Number of cells that the file itself declares to be missing by a code, by column.
    missing_codes : dict of str to dict of str to int
        Number of cells with each code in ``source.missing_codes``, by column.
    half_labelled : dict of str to int
        Columns that are still codes because some codes have labels and others do not, and how many
        do not.
    alike : dict of str to int
        Columns that are still codes because some codes share a label, and how many do.
    """

    table: pa.Table
    declared_missing: Mapping[str, int] = field(default_factory=dict)
    missing_codes: dict[str, dict[str, int]] = field(default_factory=dict)
    half_labelled: dict[str, int] = field(default_factory=dict)
    alike: dict[str, int] = field(default_factory=dict)


def replace_codes(decoded: Decoded, source: SourceSection) -> SourceTable:
    """Turn the codes in ``source.missing_codes`` into missing cells, and others into their labels.

    A column becomes labels if each of its codes that is not missing has a label of its own. It
    stays as it is if none has one, or if ``source.codes`` names it.
    """
    counts: dict[str, dict[str, int]] = {}
    half_labelled, alike, cells = {}, {}, []
    for name, column in zip(decoded.table.column_names, decoded.table.columns, strict=True):
        labels = {} if name in source.codes else decoded.labels.get(name, {})
        codes = source.missing_codes.get(name, ())
        if codes:
            found = {str(code): _equal(column, code, labels, source.decimal) for code in codes}
            counts[name] = {code: int(mask.sum()) for code, mask in found.items()}
            column = blank(column, np.logical_or.reduce(list(found.values())))
        present = column.unique().drop_null().to_pylist() if labels else []
        used = Counter(labels[code] for code in present if code in labels)
        if any(count > 1 for count in used.values()):
            alike[name] = sum(count for count in used.values() if count > 1)
        elif used and used.total() < len(present):
            half_labelled[name] = len(present) - used.total()
        elif used:
            column = _labelled(column, labels)
        cells.append(column)
    table = pa.table(cells, names=decoded.table.column_names)
    return SourceTable(table, decoded.missing, counts, half_labelled, alike)


def blank(column: pa.ChunkedArray, cells: Mask) -> pa.ChunkedArray:
    """Make some cells of a column missing."""
    return pc.if_else(pa.array(cells), None, column) if cells.any() else column


def decimal_points(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write a decimal comma as a point; a point becomes a comma, which no number contains."""
    marked = pc.replace_substring(text, ".", "\0")
    return pc.replace_substring(pc.replace_substring(marked, ",", "."), "\0", ",")


def _equal(column: pa.ChunkedArray, code: Code, labels: Mapping[Code, str], decimal: str) -> Mask:
    """Mark the cells that hold a code.

    A number is found however it is written, and text exactly. In a column of numbers, text is
    found if it is the label of a number, or a number that would not change if it were read.
    """
    is_text = pa.types.is_string(column.type)
    if isinstance(code, str):
        named = [each for each, label in labels.items() if label == code]
        cells = _marked(pc.equal(as_text(column), code))
        number = None if is_text else lossless(pa.array([code]))
        numbers = named if number is None else [*named, number[0].as_py()]
        found: Mask = np.logical_or.reduce([cells, *(_is_number(column, each) for each in numbers)])
        return found
    return _is_number(decimal_points(column) if is_text and decimal == "," else column, code)


def _is_number(column: pa.ChunkedArray, number: Code) -> Mask:
    if isinstance(number, str):
        return _marked(pc.equal(column, number))
    if pa.types.is_signed_integer(column.type) and float(number).is_integer():
        if abs(number) > LARGEST_INTEGER:
            return np.zeros(len(column), dtype=bool)
        return _marked(pc.equal(column, pa.scalar(int(number), pa.int64())))
    same: Mask = to_floats(column) == float(number)
    return same


def _labelled(column: pa.ChunkedArray, labels: Mapping[Code, str]) -> pa.ChunkedArray:
    """Replace codes, all of which have a label."""
    encoded = column.combine_chunks().dictionary_encode()
    names = [labels[code] for code in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(names, pa.string()).take(encoded.indices)])


def _marked(mask: pa.Array | pa.ChunkedArray) -> Mask:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=bool)
