"""Summarises the table before and after for pictures that show no record."""

from algorithms import profile as profiles
from algorithms.comparison import Comparison
from algorithms.masked import Masked
from algorithms.profile import Profile
from tasks.stage import stage


@stage(name="profile")
def profile(masked: Masked) -> Profile:
    """Reduce both to averages over at least k records, which is all that a report may draw."""
    return profiles.profile(Comparison(masked.original, masked))
