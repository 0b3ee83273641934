"""Kills an operation at any of its file operations, and says what must hold after that."""

import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from algorithms.errors import RefusedError, RejectedError
from expectations.published.verifier import verify
from expectations.review import Decision
from tasks.forget import forget
from tasks.publish import begin, decide, publish, record_attempt, seal
from tasks.store.audit import audit
from tasks.store.register import Register
from tests.conftest import Request
from tests.vaults import Made, made

FILE_OPERATIONS = (
    "open", "write", "fsync", "rename", "mkdir", "rmdir", "unlink", "ftruncate", "fchmod", "chmod",
)  # fmt: skip

Operation = Callable[[], object]


def killed_at(step: int, operation: Operation) -> bool:
    """Run an operation in a child that is killed at a file operation; tell whether it came to it.

    It is killed before the operation, or, where that is a write, in the middle of it.
    """
    child = os.fork()
    if child == 0:
        try:
            _kill_at(step)
            with suppress(RejectedError):
                operation()
            os._exit(0)
        except BaseException:  # the parent must hear of it
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the operation failed"
    return os.WIFSIGNALED(status)


def _kill_at(step: int) -> None:
    """Count the file operations of this process from now on, and end it at one of them."""
    passed = 0

    def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal passed
            passed += 1
            if passed == step:
                if name == "write":
                    handle, content = arguments
                    function(handle, content[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return counted

    for name in FILE_OPERATIONS:
        setattr(os, name, wrap(name, getattr(os, name)))


@dataclass
class Yard:
    """A register and a public folder in one state, which is there again before each kill."""

    request_of: Request
    prepared: Made = ()
    anew: Made = ()
    sealed: str = ""
    kills: int = 0
    states: set[tuple[str, ...]] = field(default_factory=set)
    """The different ends that were left in the register."""

    def __post_init__(self) -> None:
        for period in ("2026-Q1", "2026-Q2"):
            publish.fn(*self._made(release={"period": period}))
        self.prepared = self._made()
        start = {"period": "2026-Q3", "reason": "other persons"}
        self.anew = self._made(series={"population": "others", "start": start})
        self.sealed = seal.fn(*self._made(release={"period": "2026-Q4"})).attempt
        self._base = self.request_of.folder.with_name(f"{self.request_of.folder.name}-base")
        shutil.copytree(self.request_of.folder, self._base, symlinks=True)

    def _made(self, **sections: Any) -> Made:
        return made(self.request_of.load(**sections))

    def restore(self) -> None:
        shutil.rmtree(self.request_of.folder)
        shutil.copytree(self._base, self.request_of.folder, symlinks=True)

    # what can be killed

    def publish(self) -> None:
        self._publish(self.prepared)

    def publish_with_new_key(self) -> None:
        self._publish(self.anew)

    def _publish(self, prepared: Made) -> None:
        masked, approval, spec, record, profile, recalled = prepared
        running = begin(spec, "Ana")
        record = record.adding(attempt=running.attempt)
        publish.fn(masked, approval, spec, record, profile, recalled)
        running.close()

    def forget(self) -> None:
        spec = self.request_of.load(series={"window": 2})
        forget(spec, "2026-Q2", "Ana")

    def seal(self) -> None:
        seal.fn(*self.prepared)

    def approve(self) -> None:
        decide.fn(self.request_of.register, self.sealed, Decision(True, "Bea", started_by="Ana"))

    def reject(self) -> None:
        decide.fn(self.request_of.register, self.sealed, Decision(False, "Bea", started_by="Ana"))

    def record(self) -> None:
        _, _, spec, record, *_ = self.prepared
        record_attempt(spec, record, "blocked", "IL is too large")

    def recover(self) -> None:
        with Register(self.request_of.register).opened():
            pass

    # what must hold

    def kill(self, operation: Operation, step: int) -> bool:
        """Kill an operation at a step, from the state as it is; tell whether it came to it."""
        if not killed_at(step, operation):
            return False
        self.kills += 1
        self.check_whole()
        return True

    def check_whole(self) -> None:
        """See that whatever is public is whole, and that nothing looks like a forgery."""
        public = self.request_of.public
        for dataset in public.iterdir():
            assert dataset.name == "small"
            for folder in dataset.iterdir():
                verify(folder)
        found = audit(self.request_of.register)
        assert found.faults == []
        assert str(public / "small" / "2026-Q2") in found.verified
        self.states.add(tuple(sorted(words.split(" ", 2)[2] for words in found.incomplete)))

    def check_recovered(self, operation: Operation) -> None:
        """See that the same operation succeeds now, or has been done, and that all is in order."""
        register = Register(self.request_of.register)
        decides = operation in (self.approve, self.reject)
        # who decides again after the decision was kept is told so
        with suppress(RejectedError), suppress(RefusedError) if decides else nullcontext():
            operation()
        found = audit(self.request_of.register)
        assert found.faults == found.incomplete == []
        # who decided before does not come to the staging folder; the next run sweeps it
        assert decides or not (self.request_of.folder / ".public.staging").exists()
        public = {path.name for path in (self.request_of.public / "small").iterdir()}
        if operation in (self.publish, self.publish_with_new_key):
            assert "2026-Q3" in public
        if operation == self.approve:
            assert "2026-Q4" in public
        else:
            assert "2026-Q4" not in public
        assert (self.sealed in register.chain().waiting) != decides
        self._check_vault(register, forgotten=operation == self.forget)
        assert sorted(found.verified) == sorted(
            str(self.request_of.public / "small" / name) for name in public
        )

    def _check_vault(self, register: Register, *, forgotten: bool) -> None:
        """See that every release and every candidate has its vault file, once."""
        chain = register.chain()
        kept = sorted(path.stem for path in self.request_of.register.glob("vault/*/*"))
        published = [entry.candidate or entry.attempt for entry in chain.published]
        waiting = chain.waiting
        assert kept == sorted({*published, *waiting} - chain.forgotten)
        assert len(published) == len(set(published))
        assert len(chain.forgotten) == forgotten


def every_step(yard: Yard, operation: Operation, stride: int = 1, first: int = 1) -> Iterator[int]:
    """Kill an operation at every step of it, each time from the same state."""
    step = first
    while True:
        yard.restore()
        if not yard.kill(operation, step):
            return
        yield step
        step += stride
