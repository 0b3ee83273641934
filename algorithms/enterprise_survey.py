"""The built-in example: a quarterly survey of fictitious enterprises."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

REGIONS = ("Centre", "Coast", "East", "Islands", "Lakes", "North", "South", "West")
SECTORS = (
    ("A01", "A02"),         # agriculture
    ("F41", "F43"),         # construction
    ("D35",),               # energy
    ("I55", "I56"),         # hospitality
    ("C10", "C25", "C28"),  # manufacturing
    ("G46", "G47"),         # trade
    ("M69", "M70"),         # services
    ("H49", "H50"),         # transport
)  # fmt: skip
"""Branches of each sector, in the style of NACE: a letter for the section, two digits for the
division."""
BRANCHES = tuple(code for sector in SECTORS for code in sector)
SIZE_CLASSES = ("under 10", "10 to 49", "50 and more")
SIZE_LIMITS = (10, 50)
"""Employees from which the second and the third size class begin."""
DIGITAL = ("none", "basic", "advanced", "leading")
"""How far enterprises have come with digital tools, the least first."""
RATINGS = ("A", "B", "C", "D")
UNSTATED = 0.02
"""Share of enterprises that do not state their exports."""

LEAVING = 0.05
"""Share of enterprises that close or leave the sample within a quarter; as many others enter."""
ABSENT = 0.02
"""Share of enterprises that do not answer in a quarter, and return in the next one."""


MOVED = ("size", "productivity", "pay", "intensity", "export_share", "research_share")
"""Properties that enterprises exchange if they change altogether."""


@dataclass
class _Enterprises:
    """Properties that enterprises keep from quarter to quarter, as logarithms of their figures."""

    number: Integers
    region: Integers
    sector: Integers
    branch: Integers
    founded: Integers
    digital: Integers
    size: Reals
    productivity: Reals
    pay: Reals
    intensity: Reals
    export_share: Reals
    research_share: Reals


def survey(
    rows: int,
    quarters: int,
    seed: int,
    *,
    leaving: float = LEAVING,
    absent: float = ABSENT,
    moving: float = 0.0,
) -> Iterator[dict[str, Reals | Integers]]:
    """Draw one table per quarter.

    Sizes have a lognormal body and a Pareto tail. All other columns depend on the size, the sector
    and the habits of an enterprise, so that attributes are correlated and heavy-tailed. Between
    quarters, enterprises grow or shrink a little; a few leave and others enter, and some do not
    answer once.

    Parameters
    ----------
    rows : int
        Number of enterprises in the sample. All of them answer in the first quarter, which depends
        on the seed only.
    quarters : int
        Number of tables to draw.
    seed : int
        The same seed gives the same tables.
    leaving : float
        Share of enterprises that leave within a quarter; as many others enter.
    absent : float
        Share of enterprises that do not answer in a quarter, and return in the next one.
    moving : float
        Share of enterprises that change altogether within a quarter: each takes the size and the
        habits of another one. 0.5 makes a panel in which hardly anyone keeps its neighbours.

    Yields
    ------
    dict of str to array of shape (n,)
        Columns by name; ``region``, ``sector``, ``size_class``, ``digital`` and ``credit_rating``
        as positions in ``REGIONS``, ``BRANCHES``, ``SIZE_CLASSES``, ``DIGITAL`` and ``RATINGS``.
        -1 stands for an enterprise that has no rating, or does not state its exports.

    Examples
    --------
    >>> first, second = survey(rows=500, quarters=2, seed=1)
    >>> bool(0.9 < np.isin(second["company"], first["company"]).mean() < 1.0)
    True
    """
    rng = np.random.default_rng(seed)
    # traits have a generator of their own, so that figures do not depend on them
    traits = np.random.default_rng([seed, 1])
    # and so have absences and moves
    answers, moves = (np.random.default_rng([seed, stream]) for stream in (2, 3))
    enterprises = _found(rng, traits, np.arange(rows))
    present = np.ones(rows, dtype=bool)
    for quarter in range(quarters):
        if quarter:
            joined = _age(rng, traits, enterprises, rows * quarter, leaving)
            _move(moves, enterprises, moving)
            # one that was absent returns, and one that enters answers
            present = ~(present & ~joined & (answers.random(rows) < absent))
        reported = _report(rng, traits, enterprises)
        yield {name: values[present] for name, values in reported.items()}


def _found(rng: np.random.Generator, traits: np.random.Generator, number: Integers) -> _Enterprises:
    n = len(number)
    large = rng.random(n) < 0.05
    size = rng.normal(2.2, 0.8, n) + np.where(large, rng.exponential(0.6, n) + 1.0, 0.0)
    size = np.minimum(size, rng.normal(5.8, 0.3, n))  # the largest are surveyed elsewhere
    region = rng.choice(len(REGIONS), n, p=_weights(len(REGIONS)))
    sector = rng.choice(len(SECTORS), n, p=_weights(len(SECTORS)))
    firsts = np.cumsum([0, *(len(codes) for codes in SECTORS)])
    widths = np.diff(firsts)[sector]
    return _Enterprises(
        number=number,
        region=region,
        sector=sector,
        branch=firsts[sector] + np.floor(widths * traits.random(n) ** 2).astype(np.int64),
        founded=2026 - np.floor(traits.gamma(1.6, 9.0, n)).astype(np.int64),
        digital=np.digitize(0.7 * size + traits.normal(0.0, 0.5, n), [1.0, 1.8, 2.8]),
        size=size,
        productivity=rng.normal(0.0, 0.25, n) + 0.05 * size,
        pay=rng.normal(0.0, 0.2, n),
        intensity=rng.normal(0.0, 0.25, n),
        export_share=np.where(rng.random(n) < 0.4, rng.beta(3.0, 6.0, n), 0.0),
        research_share=np.where(rng.random(n) < 0.4, rng.beta(6.0, 120.0, n), 0.0),
    )


def _age(
    rng: np.random.Generator,
    traits: np.random.Generator,
    enterprises: _Enterprises,
    first_new: int,
    leaving: float,
) -> Mask:
    """Move enterprises on by a quarter, and mark the places of those that have entered."""
    n = len(enterprises.number)
    left = rng.random(n) < leaving
    joining = _found(rng, traits, first_new + np.arange(left.sum()))
    joining.size -= 0.7  # a new enterprise is small
    for name, values in vars(joining).items():
        getattr(enterprises, name)[left] = values
    enterprises.size += rng.normal(0.002, 0.04, n)
    enterprises.productivity += rng.normal(0.0, 0.03, n)
    enterprises.pay += rng.normal(0.004, 0.01, n)
    return left


def _move(moves: np.random.Generator, enterprises: _Enterprises, moving: float) -> None:
    """Let some enterprises exchange everything that their figures depend on."""
    movers = np.flatnonzero(moves.random(len(enterprises.number)) < moving)
    others = moves.permutation(movers)
    for name in MOVED:
        values = getattr(enterprises, name)
        values[movers] = values[others]


def _report(
    rng: np.random.Generator, traits: np.random.Generator, of: _Enterprises
) -> dict[str, Reals | Integers]:
    def noise(deviation: float) -> Reals:
        return np.exp(rng.normal(0.0, deviation, len(of.number)))

    employees = np.maximum(np.rint(np.exp(of.size)), 1.0)
    hours = employees * 430.0 * noise(0.06)
    sector = np.linspace(-0.5, 0.6, len(SECTORS))[of.sector]
    turnover = employees * np.exp(10.0 + sector + of.productivity) * noise(0.08)
    wages = employees * np.exp(8.9 + 0.4 * of.productivity + of.pay) * noise(0.04)
    invests = rng.random(len(employees)) < 0.25 + 0.1 * np.minimum(of.size, 6.0)
    investment = np.where(invests, turnover * 0.06 * noise(0.35), 0.0)
    margin = rng.normal(0.06, 0.09, len(employees)) + 0.05 * of.productivity
    rating = np.digitize(margin + rng.normal(0.0, 0.03, len(employees)), [-0.03, 0.04, 0.12])
    unrated = rng.random(len(employees)) < 0.08
    exports = _whole(turnover * of.export_share * noise(0.05))
    unstated = traits.random(len(employees)) < UNSTATED
    return {
        "company": of.number.copy(),
        "region": of.region.copy(),
        "sector": of.branch.copy(),
        "founded": of.founded.copy(),
        "size_class": np.digitize(employees, SIZE_LIMITS),
        "digital": of.digital.copy(),
        "employees": _whole(employees),
        "hours_worked": _whole(hours),
        "turnover": _whole(turnover),
        "wages": _whole(wages),
        "exports": np.where(unstated, -1, exports),
        "investment": _whole(investment),
        "research": _whole(turnover * of.research_share * noise(0.1)),
        "inventories": _whole(turnover * np.exp(-2.2 + of.intensity) * noise(0.1)),
        "energy_mwh": np.round(turnover**0.85 * np.exp(-6.5 + of.intensity) * noise(0.05), 1),
        "freight_tonnes": np.round(turnover * np.exp(-8.0 + 1.2 * sector) * noise(0.25), 2),
        "profit": _whole(turnover * margin),
        "credit_rating": np.where(unrated, -1, len(RATINGS) - 1 - rating),
    }


def _whole(values: Reals) -> Integers:
    return np.rint(values).astype(np.int64)


def _weights(count: int) -> Reals:
    weights = 1.0 / np.arange(2.0, count + 2.0)
    normalised: Reals = weights / weights.sum()
    return normalised
