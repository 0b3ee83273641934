"""Re-identification by the best one-to-one assignment of all records."""

import numpy as np

from algorithms.comparison import Files
from algorithms.measure import Estimate, Measure
from algorithms.types import Labels, Matrix

MOST_ASSIGNED = 500
"""Largest number of records that are assigned at once; longer tables are sampled."""

SAMPLES = 8
SAMPLE_SEED = 1


def reidentified(original: Matrix, published: Matrix, classes: Labels) -> float:
    """Assign published to original records, one to one, with the least sum of squared distances.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original.
    classes : Labels of shape (n,)
        Number of each published record's combination of values.

    Returns
    -------
    float
        Percentage of records that are assigned to their own original. An attacker cannot
        distinguish records of one class, so an original that is assigned to its own class counts
        as one divided by the size of the class [DT01]_.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> reidentified(x, np.array([[0.5], [0.5], [8.5], [8.5]]), np.array([0, 0, 1, 1]))
    50.0
    """
    # imported late: reading a spec must not wait for scipy
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    rows, assigned = linear_sum_assignment(cdist(published, original, "sqeuclidean"))
    sizes = np.bincount(classes)
    right = classes[rows] == classes[assigned]
    return float(100.0 * (right / sizes[classes[rows]]).mean())


def best_linkage(files: Files) -> float | Estimate:
    """Measure all records, or estimate from several samples of whole classes."""
    if files.rows <= MOST_ASSIGNED:
        return reidentified(*files.some(np.arange(files.rows)), files.classes)
    rng = np.random.default_rng(SAMPLE_SEED)
    by_class = np.argsort(files.classes, kind="stable")
    ends = np.cumsum(files.sizes)
    shares = []
    for _ in range(SAMPLES):
        chosen = rng.permutation(files.sizes.size)
        upto = max(int(np.searchsorted(np.cumsum(files.sizes[chosen]), MOST_ASSIGNED)), 1)
        rows = np.concatenate(
            [by_class[ends[c] - files.sizes[c] : ends[c]] for c in chosen[:upto]]
        )[:MOST_ASSIGNED]
        _, classes = np.unique(files.classes[rows], return_inverse=True)
        shares.append(reidentified(*files.some(rows), classes))
    error = 1.96 * float(np.std(shares, ddof=1)) / np.sqrt(SAMPLES)
    return Estimate(
        float(np.mean(shares)),
        f"within {error:.2f} at 95 % confidence, from {SAMPLES} samples of at most {MOST_ASSIGNED} "
        "records in whole classes; linking is easier in a sample, so the figure for all records "
        "is lower",
    )


MEASURES = (
    Measure(
        name="reidentified_best",
        title="re-identified one to one",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records that are assigned to their own original when all published records "
            "are assigned to all originals, one to one, with the least sum of squared distances."
        ),
        paper="DT01",
        run=best_linkage,
        most=100.0,
        over_k=True,
    ),
)
