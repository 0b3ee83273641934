"""Random numbers that are the same on every machine."""

import numpy as np
from numpy.typing import NDArray

from algorithms.jit import kernel
from algorithms.types import Integers


def seeded(seed: int | tuple[int, ...]) -> Integers:
    """Give the state from which `draw_from` begins; a tuple tells apart what shares a seed."""
    return np.random.default_rng(seed).integers(1, 2**31 - 250, 2)


@kernel
def draw_from(state: Integers) -> float:
    """Draw a number from [0, 1), by two multiplicative generators combined [LEC88]_."""
    state[0] = state[0] * 40014 % 2147483563
    state[1] = state[1] * 40692 % 2147483399
    difference: int = state[0] - state[1]
    if difference < 1:
        difference += 2147483562
    return (difference - 1) / 2147483562.0


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers of 64 bits, each to another one, by the mixing steps of SplitMix64.

    Examples
    --------
    >>> mixed(np.array([0, 1], dtype=np.uint64)).tolist()
    [0, 6238072747940578789]
    """
    # unsigned numbers wrap around
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashes: NDArray[np.uint64] = numbers ^ (numbers >> np.uint64(31))
    return hashes
