"""Groups that last over the releases of a series."""
