"""A kill at every file operation leaves nothing half-published, lost or beyond recovery."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Request
from tests.kills import Operation, Yard, every_step

pytestmark = pytest.mark.slow

OPERATIONS: dict[str, Callable[[Yard], Operation]] = {
    "publish": lambda yard: yard.publish,
    "publish with a new key": lambda yard: yard.publish_with_new_key,
    "seal": lambda yard: yard.seal,
    "approve": lambda yard: yard.approve,
    "reject": lambda yard: yard.reject,
    "record": lambda yard: yard.record,
    "forget": lambda yard: yard.forget,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_kill_at_any_file_operation_can_be_recovered_from(tmp_path: Path, name: str) -> None:
    yard = Yard(_request(tmp_path))
    operation = OPERATIONS[name](yard)
    for _ in every_step(yard, operation):
        yard.check_recovered(operation)
    sys.stdout.write(f"{name}: {yard.kills} kills, {len(yard.states)} different states left\n")
    assert yard.kills > 20


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_recovery_can_be_killed_at_any_file_operation(tmp_path: Path, name: str) -> None:
    yard = Yard(_request(tmp_path))
    operation = OPERATIONS[name](yard)
    for step in every_step(yard, operation, stride=7):
        again = 1
        while yard.kill(yard.recover, again):
            again += 1
            yard.restore()
            assert yard.kill(operation, step)
        yard.check_recovered(operation)
    sys.stdout.write(f"recover from {name}: {yard.kills} kills\n")
    assert yard.kills > 20


def _request(folder: Path) -> Request:
    place = folder / "place"
    place.mkdir()
    return Request(place)
