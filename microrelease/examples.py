"""The built-in example as a data frame."""

import pandas as pd

from algorithms.enterprise_survey import survey
from flows.example import example_table


def example(rows: int = 500, seed: int = 1) -> pd.DataFrame:
    """Draw one quarter of the built-in survey of fictitious enterprises.

    Parameters
    ----------
    rows : int
        Number of enterprises.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    pandas.DataFrame
        One record per enterprise; ``company`` identifies it, and some have no ``exports`` or no
        ``credit_rating``.

    Examples
    --------
    >>> example(rows=3)[["company", "region", "employees"]]
         company region  employees
    0  C00000000  Coast          3
    1  C00000001  Lakes         19
    2  C00000002  Coast         13
    """
    frame: pd.DataFrame = example_table(next(survey(rows, 1, seed))).to_pandas()
    return frame
