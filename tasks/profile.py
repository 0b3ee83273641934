"""Summarises the table before and after masking, for pictures that show no record."""

from algorithms import profile as profiles
from algorithms.comparison import Files
from algorithms.profile import Profile
from tasks.stage import stage


@stage(name="profile")
def profile(files: Files) -> Profile:
    """Reduce both tables to averages over at least k records; a report may draw nothing else."""
    return profiles.profile(files)
