"""Aggregates for Prometheus."""

import hmac
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from algorithms.errors import ReleaseError
from flows.desk.archive import Archive
from flows.desk.library import library_of
from flows.desk.overview import counts
from flows.desk.snapshot import Snapshot

TOKEN_FILE = "MICRORELEASE_METRICS_TOKEN_FILE"
"""Environment variable with a file that holds the token without which no metrics are sent."""

router = APIRouter()


class Metrics(Collector):
    """The figures of all registers at one moment; aggregates of published releases only."""

    def __init__(self, archive: Archive, snapshot: Snapshot) -> None:
        self._archive, self._snapshot = archive, snapshot

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Give each metric with its values."""
        yield self._releases()
        yield self._ages()
        yield self._measures()
        yield self._waiting()
        faults = GaugeMetricFamily(
            "microrelease_faults", "Specs and registers that cannot be read."
        )
        faults.add_metric([], len(self._snapshot.faults))
        yield faults

    def _releases(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "microrelease_releases",
            "Periods of a dataset, by state.",
            labels=["dataset", "state"],
        )
        for dataset, states in counts(self._snapshot).items():
            for state, count in sorted(states.items()):
                family.add_metric([dataset, state], count)
        return family

    def _ages(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "microrelease_last_success_age_seconds",
            "Seconds since a run of a dataset last ended with a public release.",
            labels=["dataset"],
        )
        now = datetime.now(UTC)
        newest: dict[str, str] = {}
        for attempt in self._snapshot.newest_first:
            if attempt.is_public:
                newest.setdefault(attempt.dataset, attempt.time)
        for dataset, time in sorted(newest.items()):
            age = (now - datetime.fromisoformat(time)).total_seconds()
            family.add_metric([dataset], max(age, 0.0))
        return family

    def _measures(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "microrelease_measure",
            "Measures with a limit, of the last published release of a dataset.",
            labels=["dataset", "measure"],
        )
        for dataset in self._snapshot.by_dataset:
            attempt = self._snapshot.last_published(dataset)
            if attempt is None:
                continue
            try:
                gated = self._archive.past(attempt).gated
            except ReleaseError:
                continue
            for name, limited in gated.items():
                if limited.value is not None:
                    family.add_metric([dataset, name], limited.value)
        return family

    def _waiting(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "microrelease_candidates_waiting",
            "Candidates of a dataset that wait for a reviewer.",
            labels=["dataset"],
        )
        for dataset in self._snapshot.by_dataset:
            waiting = sum(each.dataset == dataset for each in self._snapshot.waiting)
            family.add_metric([dataset], waiting)
        return family


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Send all metrics; a token is needed if the installation has one."""
    _check_token(request)
    archive = library_of(request).archive
    registry = CollectorRegistry()
    registry.register(Metrics(archive, archive.snapshot()))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _check_token(request: Request) -> None:
    path = os.environ.get(TOKEN_FILE, "")
    if not path:
        return
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        # without the token nobody can be told apart, and nothing is sent
        raise HTTPException(503) from None
    given = request.headers.get("authorization", "").encode(errors="replace")
    if not token or not hmac.compare_digest(given, f"Bearer {token}".encode()):
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})
