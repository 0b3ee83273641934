"""Audits all registers in a thread, and tells how far it is."""

import threading
from contextlib import suppress
from pathlib import Path

from algorithms.errors import ReleaseError


class Auditor:
    """Runs one audit at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = 0.0
        self._count = 1

    @property
    def is_running(self) -> bool:
        """Whether an audit is under way."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def share(self) -> float:
        """The share of the audit that is done."""
        return self._done / self._count

    def start(self, registers: list[Path], started_by: str) -> bool:
        """Audit registers; return whether this started, which it does not while another runs."""
        with self._lock:
            if self.is_running:
                return False
            self._done, self._count = 0.0, max(len(registers), 1)
            self._thread = threading.Thread(
                target=self._audit, args=(registers, started_by), daemon=True, name="audit"
            )
            self._thread.start()
            return True

    def wait(self, seconds: float) -> None:
        """Wait for the audit to end, so that a short one shows its result at once."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _audit(self, registers: list[Path], started_by: str) -> None:
        # they import pandas and the statistics
        from tasks.stage import reduced
        from tasks.store.audit import Audit
        from tasks.store.audit_log import keep, own_audit

        for number, register in enumerate(registers):

            def watch(share: float, before: int = number) -> None:
                self._done = before + share

            try:
                found = own_audit(register, watch=watch)
            except ReleaseError as error:
                found = Audit(faults=[str(error)])
            except Exception as error:
                found = Audit(faults=[str(reduced("audit", error))])
            with suppress(OSError, ReleaseError):
                keep(register, found, started_by)
            self._done = number + 1.0
