"""Releases by a spec file, from Python."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from algorithms.errors import ContractError
from expectations.request.named import Changes, NamedSpec, resolve_spec, spec_from_file
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import load
from expectations.suites.require import plainly
from flows.checking import Checked, checked
from flows.starting import quieten_prefect, recorded

if TYPE_CHECKING:
    from flows.outcome import Approved, Outcome, Published, Sealed
    from microrelease.exploring import Exploration


class Release:
    """A release that a spec file defines.

    Make one with `from_yaml`. Each method reads the file again, as the command line does.

    Attributes
    ----------
    path : Path
        The spec file.
    spec : ReleaseSpec
        Its content when it was read.
    """

    def __init__(self, path: Path, spec: ReleaseSpec) -> None:
        self.path = path
        self.spec = spec

    @classmethod
    def from_yaml(cls, path: str | Path) -> Release:
        """Read a spec file.

        Raises
        ------
        StorageError
            If the file cannot be read.
        SpecError
            If it is not a spec; the message names every fault with its path.
        """
        quieten_prefect()  # which reads its settings when it is imported
        path = Path(path)
        return cls(path, load(path))

    def __repr__(self) -> str:
        release, how = self.spec.release, self.spec.microaggregation
        return (
            f"Release({release.name!r}, method={how.method!r}, k={how.k}, path={str(self.path)!r})"
        )

    def run(
        self,
        period: str | None = None,
        dry_run: bool = False,
        *,
        candidate: bool = False,
        started_by: str | None = None,
    ) -> Published | Sealed | Approved:
        """Mask the table as the spec says, judge the result and publish it.

        This is what ``microrelease run`` does: the Prefect server in ``PREFECT_API_URL`` records
        the run, or a temporary one if that is not set.

        Parameters
        ----------
        period : str, optional
            Period to release; by default that of the spec, or the last complete one.
        dry_run : bool
            Measure and judge; publish and record nothing.
        candidate : bool
            Seal the release if it passes the gate, for ``microrelease approve``.
        started_by : str, optional
            Person who starts the run and so cannot review it; by default your account name.

        Returns
        -------
        Published, Sealed or Approved
            How the run ended, with its ``sentence``, ``verdicts`` and ``manifest``; a published one
            has the ``folder`` of the public files. A dry run ends as `Approved`.

        Raises
        ------
        SpecError, DataError, RefusedError, RejectedError, StorageError
            As the command line reports them, with the same sentences; `exit_code` is its exit code.
        """
        resolved = self._resolved(period)
        resolved.check_releasable()
        resolved.check_reason()
        with self._named(period) as named, recorded("flows.release", "expectations.suites.great"):
            from flows.outcome import Approved, Published, Sealed, Stopped, outcome_of
            from flows.release import release

            state = release(
                named,
                dry_run=dry_run,
                candidate=candidate,
                started_by=started_by or getpass.getuser(),
                return_state=True,
            )
        outcome: Outcome = outcome_of(state)
        if isinstance(outcome, Stopped):
            raise outcome.error
        if not isinstance(outcome, Published | Sealed | Approved):
            raise ContractError(f"a release cannot end as {type(outcome).__name__}")
        return outcome

    def check(self, period: str | None = None) -> Checked:
        """Validate the spec and its source; run nothing.

        Raises
        ------
        SpecError, DataError, RefusedError, StorageError
            As `run` does.
        """
        spec = self._resolved(period)
        found = checked(spec)
        return replace(found, warnings=(*spec.warnings, *found.warnings))

    def explore(
        self,
        period: str | None = None,
        *,
        methods: Sequence[str] | None = None,
        ks: Sequence[int] | None = None,
        seconds: float = 60.0,
        orderings: Sequence[str] = ("npn", "tsp"),
        workers: int = 2,
    ) -> Exploration:
        """Try methods, paths and k on the source, by the limits of the spec; publish nothing.

        The arguments are those of `microrelease.explore`; the table is a pandas.DataFrame.
        """
        from microrelease.exploring import Exploration, Trial
        from tasks.explore.recommendation import recommendation
        from tasks.ingest import ingest
        from tasks.stage import guarded
        from tasks.validate import validate

        spec = self._resolved(period)
        trial = Trial(methods, ks, seconds, orderings, workers)
        wanted = trial.choices(spec)
        source, _ = ingest.fn(spec)
        table, _ = validate.fn(source, spec, plainly)
        cells, curve = guarded("explore", trial.run)(table, spec, wanted)
        return Exploration.of(cells, spec, pd.DataFrame(), recommendation(cells, spec), curve)

    def _named(self, period: str | None) -> AbstractContextManager[NamedSpec]:
        return spec_from_file(self.path, Changes.of(period))

    def _resolved(self, period: str | None) -> ReleaseSpec:
        with self._named(period) as named:
            return resolve_spec(named, datetime.now(UTC)).spec
