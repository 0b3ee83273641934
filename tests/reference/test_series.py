"""Groups that last, on simulated panels: what attackers get, what is lost and who is muted."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from algorithms.history import History, Past
from algorithms.masking import Plan, mask
from algorithms.microaggregation import METHODS
from algorithms.series.cohorts import Cohorts
from tests.cohorts import past_of
from tests.oracles.series import all_lone_changes, candidates_of_everyone
from tests.panels import panel
from tests.tables import table_of

pytestmark = pytest.mark.reference


@dataclass(frozen=True)
class Case:
    """A panel, and the most records that may be muted, in per cent: on average, and in each."""

    name: str
    periods: int
    seed: int
    mean: float
    each: float
    k: int = 5
    window: int | None = None


def case(*arguments: Any, slow: bool = False, **more: Any) -> Any:
    found = Case(*arguments, **more)
    marks = [pytest.mark.slow] if slow else []
    if found.name != "example":
        marks.append(pytest.mark.needs("benchmark sets"))
    window = f"-window-{found.window}" if found.window else ""
    name = f"{found.name}-{found.periods}-seed-{found.seed}-k-{found.k}{window}"
    return pytest.param(found, marks=marks, id=name)


@pytest.mark.parametrize(
    "case",
    [
        case("example", 5, 1, 5.0, 9.0),
        case("example", 5, 2, 5.0, 9.0, slow=True),
        case("example", 12, 1, 6.0, 10.0, slow=True),
        case("example", 12, 2, 6.0, 10.0, slow=True),
        case("tarragona", 5, 1, 2.0, 4.0),
        case("tarragona", 5, 2, 2.0, 4.0),
        case("census", 5, 1, 4.0, 10.0),
        case("census", 5, 2, 4.0, 10.0),
        case("census", 12, 1, 10.0, 10.0, window=4, slow=True),
        case("census", 12, 2, 10.0, 10.0, window=4, slow=True),
    ],
)
def test_nobody_falls_below_k_and_few_are_muted(case: Case) -> None:
    plan = Plan(k=case.k, method=METHODS["mdav"], cohorts=Cohorts())
    past: list[Past] = []
    muted = []
    for persons, x in panel(case.name, case.periods, case.seed):
        table = replace(table_of(list(x.T)), persons=persons)
        masked = mask(table, plan, history=History(tuple(past), case.window))
        past.append(past_of(masked))
        muted.append(100.0 * (~past[-1].visible).mean())
        loss = ((table.embedding.x - masked.averages) ** 2).sum()
        fresh = mask(table, Plan(k=case.k, method=METHODS["mdav"])).averages
        assert loss <= 1.25 * ((table.embedding.x - fresh) ** 2).sum()
    window = case.window or case.periods
    for last in range(1, case.periods + 1):
        known = past[max(last - window, 0) : last]
        assert min(candidates_of_everyone(known).values()) >= case.k
    assert all_lone_changes(past) == 0
    assert sum(muted) / len(muted) <= case.mean
    assert max(muted) <= case.each
