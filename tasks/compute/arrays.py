"""Named arrays as bytes, in a form that runs no code when it is read."""

import json
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from algorithms.blocks.running import Arrays
from algorithms.errors import ContractError

ALIGNMENT = 64
"""Each array starts at a multiple of this many bytes: kernels are compiled for aligned arrays."""
LENGTH = 8
"""Bytes of the length of the header."""

Bytes = NDArray[np.uint8]


def packed(arrays: Arrays) -> Bytes:
    """Write arrays behind a header with their names, types, shapes and orders.

    Raises
    ------
    ContractError
        If an array holds Python objects.
    """
    described: list[tuple[str, str, tuple[int, ...], Literal["C", "F"], int]] = []
    start = 0
    for name, array in arrays.items():
        if array.dtype.hasobject or array.dtype.fields is not None:
            raise ContractError(f"an array of a block must be of a plain type; {name!r} is not")
        # the order of elements decides the order of sums, and so the last digits of a result
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        described.append((name, array.dtype.str, array.shape, "F" if by_columns else "C", start))
        start = _aligned(start + array.nbytes)
    header = json.dumps(described).encode()
    first = _aligned(LENGTH + len(header))
    content = np.zeros(first + start, dtype=np.uint8)
    content[:LENGTH] = np.frombuffer(len(header).to_bytes(LENGTH, "little"), dtype=np.uint8)
    content[LENGTH : LENGTH + len(header)] = np.frombuffer(header, dtype=np.uint8)
    for array, (*_, order, offset) in zip(arrays.values(), described, strict=True):
        place = content[first + offset : first + offset + array.nbytes]
        np.ndarray(array.shape, array.dtype, place.data, order=order)[...] = array
    return content


def unpacked(content: Bytes) -> dict[str, NDArray[Any]]:
    """Read the arrays; they share the memory of the content and cannot be written to."""
    content.flags.writeable = False
    length = int.from_bytes(content[:LENGTH].tobytes(), "little")
    first = _aligned(LENGTH + length)
    header = content[LENGTH : LENGTH + length].tobytes()
    return {
        name: np.ndarray(shape, dtype, content.data, first + offset, order=order)
        for name, dtype, shape, order, offset in json.loads(header)
    }


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
