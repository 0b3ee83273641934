"""Messages by e-mail, through real mail servers on this machine."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Failed

from algorithms.errors import SpecError, StorageError
from flows import mail as mail_module
from flows import outbox as outbox_module
from flows.cli import main
from flows.mail import Mail, configured_mail, trial_message
from flows.notify import tell
from flows.operation.installation import OUTBOX
from flows.outbox import Delivery, Message, Outbox
from tests.compute.cluster import Authority
from tests.mail import Letters, mail_server

BLOCKED: State[Any] = Failed(name="Blocked", message="IL is too large")


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*mail_module.VARIABLES, mail_module.PASSWORD, "MICRORELEASE_NOTIFY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(outbox_module, "PAUSES", (0.0, 0.0))


Configure = Callable[..., None]


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch, letters: Letters) -> Configure:
    """Set the variables of a server, and others."""

    def set_all(**others: str) -> None:
        for name, value in letters.settings(**others).items():
            monkeypatch.setenv(name, value)

    return set_all


@pytest.fixture
def outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "outbox"
    monkeypatch.setenv(OUTBOX, str(folder))
    return folder


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def password(tmp_path: Path) -> str:
    file = tmp_path / "secret"
    file.write_text("correct horse\n", encoding="utf-8")
    return str(file)


def sent() -> Delivery:
    """Send a trial message to all addressees."""
    settings = configured_mail()
    assert settings is not None
    return settings.send(trial_message(), settings.addressees)


def a_run(name: str = "small-2026-Q3") -> FlowRun:
    return FlowRun(flow_id=uuid4(), name=name)


def test_without_settings_there_is_no_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    assert configured_mail() is None
    for name in mail_module.VARIABLES:
        monkeypatch.setenv(name, "")
    assert configured_mail() is None


def test_a_run_is_told_to_each_addressee_once(
    letters: Letters, configure: Configure, outbox: Path
) -> None:
    run = a_run()
    with mail_server(letters):
        configure()
        assert [tell(run, BLOCKED), tell(run, BLOCKED)] == [True, False]
    assert [address for address, _ in letters.received] == ["ana@example.org", "bea@example.org"]
    letter = letters.received[0][1]
    assert letter["Subject"] == "Blocked: small-2026-Q3"
    assert letter["From"] == "releases@example.org"
    assert letter["To"] == "ana@example.org, bea@example.org"
    assert letter["Auto-Submitted"] == "auto-generated"
    lines = letter.get_content().splitlines()
    assert lines[0] == "Blocked: IL is too large"
    assert f"id of the run: {run.id}" in lines
    (file,) = outbox.iterdir()
    told = json.loads(file.read_text(encoding="utf-8"))
    assert file.name == f"{run.id}.json"
    assert told["reached"] == ["ana@example.org", "bea@example.org"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_is_refused_unless_its_authority_is_named(
    letters: Letters, configure: Configure, authority: Authority, security: str
) -> None:
    with mail_server(letters, security=security, authority=authority):
        configure(SMTP_SECURITY=security)
        refused = sent()
        assert refused.reached == ()
        assert "its certificate is not trusted" in refused.fault
        assert "name the certificate that signed it in MICRORELEASE_SMTP_CA" in refused.fault
        assert letters.received == []
        configure(SMTP_SECURITY=security, SMTP_CA=authority.tls("mail")["ca"])
        assert sent() == Delivery(("ana@example.org", "bea@example.org"))
    assert len(letters.received) == 2


def test_a_server_without_starttls_gets_no_message(letters: Letters, configure: Configure) -> None:
    with mail_server(letters):
        configure(SMTP_SECURITY="starttls")
        assert "correct MICRORELEASE_SMTP_SECURITY" in sent().fault
    assert letters.received == []


def test_a_login_takes_its_password_from_a_file(
    letters: Letters, configure: Configure, authority: Authority, password: str
) -> None:
    login = {
        "SMTP_SECURITY": "starttls",
        "SMTP_CA": authority.tls("mail")["ca"],
        "SMTP_USER": "releases",
        "SMTP_PASSWORD_FILE": password,
    }
    with mail_server(letters, security="starttls", authority=authority, login=True):
        configure(**login)
        assert sent().fault == ""
        assert letters.logins == [b"releases"]
        settings = configured_mail()
        assert "correct horse" not in repr(settings)
        Path(password).write_text("battery staple", encoding="utf-8")
        fault = sent().fault
    assert "SMTPAuthenticationError 535" in fault
    assert "correct MICRORELEASE_SMTP_USER and the password" in fault
    assert "battery" not in fault
    assert len(letters.received) == 2


def test_a_server_that_comes_back_gets_one_message(
    letters: Letters, configure: Configure, outbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_server(letters):
        configure()
    first, second = a_run(), a_run("other-2026-Q3")
    with pytest.raises(StorageError, match="must accept e-mail; it did not"):
        tell(first, BLOCKED)
    assert [path.name for path in outbox.iterdir()] == [f"{first.id}.unsent"]
    # it comes back between two attempts
    monkeypatch.setattr(outbox_module, "PAUSES", (0.0, 1.0, 1.0, 2.0, 4.0))
    teller = threading.Thread(target=tell, args=(second, BLOCKED))
    teller.start()
    time.sleep(0.5)
    with mail_server(letters):
        teller.join()
        assert [tell(first, BLOCKED), tell(second, BLOCKED)] == [False, False]
    subjects = [(address[:3], letter["Subject"]) for address, letter in letters.received]
    # what had waited went out after it
    assert subjects == [
        ("ana", "Blocked: other-2026-Q3"),
        ("bea", "Blocked: other-2026-Q3"),
        ("ana", "Blocked: small-2026-Q3"),
        ("bea", "Blocked: small-2026-Q3"),
    ]
    assert {path.suffix for path in outbox.iterdir()} == {".json"}


def test_an_address_that_is_refused_keeps_no_other_from_its_one_message(
    letters: Letters, configure: Configure, outbox: Path
) -> None:
    run = a_run()
    letters.refused = {"bea@example.org"}
    with mail_server(letters):
        configure()
        with pytest.raises(StorageError, match=r"it refused 1 of 1 \(550\)"):
            tell(run, BLOCKED)
        letters.refused.clear()
        assert tell(run, BLOCKED)
    assert [address for address, _ in letters.received] == ["ana@example.org", "bea@example.org"]
    identities = {letter["Message-ID"] for _, letter in letters.received}
    assert len(identities) == 1


@dataclass
class Flaky:
    """A channel that fails so many times, and keeps whom it reached."""

    failures: int
    addressees: tuple[str, ...] = ("flaky",)
    reached: list[str] = field(default_factory=list)

    def send(self, message: Message, addressees: Sequence[str]) -> Delivery:
        self.failures -= 1
        if self.failures >= 0:
            return Delivery((), "it failed")
        self.reached.append(message.event)
        return Delivery(tuple(addressees))


def test_a_channel_that_fails_does_not_make_another_send_twice(tmp_path: Path) -> None:
    well, flaky = Flaky(0, ("well",)), Flaky(3)
    box, message = Outbox(tmp_path, [flaky, well]), trial_message()
    with pytest.raises(StorageError, match="tried 2 times"):
        box.post(message)
    assert (well.reached, flaky.reached) == ([message.event], [])
    # another process, later
    assert Outbox(tmp_path, [flaky, well]).post(message)
    assert not Outbox(tmp_path, [flaky, well]).post(message)
    assert well.reached == flaky.reached == [message.event]


def test_messages_that_wait_are_sent_when_asked_for(tmp_path: Path) -> None:
    Outbox(tmp_path / "none", []).post_rest()
    assert not (tmp_path / "none").exists()
    message, other = trial_message(), trial_message()
    for each in (message, other):
        with pytest.raises(StorageError):
            Outbox(tmp_path, [Flaky(9)]).post(each)
    # an earlier version wrote no addressees, and no more details
    kept = {"time": message.time, "run": "small", "flow_run_id": "", "state": "", "message": ""}
    (tmp_path / "earlier.unsent").write_text(json.dumps(kept), encoding="utf-8")
    (tmp_path / "damaged.unsent").write_text("{", encoding="utf-8")
    channel = Flaky(0)
    with pytest.raises(StorageError, match=r"must be complete; '.*damaged.unsent' is not"):
        Outbox(tmp_path, [channel]).post_rest()
    assert sorted(channel.reached) == sorted(["earlier", message.event, other.event])


def test_two_processes_that_tell_of_one_event_send_one_message(
    letters: Letters, configure: Configure, outbox: Path
) -> None:
    run, told = a_run(), list[bool]()
    with mail_server(letters):
        configure()
        tellers = [
            threading.Thread(target=lambda: told.append(tell(run, BLOCKED))) for _ in range(6)
        ]
        for teller in tellers:
            teller.start()
        for teller in tellers:
            teller.join()
    assert sorted(told) == [False] * 5 + [True]
    assert len(letters.received) == 2


def test_a_name_cannot_add_a_header_or_an_addressee(
    letters: Letters, configure: Configure, outbox: Path
) -> None:
    evil = "x\r\nBcc: eve@example.org\nX-Evil: 1\r\n\r\nbody\u2028\x00\x85" + "y" * 500
    state: State[Any] = Failed(
        name="Blocked\r\nX-Evil: 1", message="no\r\n.\r\nMAIL FROM:<eve@example.org>"
    )
    with mail_server(letters):
        configure()
        assert tell(a_run(evil), state)
    assert {address for address, _ in letters.received} == {"ana@example.org", "bea@example.org"}
    letter = letters.received[0][1]
    assert "X-Evil" not in letter
    assert "Bcc" not in letter
    assert letter["Subject"].startswith("Blocked X-Evil: 1: x Bcc: eve@example.org X-Evil: 1 body")
    assert len(letter["Subject"]) < 1.1 * mail_module.LONGEST_SUBJECT
    assert "no . MAIL FROM:<eve@example.org>" in letter.get_content()


def test_letters_that_no_code_page_has_arrive(
    letters: Letters, configure: Configure, outbox: Path
) -> None:
    with mail_server(letters):
        configure()
        tell(a_run("Größe-2026"), Failed(name="Blocked", message="größer als 25 %, 数"))
    letter = letters.received[0][1]
    assert letter["Subject"] == "Blocked: Größe-2026"
    assert "größer als 25 %, 数" in letter.get_content()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"SMTP_HOST": ""}, "SMTP_HOST must be the name of a mail server; got ''"),
        ({"SMTP_HOST": "a b"}, "SMTP_HOST must be the name of a mail server; got 'a b'"),
        ({"SMTP_PORT": "mail"}, "SMTP_PORT must be a whole number from 1 to 65535; got 'mail'"),
        ({"SMTP_PORT": "0"}, "SMTP_PORT must be a whole number from 1 to 65535; got '0'"),
        ({"SMTP_SECURITY": "ssl"}, "must be one of starttls, tls, none; got 'ssl'"),
        ({"MAIL_FROM": "Ana"}, "MAIL_FROM must be one e-mail address; got 'Ana'"),
        ({"MAIL_FROM": "a@b.org\r\nBcc: c@d.org"}, "MAIL_FROM must be one e-mail address"),
        ({"MAIL_TO": " , "}, "MAIL_TO must be e-mail addresses with commas between; it is empty"),
        ({"MAIL_TO": "a@b.org, <c@d.org>"}, "'<c@d.org>' is none"),
        ({"MAIL_TO": "a..b@c.org"}, "'a..b@c.org' is none"),
        ({"MAIL_TO": "@c.org"}, "'@c.org' is none"),
        ({"MAIL_TO": "a@"}, "'a@' is none"),
        ({"SMTP_USER": "a"}, "only MICRORELEASE_SMTP_USER is set: set MICRORELEASE_SMTP_PASSWORD"),
        ({"SMTP_PASSWORD_FILE": "/x"}, "only MICRORELEASE_SMTP_PASSWORD_FILE is set"),
        ({"SMTP_PASSWORD_FILE": "/x", "SMTP_USER": "a"}, "'/x' cannot be read (No such file"),
        ({"SMTP_PASSWORD_FILE": "/dev/null", "SMTP_USER": "a"}, "'/dev/null' is empty"),
        ({"SMTP_PASSWORD_FILE": "/dev/null", "SMTP_USER": "ä"}, "SMTP_USER must be plain ASCII"),
        ({"SMTP_PASSWORD_FILE": "/dev/null", "SMTP_USER": "a"}, "must travel encrypted"),
        ({"SMTP_PASSWORD": "hunter2"}, "a password must be in a file"),
        ({"SMTP_CA": "/dev/null"}, "SMTP_CA must name a file of certificates in PEM format"),
        ({"SMTP_CA": "/nowhere"}, "'/nowhere' is none (No such file or directory)"),
    ],
)
def test_faulty_settings_are_named_and_nothing_is_sent(
    configure: Configure, outbox: Path, changes: dict[str, str], words: str
) -> None:
    configure(**{"SMTP_PORT": "25", **changes})
    with pytest.raises(SpecError) as fault:
        configured_mail()
    assert words in str(fault.value)
    assert "hunter2" not in str(fault.value)
    # the message waits for better settings
    run = a_run()
    with pytest.raises(StorageError, match="stays in the outbox"):
        tell(run, BLOCKED)
    assert (outbox / f"{run.id}.unsent").exists()


def test_every_fault_is_reported_at_once(configure: Configure) -> None:
    configure(SMTP_HOST="", SMTP_PORT="x", MAIL_FROM="", MAIL_TO="")
    with pytest.raises(SpecError) as fault:
        configured_mail()
    assert str(fault.value).count(" must be ") == 4


@pytest.mark.parametrize(("security", "port"), [("", 587), ("tls", 465), ("none", 25)])
def test_each_kind_of_security_has_its_usual_port(
    configure: Configure, security: str, port: int
) -> None:
    configure(SMTP_SECURITY=security, SMTP_PORT="")
    settings = configured_mail()
    assert isinstance(settings, Mail)
    assert (settings.security, settings.port) == (security or "starttls", port)


def test_a_password_with_other_letters_is_refused_without_quoting_it(
    configure: Configure, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    for content in ("Schlüssel".encode(), b"\xff\xfe", b"two\nlines"):
        file.write_bytes(content)
        configure(SMTP_SECURITY="tls", SMTP_USER="a", SMTP_PASSWORD_FILE=str(file))
        with pytest.raises(SpecError, match="must name a file") as fault:
            configured_mail()
        assert "Schl" not in str(fault.value)
        assert "two" not in str(fault.value)


def test_the_command_says_whom_a_test_message_has_reached(
    letters: Letters, configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mail"]) == 10
    assert "nothing is set: set MICRORELEASE_SMTP_HOST" in capsys.readouterr().err
    letters.refused = {"bea@example.org"}
    with mail_server(letters):
        configure()
        assert main(["mail"]) == 14
        shown = capsys.readouterr()
        assert "accepted for  ana@example.org" in shown.out
        assert "refused 1 of 2 (550): correct MICRORELEASE_MAIL_TO" in shown.err
        letters.refused.clear()
        assert main(["mail"]) == 0
        assert "accepted for  bea@example.org" in capsys.readouterr().out
    assert main(["mail"]) == 14
    assert "it did not (Connection refused)" in capsys.readouterr().err
