"""The findings of a replay: the choice to take and its price, and what no method can avoid."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from algorithms.bounds.trajectory import Stretch
from expectations.request.spec import ReleaseSpec
from tasks.replay.choice import MOST_MUTED, OVER_FRESH, YARDSTICK, Choice, Replayed
from tasks.replay.periods import Period


@dataclass(frozen=True)
class Proof:
    """What every method must do to stay within a ceiling.

    Attributes
    ----------
    window : int, optional
        Number of releases over which an attacker can follow a record; None for all.
    ceiling : float
        Largest loss, as a multiple of that of fresh groups.
    muted : int
        Persons who must be muted at least once, by any method.
    stretch : Stretch
        The releases that prove this; if nobody must be muted, those of the largest loss.
    """

    window: int | None
    ceiling: float
    muted: int
    stretch: Stretch

    @property
    def feasible(self) -> bool:
        """Whether it is not ruled out that nobody is muted."""
        return not self.muted

    @property
    def is_by_loss(self) -> bool:
        """Whether more persons must be muted than those whom strata leave alone."""
        return self.muted > self.stretch.stranded


@dataclass(frozen=True)
class Findings:
    """Everything that a replay found out.

    Attributes
    ----------
    spec : ReleaseSpec
        The spec of the last period.
    periods : tuple of Period
        The periods, in counts.
    replays : tuple of Replayed
        The choices, with the releases that they would have given.
    bounds : dict of (int or None) to tuple of Stretch
        For each window what is proven, the largest loss first; empty if nothing is.
    unproven : str
        Why nothing is proven; empty if something is.
    """

    spec: ReleaseSpec
    periods: tuple[Period, ...]
    replays: tuple[Replayed, ...]
    bounds: dict[int | None, tuple[Stretch, ...]]
    unproven: str = ""

    @property
    def most_muted(self) -> float:
        """The share of records that may be muted in each release, in per cent."""
        return self.spec.gate.ceilings.all.get("muted", MOST_MUTED)

    def is_admissible(self, replayed: Replayed) -> bool:
        """Check whether a choice keeps k over all releases, within limits, and mutes few."""
        kept = replayed.keeps_k and replayed.passes
        return kept and not replayed.most("muted") > self.most_muted

    @property
    def recommended(self) -> Replayed | None:
        """The admissible choice against the strongest attacker that loses least.

        An attacker who can follow records over more releases is stronger.
        """
        admissible = filter(self.is_admissible, self.replays)
        return min(
            admissible,
            key=lambda each: (-(each.choice.window or math.inf), each.mean(OVER_FRESH)),
            default=None,
        )

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """What is proven for each window and ceiling that was tried."""
        ceilings = sorted(
            {each.choice.il_over_fresh for each in self.replays if each.choice.il_over_fresh}
        )
        return tuple(
            _proof(window, ceiling, stretches)
            for window, stretches in self.bounds.items()
            for ceiling in ceilings
            if stretches
        )

    def between(self, stretch: Stretch) -> str:
        """Name the first and the last period of a stretch."""
        first, last = self.periods[stretch.first].name, self.periods[stretch.last].name
        return first if first == last else f"{first} to {last}"


def _proof(window: int | None, ceiling: float, stretches: Sequence[Stretch]) -> Proof:
    strongest = max(stretches, key=lambda each: each.least_muted(ceiling))
    return Proof(window, ceiling, strongest.least_muted(ceiling), strongest)


def recommendation(found: Findings) -> str:
    """Say which choice to take, and what it costs; or why there is none."""
    return " ".join([_choice(found), *_unmeasured(found)])


def _choice(found: Findings) -> str:
    chosen = found.recommended
    if chosen is None:
        return _none(found)
    against = "everyone who follows records through all releases"
    if chosen.choice.window is not None:
        against = f"attackers who can follow records over {chosen.choice.window} releases only"
    words = (
        f"Use {_in_words(chosen.choice)}: k holds in each of {len(found.periods)} releases against "
        f"{against}, and no group gives a single person away."
    )
    return f"{words} {_price(chosen)}"


def _in_words(choice: Choice) -> str:
    if choice.lasts:
        return f"cohorts with il_over_fresh: {choice.il_over_fresh:g}"
    return f"fresh groups of {choice.method}"


def _price(replayed: Replayed) -> str:
    return (
        f"It loses {replayed.mean(OVER_FRESH):.2f} times as much as fresh groups of {YARDSTICK} "
        f"on average and mutes {replayed.mean('muted'):.1f} % of the records, "
        f"{replayed.last('muted'):.1f} % in the last release."
    )


def _none(found: Findings) -> str:
    """Name the choice that keeps k and mutes least, and what stands against it."""
    keeping = [each for each in found.replays if each.keeps_k]
    if not keeping:
        return "No choice that was tried keeps k over all releases."
    closest = min(keeping, key=lambda each: (len(_broken(each)), each.most("muted")))
    most = closest.most("muted")
    faults = []
    if most > found.most_muted:
        faults.append(f"mutes up to {most:.1f} % of a release, more than {found.most_muted:g} %")
    if _broken(closest):
        faults.append(f"breaks limits of the spec ({', '.join(_broken(closest))})")
    return (
        "No choice that was tried keeps k over all releases within the limits. The closest is "
        f"{_in_words(closest.choice)}, which {' and '.join(faults)}. {_price(closest)} Allow a "
        "larger loss or more muted records, declare a window if records cannot be followed for "
        "longer, make confidential columns coarser, or release less often."
    )


def _broken(replayed: Replayed) -> list[str]:
    """Name the limits that a release of a choice breaks, other than that on muted records."""
    failed = [v for step in replayed.steps for v in step.verdicts if not v.passed]
    return sorted({verdict.title for verdict in failed if verdict.measure != "muted"})


def _unmeasured(found: Findings) -> Iterator[str]:
    faulty = [each for each in found.replays if each.fault]
    if faulty:
        yield f"Caution: {len(faulty)} of {len(found.replays)} choices could not be replayed."


def feasibility(found: Findings) -> list[str]:
    """Say for each window what no method can avoid."""
    if found.unproven:
        return [f"What no method can avoid is not proven: {found.unproven}."]
    return [
        " ".join(_sentences(found, window, stretches))
        for window, stretches in found.bounds.items()
        if stretches
    ]


def _sentences(found: Findings, window: int | None, stretches: Sequence[Stretch]) -> Iterator[str]:
    largest = stretches[0]
    whom = "all releases" if window is None else f"{window} releases"
    yield (
        f"Against attackers who follow records over {whom}, no method that mutes nobody can lose "
        f"less than {largest.ratio:.2f} times what fresh groups of {YARDSTICK} lose "
        f"({found.between(largest)}, {largest.persons:,} persons)."
    )
    own = max(stretches, key=lambda each: each.own_ratio)
    yield (
        f"On the records of those who are in all releases of a stretch, it loses at least "
        f"{own.own_ratio:.2f} times as much ({found.between(own)}, {own.persons:,} persons)."
    )
    alone = max(stretches, key=lambda each: each.stranded)
    if alone.stranded:
        yield (
            f"At any loss, {_muted(found, alone, alone.stranded)}, because too few others pass "
            "through the same strata."
        )
    for proof in found.proofs:
        if proof.window == window and proof.is_by_loss:
            yield (
                f"At {proof.ceiling:g} times, {_muted(found, proof.stretch, proof.muted)}: muting "
                "nobody is not feasible at this ceiling."
            )


def _muted(found: Findings, stretch: Stretch, count: int) -> str:
    return (
        f"at least {count:,} of {stretch.persons:,} persons must be muted at least once "
        f"({found.between(stretch)})"
    )
