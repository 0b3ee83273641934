"""Vault files outside the window can be removed, and the register says so."""

import pytest

from algorithms.errors import IntegrityError, RefusedError
from flows.cli import main
from tasks.forget import forget
from tasks.store.audit import audit
from tasks.store.history import history
from tasks.store.register import Register
from tests.conftest import Request
from tests.publishing import events
from tests.vaults import panel, release, remembered, spec_of, write_period

PERIODS = [f"2026-Q{number}" for number in (1, 2, 3, 4)]
WINDOW = {"series": {"window": 3}}


@pytest.fixture
def three(request_of: Request) -> Request:
    for i, period in enumerate(PERIODS):
        write_period(request_of, period, panel(i, 30 + i), i + 1)
    for period in PERIODS[:3]:
        release(request_of, period, **WINDOW)
    return request_of


def files(request_of: Request) -> list[str]:
    return sorted(path.stem for path in request_of.register.glob("vault/small/*"))


def test_files_outside_the_window_are_removed_and_a_line_says_so(three: Request) -> None:
    spec = spec_of(three, PERIODS[3], **WINDOW)
    before = remembered(spec).history
    assert forget(spec, PERIODS[1], "Ana") == ["small 2026-Q1"]
    assert files(three) == ["000002-small-2026-Q2", "000003-small-2026-Q3"]
    line = Register(three.register).chain().entries[-1]
    assert (line.event, line.attempt) == ("forgotten", "000004-small-2026-Q1")
    assert (line.forgets, line.started_by) == ("000001-small-2026-Q1", "Ana")
    found = audit(three.register)
    assert found.faults == found.incomplete == []
    recalled = remembered(spec)
    assert before is not None
    assert recalled.history is not None
    assert [past.edition for past in recalled.history.past] == PERIODS[1:3]
    assert recalled.history.within_window[0].edition == before.within_window[0].edition
    assert recalled.warnings == ()
    # there is nothing left to remove
    assert forget(spec, PERIODS[1], "Ana") == []
    release(three, PERIODS[3], **WINDOW)
    assert audit(three.register).faults == []


def test_the_history_shows_what_was_forgotten(three: Request) -> None:
    forget(spec_of(three, PERIODS[3], **WINDOW), PERIODS[1], "Ana")
    last = history(three.register)[-1]
    assert (last.decision, last.started_by, last.period) == ("forgotten", "Ana", PERIODS[0])
    assert last.reason == "the vault file of 000001-small-2026-Q1 was removed"


def test_a_file_that_the_window_needs_is_not_removed(three: Request) -> None:
    with pytest.raises(RefusedError, match=r"last 2 releases; among them are small 2026-Q2: name"):
        forget(spec_of(three, PERIODS[3], **WINDOW), PERIODS[2], "Ana")
    assert len(files(three)) == 3
    assert "forgotten" not in events(three)


@pytest.mark.parametrize("sections", [{}, {"series": {}}])
def test_without_a_window_nothing_is_removed(three: Request, sections: dict[str, object]) -> None:
    with pytest.raises(RefusedError, match=r"these do not, and compare all releases: small"):
        forget(spec_of(three, PERIODS[3], **sections), PERIODS[1], "Ana")


def test_other_datasets_about_the_same_persons_need_their_window_too(three: Request) -> None:
    other = {"release": {"name": "other"}, "series": {"population": "small"}}
    release(three, PERIODS[3], **other)
    with pytest.raises(RefusedError, match=r"compare all releases: other"):
        forget(spec_of(three, PERIODS[3], **WINDOW), PERIODS[1], "Ana")


def test_a_dataset_without_persons_has_nothing_to_forget(three: Request) -> None:
    new = {"series": {"persons": "new each period", "reason": "drawn afresh"}}
    with pytest.raises(RefusedError, match="only a dataset whose persons last has vault files"):
        forget(spec_of(three, PERIODS[3], **new), PERIODS[1], "Ana")


def test_what_was_forgotten_cannot_be_compared_or_revised(three: Request) -> None:
    forget(spec_of(three, PERIODS[3], **WINDOW), PERIODS[1], "Ana")
    for sections in ({"series": {"window": 4}}, {"series": {}}):
        with pytest.raises(IntegrityError, match="no vault file about 'small' for small 2026-Q1"):
            remembered(spec_of(three, PERIODS[3], **sections))
    (warning,) = remembered(spec_of(three, PERIODS[3])).warnings
    assert "cannot be compared with small 2026-Q1" in warning
    revision = {"release": {"revision": 1}}
    with pytest.raises(IntegrityError, match="for small 2026-Q1"):
        remembered(spec_of(three, PERIODS[0], **revision, **WINDOW))


def test_a_crash_after_the_line_is_repaired(three: Request) -> None:
    register = Register(three.register)
    with register.opened() as root:
        manifest = register.manifest("000001-small-2026-Q1")
        register.forget(root, manifest.release, "000001-small-2026-Q1", "Ana")
    assert len(audit(three.register).incomplete) == 1
    with register.opened():
        pass
    assert len(files(three)) == 2
    assert audit(three.register).incomplete == []


def test_the_command_says_what_it_removed(
    three: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    spec_of(three, PERIODS[3], **WINDOW)
    command = ["forget", str(three.path), "--before", PERIODS[1], "--started-by", "Ana"]
    assert main(command) == 0
    assert "removed  the vault file of small 2026-Q1" in capsys.readouterr().out
    assert main(command) == 0
    assert "there is no vault file to remove" in capsys.readouterr().out
    assert main([*command[:3], PERIODS[3]]) == RefusedError.exit_code
    assert main([*command[:3], "a/b"]) == 10
