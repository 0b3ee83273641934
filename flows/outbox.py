"""The folder of messages: each is sent to each addressee once, however often it is tried."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from algorithms.errors import StorageError
from tasks.store.disk import PRIVATE, opened, replace_file

PAUSES = (0.0, 2.0, 10.0)
"""Seconds before each attempt to send a message."""


@dataclass(frozen=True)
class Message:
    """What people are told of one event; it holds no value of any record.

    Attributes
    ----------
    event : str
        Identity of the event, which can be the name of a file.
    time : str
        When it happened, in UTC.
    run : str
        Name of the run.
    flow_run_id : str
        Identity of the run.
    state : str
        What happened, in a word or two.
    message : str
        What happened, in a sentence.
    details : mapping of str to str
        More for those who read it, by name.
    """

    event: str
    time: str
    run: str
    flow_run_id: str
    state: str
    message: str
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivery:
    """The addressees that a message has reached, and why it did not reach the others."""

    reached: tuple[str, ...]
    fault: str = ""


class Channel(Protocol):
    """A way to reach people."""

    @property
    def addressees(self) -> tuple[str, ...]:
        """Everyone whom a message should reach."""

    def send(self, message: Message, addressees: Sequence[str]) -> Delivery:
        """Send a message to some of the addressees; a failure is told and not raised."""


@dataclass(frozen=True)
class Broken:
    """A channel whose settings are faulty, and that reaches nobody."""

    name: str
    fault: str

    @property
    def addressees(self) -> tuple[str, ...]:
        """One that is never reached, so that messages wait for better settings."""
        return (self.name,)

    def send(self, _message: Message, _addressees: Sequence[str]) -> Delivery:
        """Tell what is wrong with the settings."""
        return Delivery((), self.fault)


class Outbox:
    """Messages in files: ``<event>.unsent`` until all addressees were reached, then ``.json``.

    The file lists the addressees that were reached, and is written after each delivery. Only a
    process that dies between a delivery and that line may send a message again; its identity is
    the same then, by which mail systems can tell. One process at a time sends.
    """

    def __init__(self, folder: Path, channels: Sequence[Channel]) -> None:
        self._folder, self._channels = folder, channels

    def post(self, message: Message) -> bool:
        """Send a message; return whether this was the call that sent it.

        Once it is sent, so are messages that could not be sent earlier.

        Raises
        ------
        StorageError
            If an addressee could not be reached; the next call for this event tries again.
        """
        with self._locked():
            if self._file(message.event, "json").exists():
                return False
            if not self._file(message.event, "unsent").exists():
                self._write(message, [])
            self._send(message.event, PAUSES)
            with suppress(StorageError):
                self._send_rest()
        return True

    def post_rest(self) -> None:
        """Send messages that could not be sent earlier.

        Raises
        ------
        StorageError
            If one still cannot be sent.
        """
        if self._folder.is_dir():
            with self._locked():
                self._send_rest()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (
            opened(self._folder, "the outbox", PRIVATE) as folder,
            folder.locked(),
            folder.in_words(),
        ):
            yield

    def _send_rest(self) -> None:
        faults: list[str] = []
        for file in sorted(self._folder.glob("*.unsent")):
            try:
                self._send(file.stem, PAUSES[:1])
            except StorageError as error:
                faults.append(str(error))
        if faults:
            raise StorageError("; ".join(dict.fromkeys(faults)))

    def _send(self, event: str, pauses: Sequence[float]) -> None:
        """Send one message to all who have not received it."""
        message, reached = self._read(event)
        faults: list[str] = []
        for pause in pauses:
            time.sleep(pause)
            faults = []
            for channel in self._channels:
                missing = [each for each in channel.addressees if each not in reached]
                if missing:
                    delivery = channel.send(message, missing)
                    reached += delivery.reached
                    self._write(message, reached)
                    faults += [delivery.fault] if delivery.fault else []
            if not faults:
                self._file(event, "unsent").replace(self._file(event, "json"))
                return
        raise StorageError(
            f"a message must reach everyone; tried {len(pauses)} times, it did not, and stays "
            f"in the outbox: {'; '.join(faults)}"
        )

    def _file(self, event: str, kind: str) -> Path:
        return self._folder / f"{event}.{kind}"

    def _write(self, message: Message, reached: Sequence[str]) -> None:
        content = {**asdict(message), "reached": list(reached)}
        text = json.dumps(content, indent=2, ensure_ascii=False)
        replace_file(self._file(message.event, "unsent"), text.encode())

    def _read(self, event: str) -> tuple[Message, list[str]]:
        """Read a message that waits; those of earlier versions have no details."""
        file = self._file(event, "unsent")
        try:
            content: dict[str, Any] = {**json.loads(file.read_bytes()), "event": event}
            reached: list[str] = content.pop("reached", [])
            return Message(**content), reached
        except (ValueError, TypeError):
            raise StorageError(
                f"a message in the outbox must be complete; {str(file)!r} is not: delete it"
            ) from None
