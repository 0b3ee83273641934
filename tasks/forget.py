"""Removes vault files that no comparison needs any more."""

from collections.abc import Iterable, Sequence

from algorithms.errors import RefusedError
from expectations.request.periods import in_order
from expectations.request.spec import ReleaseSpec
from tasks.store.editions import Edition, names, population_of, published_editions
from tasks.store.register import Register


def forget(spec: ReleaseSpec, before: str, started_by: str) -> list[str]:
    """Remove the vault files of releases of a dataset that lie outside the window of its series.

    A line of the register names each of them before it is removed.

    Parameters
    ----------
    spec : ReleaseSpec
        The spec of the dataset.
    before : str
        The first period whose vault file is kept.
    started_by : str
        The person who removes them.

    Returns
    -------
    list of str
        The releases whose vault files were removed.

    Raises
    ------
    RefusedError
        If the series has no window, or its next release will be compared with one of them.
    """
    population = population_of(spec)
    if population is None:
        raise RefusedError(
            f"only a dataset whose persons last has vault files; those of {spec.release.name} do "
            "not, by its spec"
        )
    register = Register(spec.publication.register_folder)
    with register.opened() as root:
        editions = [each for each in published_editions(register) if each.is_in(population)]
        chosen = [
            edition
            for edition in editions
            if edition.release.name == spec.release.name
            and in_order(edition.release.period) < in_order(before)
            and not edition.forgotten
        ]
        window = _widest(editions, spec, population)
        needed = editions[max(len(editions) - window + 1, 0) :]
        _check_not_needed([edition for edition in chosen if edition in needed], window)
        for edition in chosen:
            register.forget(root, edition.release, edition.attempt, started_by)
        register.sweep_vault(root)
    return [edition.name for edition in chosen]


def _widest(editions: Iterable[Edition], spec: ReleaseSpec, population: str) -> int:
    """Find the largest window of all datasets about the same persons.

    Raises
    ------
    RefusedError
        If one has no window, so that all its releases are compared.
    """
    latest = {edition.release.name: edition.manifest.spec for edition in editions}
    windows: dict[str, int | None] = {
        name: (each.get("series") or {}).get("window") for name, each in latest.items()
    }
    windows[spec.release.name] = None if spec.series is None else spec.series.window
    endless = sorted(name for name, window in windows.items() if window is None)
    if endless:
        raise RefusedError(
            f"vault files about {population!r} can be removed only if every dataset about these "
            f"persons declares series.window; these do not, and compare all releases: "
            f"{', '.join(endless)}"
        )
    return max(window for window in windows.values() if window is not None)


def _check_not_needed(needed: Sequence[Edition], window: int) -> None:
    if needed:
        raise RefusedError(
            f"the next release will be compared with the last {window - 1} releases; among them "
            f"are {names(needed)}: name an earlier period"
        )
