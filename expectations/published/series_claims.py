"""The claims of a release about itself together with the earlier releases of the same persons."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

COHORTS, FRESH = "cohorts", "fresh"
LASTING, NEW_EACH_PERIOD = "lasting", "new each period"
PERFECT, MEASURED = "perfect", "measured"


@dataclass(frozen=True)
class Start:
    """A decision to compare releases from a period on only.

    Attributes
    ----------
    period : str
        The first period that is compared.
    reason : str
        Why.
    """

    period: str
    reason: str


@dataclass(frozen=True)
class SeriesClaims:
    """What a release promises, or measured, together with earlier releases.

    Attributes
    ----------
    method : {"fresh", "cohorts"}
        Whether groups last from release to release.
    persons : {"lasting", "new each period"}
        Whether a person may be in two releases.
    reason : str
        Why no person is in two releases; empty if persons last.
    window : int, optional
        Number of releases, this one included, over which an attacker can follow a record; None for
        all.
    links : {"perfect", "measured"}
        Whether an attacker can follow every record, or only those that matching published values
        finds.
    compared : int
        Number of earlier releases that this one was compared with.
    muted : int
        Number of records whose confidential and other columns are empty, because they could be
        followed.
    candidates_min : int, optional
        Smallest number of persons who may be behind a record that is not muted; None if persons
        were not compared.
    start : Start, optional
        The decision not to compare the releases before a period.
    """

    method: str
    persons: str
    reason: str
    window: int | None
    links: str
    compared: int
    muted: int
    candidates_min: int | None
    start: Start | None

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "SeriesClaims":
        """Read the claims.

        Raises
        ------
        ValueError
            If a claim is none that can be made.
        """
        start = content["start"]
        claims = cls(**{**content, "start": None if start is None else Start(**start)})
        words = (claims.method, claims.persons, claims.links)
        choices = ((FRESH, COHORTS), (LASTING, NEW_EACH_PERIOD), (PERFECT, MEASURED))
        counts = (claims.compared, claims.muted, claims.window or 0, claims.candidates_min or 0)
        if any(word not in known for word, known in zip(words, choices, strict=True)):
            raise ValueError("series")
        if any(type(count) is not int or count < 0 for count in counts):
            raise ValueError("series")
        return claims

    @property
    def content(self) -> dict[str, Any]:
        """The claims as JSON."""
        return asdict(self)

    @property
    def identity(self) -> tuple[object, ...]:
        """The claims that make a release; others follow from the releases it is compared with."""
        start = None if self.start is None else self.start.period
        return (self.method, self.persons, self.window, self.links, self.muted, start)
