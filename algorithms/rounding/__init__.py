"""Group averages and rounding to publishable values."""
