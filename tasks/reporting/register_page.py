"""The register as a page: every release and every attempt, and how each ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.reporting.page import render
from tasks.reporting.pictures import Svg
from tasks.reporting.timeline import timeline
from tasks.store.audit import Audit
from tasks.store.chain import PUBLISHED
from tasks.store.history import MOST_PERIODS, Past, by_period, latest
from tasks.store.shifts import CAPTION, Shift, shifts


@dataclass(frozen=True)
class Dataset:
    """Everything that the page shows of one dataset.

    Attributes
    ----------
    name : str
        Its name.
    pictures : list of Svg
        The timeline of each measure; empty if nothing was measured.
    shifts : list of Shift
        Changes of k and of limits, as the pictures mark them.
    attempts : tuple of Past
        All attempts, the latest period first.
    specs : dict of (str, str) to list of Past
        Name and SHA-256 of each reviewed spec, and the attempts that used it.
    """

    name: str
    pictures: list[Svg]
    shifts: list[Shift]
    attempts: tuple[Past, ...]
    specs: dict[tuple[str, str], list[Past]]


def register_page(found: Mapping[Path, tuple[Audit, Sequence[Past]]]) -> str:
    """Write one page of several registers, each with its audit and its attempts."""
    attempts = [past for _, pasts in found.values() for past in pasts]
    names = sorted({past.dataset for past in attempts})
    return render(
        "register.html",
        datasets=[_dataset(name, attempts) for name in names],
        caption=CAPTION,
        attempts=attempts,
        published=[past for past in attempts if past.decision == PUBLISHED],
        audits={folder: audit for folder, (audit, _) in found.items()},
        faults=[fault for audit, _ in found.values() for fault in audit.faults],
    )


def _dataset(name: str, attempts: Sequence[Past]) -> Dataset:
    own = [past for past in attempts if past.dataset == name]
    measured = latest(own, name)
    specs: dict[tuple[str, str], list[Past]] = {}
    for past in own:
        if past.spec_file:
            specs.setdefault((past.spec_file, past.spec_sha256), []).append(past)
    return Dataset(
        name=name,
        pictures=timeline(measured, name),
        shifts=shifts(measured[-MOST_PERIODS:]),
        attempts=tuple(sorted(own, key=by_period, reverse=True)),
        specs=specs,
    )
