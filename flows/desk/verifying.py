"""Verifies a public folder again, from its own files."""

from dataclasses import dataclass, field

from algorithms.errors import ReleaseError
from expectations.manifest import Manifest
from flows.desk.measures import shown_value
from tasks.store.register import now, open_published, public_place
from tasks.store.shifts import title_of


@dataclass(frozen=True)
class Verified:
    """The result of a verification.

    Attributes
    ----------
    fault : str
        What is wrong; empty if nothing is.
    time : str
        When it was made, in UTC.
    rows, columns : int
        Size of the table.
    k_claimed, k_found : int
        The promised k, and the number of records of the rarest combination.
    files : int
        Number of files whose checksums are those in the register.
    measures : dict of str to str
        The measures that were computed again from the public files, by title.
    """

    time: str
    fault: str = ""
    rows: int = 0
    columns: int = 0
    k_claimed: int = 0
    k_found: int = 0
    files: int = 0
    measures: dict[str, str] = field(default_factory=dict)


def verify_again(manifest: Manifest) -> Verified:
    """Verify every claim of a published folder, and compare its checksums with the manifest."""
    # they import pandas and the statistics
    from expectations.published.recomputed import recompute
    from expectations.published.verifier import verify_content

    folder = public_place(manifest)
    assert manifest.public is not None
    try:
        verified = verify_content(open_published(folder), str(folder))
        measures = recompute(verified)
    except ReleaseError as error:
        return Verified(now(), fault=str(error))
    promised = manifest.public.checksums
    altered = sorted(
        name
        for name in {*promised, *verified.checksums}
        if promised.get(name) != verified.checksums.get(name)
    )
    if altered:
        return Verified(
            now(),
            fault="the files must be those in the register; these are not: " + ", ".join(altered),
        )
    return Verified(
        now(),
        rows=verified.rows,
        columns=len(verified.columns),
        k_claimed=verified.k_claimed,
        k_found=verified.k_found,
        files=len(verified.checksums),
        measures={title_of(name): shown_value(name, value) for name, value in measures.items()},
    )
