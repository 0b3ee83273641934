"""Labels of groups by trying every choice, or as a linear programme."""

import itertools

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

from algorithms.rounding.calibration import Choice
from algorithms.types import Labels, Matrix


def loss(counts: Matrix, sizes: Matrix, labels: Labels) -> float:
    """Add up the records whose label is not the published one."""
    return float(sum(sizes[g] - counts[g, label] for g, label in enumerate(labels)))


def published(sizes: Matrix, labels: Labels, count: int) -> Matrix:
    """Add up the records published with each label."""
    return np.array([sizes[labels == label].sum() for label in range(count)])


def objective(counts: Matrix, sizes: Matrix, totals: Matrix, labels: Labels) -> float:
    """Add the differences from the wanted totals to the loss."""
    differences = np.abs(published(sizes, labels, totals.size) - totals).sum()
    return loss(counts, sizes, labels) + float(differences)


def least_objective(counts: Matrix, sizes: Matrix, totals: Matrix) -> float:
    """Try every choice of labels."""
    choices = itertools.product(range(totals.size), repeat=sizes.size)
    return min(objective(counts, sizes, totals, np.array(labels)) for labels in choices)


def fractional_loss(counts: Matrix, sizes: Matrix, totals: Matrix) -> float:
    """Find the least loss with exactly these totals, if groups could be divided."""
    groups, labels = counts.shape
    one_label = scipy.sparse.kron(scipy.sparse.eye(groups), np.ones((1, labels)))
    margins = scipy.sparse.kron(sizes[np.newaxis], scipy.sparse.eye(labels))
    result = linprog(
        (sizes[:, np.newaxis] - counts).ravel(),
        A_eq=scipy.sparse.vstack([one_label, margins]).tocsc(),
        b_eq=np.concatenate([np.ones(groups), totals]),
        method="highs",
    )
    assert result.success
    return float(result.fun)


def check(choice: Choice, totals: Matrix) -> None:
    """Check that the surplus and the lists of flips are those of the chosen labels."""
    labels, classes = totals.size, choice.amounts.size
    surplus = published(choice.sizes, choice.chosen, labels) - totals
    np.testing.assert_allclose(choice.surplus, surplus, atol=1e-9 * choice.sizes.sum())
    for start, to, size_class in itertools.product(range(labels), range(labels), range(classes)):
        groups = np.flatnonzero((choice.chosen == start) & (choice.classes == size_class))
        flips = sorted(
            ((choice.counts[start, g] - choice.counts[to, g]) / choice.sizes[g], g) for g in groups
        )
        known = choice.known[start, to, size_class] if start != to else 0
        expected = flips[:known]
        assert choice.flips[start, to, size_class, :known].tolist() == [g for _, g in expected]
        assert choice.lengths[start, to, size_class, :known].tolist() == [x for x, _ in expected]
        if start != to:
            assert (known > 0) == (len(flips) > 0)
            assert choice.more[start, to, size_class] or known == len(flips)
