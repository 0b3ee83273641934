"""What every registered algorithm tells people who use the data."""

import re

import pytest

from algorithms.microaggregation import METHODS
from algorithms.microaggregation.method import Method
from algorithms.orderings import ORDERINGS
from algorithms.orderings.ordering import Ordering
from algorithms.references import PAPERS

every_algorithm = pytest.mark.parametrize(
    "algorithm",
    [
        *(pytest.param(method, id=f"method {name}") for name, method in METHODS.items()),
        *(pytest.param(ordering, id=f"ordering {name}") for name, ordering in ORDERINGS.items()),
    ],
)


@every_algorithm
def test_a_summary_is_one_or_two_plain_sentences(algorithm: Method | Ordering) -> None:
    summary = algorithm.summary
    assert re.fullmatch(r"[A-Z][A-Za-z0-9 ,:;.()-]+\.", summary), "plain text, no markup"
    assert 1 <= len(re.findall(r"\.(?= [A-Z]|$)", summary)) <= 2
    assert 8 <= len(summary.split()) <= 45
    for jargon in ("row", "centroid", "matrix", "label", "quasi", "sum of squares", "x "):
        assert not re.search(rf"\b{jargon}", summary)


@every_algorithm
def test_a_summary_is_not_the_docstring(algorithm: Method | Ordering) -> None:
    assert algorithm.summary not in " ".join((algorithm.run.__doc__ or "").split())


@every_algorithm
def test_its_paper_can_be_cited(algorithm: Method | Ordering) -> None:
    assert algorithm.paper in PAPERS
