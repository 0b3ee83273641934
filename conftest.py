"""Names that doctests may use."""

import numpy as np
import pytest

from tests.tables import compare


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["np"] = np
    doctest_namespace["compare"] = compare
