"""Confidential columns as the measures read them."""

import pandas as pd

from algorithms.comparison import Codes


def codes_of(column: pd.Series) -> Codes:
    """Count up the distinct values of a column, in their order; missing is one of them.

    Examples
    --------
    >>> codes_of(pd.Series([20, 10, 20])).values
    array([1, 0, 1])
    """
    codes, _ = pd.factorize(column, sort=True, use_na_sentinel=False)
    return Codes(codes.astype("int64"), ordered=pd.api.types.is_numeric_dtype(column))
