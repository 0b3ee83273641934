"""Of the risk and the utility: the gate between a masked file and its publication."""

from dataclasses import dataclass

from algorithms.errors import RefusedError
from algorithms.evaluation import Evaluation
from expectations.spec import Ceilings

REMEDIES = {
    "IL": "try a smaller k or a method that loses less",
    "DLD": "try a larger k",
}


@dataclass(frozen=True)
class Verdict:
    """One measure against its limit."""

    measure: str
    value: float
    limit: float
    passed: bool


@dataclass(frozen=True)
class Approval:
    """Leave to publish one table; one that exists has passed the gate.

    Attributes
    ----------
    evaluation : Evaluation
        What was measured on the table.
    ceilings : Ceilings
        What was tolerated.
    k : int
        The smallest group allowed.
    digest : str
        Of the table that was judged; no other may be published.

    Raises
    ------
    RefusedError
        If IL or DLD is above its ceiling or a group is smaller than ``k``; the message names the
        measure, its value, its ceiling and what to try.
    """

    evaluation: Evaluation
    ceilings: Ceilings
    k: int
    digest: str

    def __post_init__(self) -> None:
        reasons = [
            _reason(verdict)
            for verdict in verdicts(self.evaluation, self.ceilings, self.k)
            if not verdict.passed
        ]
        if reasons:
            raise RefusedError("; ".join(reasons))


def verdicts(evaluation: Evaluation, ceilings: Ceilings, k: int) -> tuple[Verdict, ...]:
    """Hold every gated measure against its limit; a measure that is not a number fails."""
    return (
        Verdict("IL", evaluation.il, ceilings.il, evaluation.il <= ceilings.il),
        Verdict("DLD", evaluation.dld, ceilings.dld, evaluation.dld <= ceilings.dld),
        Verdict("k", evaluation.smallest, k, evaluation.smallest >= k),
    )


def _reason(verdict: Verdict) -> str:
    if verdict.measure == "k":
        return (
            f"the smallest group must hold k={verdict.limit:d} records; it holds "
            f"{verdict.value:d}: use a method that groups all quasi-identifiers together"
        )
    digits = next(
        (d for d in (2, 4, 6, 8) if round(verdict.value, d) != round(verdict.limit, d)), 12
    )
    return (
        f"{verdict.measure} is {verdict.value:.{digits}f} %, above its ceiling of "
        f"{verdict.limit:.{digits}f} %: {REMEDIES[verdict.measure]}, or have the ceiling reviewed"
    )
