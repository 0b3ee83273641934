"""Summarises the table before and after for pictures that show no record."""

import pandas as pd

from algorithms import profile as profiles
from algorithms.comparison import Comparison
from algorithms.profile import Profile
from expectations.request.spec import ReleaseSpec
from tasks.stage import stage
from tasks.standardise import matrix_of


@stage(name="profile")
def profile(original: pd.DataFrame, masked: pd.DataFrame, spec: ReleaseSpec) -> Profile:
    """Reduce both to averages over at least k records, which is all that a report may draw."""
    published = matrix_of(masked, spec.columns)
    files = Comparison(
        original=matrix_of(original, spec.columns),
        published=published,
        unrounded=published,
        k=spec.microaggregation.k,
    )
    return profiles.profile(files, spec.columns.quasi_identifiers)
