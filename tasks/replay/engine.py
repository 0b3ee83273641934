"""Releases past periods again, by one choice after the other."""

import time
from collections.abc import Sequence

import numpy as np

from algorithms.bounds.trajectory import Stretch, trajectory_bounds
from algorithms.comparison import Comparison
from algorithms.errors import ReleaseError
from algorithms.history import History, Past
from algorithms.masked import Masked
from algorithms.masking import mask
from algorithms.table import Table
from algorithms.types import Matrix
from algorithms.utility.il import loss
from expectations.gate import Verdicts
from expectations.request.spec import ReleaseSpec
from tasks.evaluate import evaluate
from tasks.listening import listener
from tasks.replay.choice import YARDSTICK, Choice, Replayed, Step, measures_of
from tasks.replay.periods import about
from tasks.stage import guarded

LARGEST_BOUND = 5000
"""Records of a period up to which the bound is proven: it compares all trajectories."""


class Replay:
    """The tables of past periods, and the fresh groups of those, which choices share."""

    def __init__(self, tables: Sequence[Table], specs: Sequence[ReleaseSpec]) -> None:
        self._tables = tables
        self._specs = specs
        self._fresh: dict[tuple[str, int], Masked] = {}

    def run(self, choice: Choice, total: int) -> Replayed:
        """Release all periods by a choice; an error ends its series, not those of others."""
        started = time.monotonic()
        steps: list[Step] = []
        past: list[Past] = []
        fault = ""
        for t in range(len(self._tables)):
            try:
                step, masked = guarded("replay", self._step)(choice, t, past)
            except ReleaseError as error:
                fault = f"{self._period(t)}: {error}"
                break
            steps.append(step)
            past.append(_past(masked, step.period))
            listener().period_replayed(choice, step, total)
        return Replayed(choice, tuple(steps), time.monotonic() - started, fault)

    def bounds(self, window: int | None) -> tuple[Stretch, ...]:
        """Prove what all methods must lose or mute; nothing for weighted or large tables.

        Raises
        ------
        ReleaseError
            If a period cannot be released at all, so that there is nothing to compare with.
        """
        fresh = [self._yardstick(t) for t in range(len(self._tables))]
        if any(each.original.weights is not None for each in fresh) or self.is_large:
            return ()
        return trajectory_bounds(
            [each.original for each in fresh], [_losses(each) for each in fresh], fresh[0].k, window
        )

    @property
    def is_large(self) -> bool:
        """Whether a period has too many records for the bound."""
        return max(map(len, self._tables)) > LARGEST_BOUND

    def _step(self, choice: Choice, t: int, past: Sequence[Past]) -> tuple[Step, Masked]:
        spec = choice.spec(self._specs[t])
        assert spec.series is not None
        history = History(tuple(past), window=spec.series.window, links=spec.series.links)
        masked = self._masked(choice, t, history)
        names = measures_of(spec, last=t == len(self._tables) - 1)
        evaluation = evaluate.fn(Comparison(masked, history), spec, names)
        verdicts = Verdicts(evaluation, spec.gate, masked.k, spec.columns).each
        fresh = _loss(self._yardstick(t))
        over_fresh = _loss(masked) / fresh if fresh else float("nan")
        return Step(self._period(t), evaluation, verdicts, over_fresh), masked

    def _masked(self, choice: Choice, t: int, history: History) -> Masked:
        """Group a table; fresh groups, from which cohorts start, are the same for all choices."""
        if choice.lasts:
            start = self._masked(Choice(self._specs[t].microaggregation.method), t, History())
            plan = choice.spec(self._specs[t]).plan
            return mask(self._tables[t], plan, history=history, fresh=start.groupings)
        known = choice.method, t
        if known not in self._fresh:
            self._fresh[known] = mask(self._tables[t], choice.spec(self._specs[t]).plan)
        return self._fresh[known]

    def _yardstick(self, t: int) -> Masked:
        with about(self._period(t)):
            return self._masked(Choice(YARDSTICK), t, History())

    def _period(self, t: int) -> str:
        return str(self._specs[t].release.period)


def _past(masked: Masked, period: str) -> Past:
    """Remember a release as the next one may be compared with it."""
    grouping, persons = masked.groupings[0], masked.original.persons
    assert persons is not None
    shown = np.ones(len(persons), dtype=bool) if grouping.muted is None else ~grouping.muted
    return Past(period, masked.k, persons, grouping.partition.labels, shown, masked.original)


def _loss(masked: Masked) -> float:
    _, sse, _ = loss(Comparison(masked))
    return sse


def _losses(masked: Masked) -> Matrix:
    files = Comparison(masked)
    losses: Matrix = ((files.before - files.after) ** 2).sum(axis=1)
    return losses
