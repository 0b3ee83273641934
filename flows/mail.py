"""Sends messages by e-mail, with settings from the environment."""

import os
import re
import smtplib
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from algorithms.errors import SpecError
from flows.outbox import Delivery, Message

HOST, PORT = "MICRORELEASE_SMTP_HOST", "MICRORELEASE_SMTP_PORT"
SECURITY, CA = "MICRORELEASE_SMTP_SECURITY", "MICRORELEASE_SMTP_CA"
USER, PASSWORD_FILE = "MICRORELEASE_SMTP_USER", "MICRORELEASE_SMTP_PASSWORD_FILE"
SENDER, RECIPIENTS = "MICRORELEASE_MAIL_FROM", "MICRORELEASE_MAIL_TO"
VARIABLES = (HOST, PORT, SECURITY, CA, USER, PASSWORD_FILE, SENDER, RECIPIENTS)
"""Environment variables with the settings; an empty one counts as unset."""
PASSWORD = "MICRORELEASE_SMTP_PASSWORD"
"""A variable that must not be set: every process of the account could read it."""
PORTS = {"starttls": 587, "tls": 465, "none": 25}
"""Kinds of security, with the usual port of each."""
SECONDS = 20.0
"""A server that is silent for longer does not answer."""
PLAIN = re.compile(r"[!-~]+")
"""What user names, passwords and addresses consist of."""
LONGEST_SUBJECT = 200


@dataclass(frozen=True)
class Mail:
    """A mail server, and the people who receive messages.

    The password is read when a message is sent, and is no part of this value.

    Attributes
    ----------
    host, port : str, int
        The server.
    security : str
        A key of ``PORTS``.
    sender : str
        Address from which messages come.
    addressees : tuple of str
        Addresses to which they go.
    user : str
        Name of the login; empty if the server asks for none.
    password_file : Path, optional
        File with the password of the login.
    ca : Path, optional
        File with the certificates to trust, in place of those of the system.
    """

    host: str
    port: int
    security: str
    sender: str
    addressees: tuple[str, ...]
    user: str = ""
    password_file: Path | None = None
    ca: Path | None = None

    def send(self, message: Message, addressees: Sequence[str]) -> Delivery:
        """Send a message to some of the addressees, in one conversation with the server."""
        try:
            server = self._connected()
            try:
                refused = server.send_message(self._letter(message), self.sender, addressees)
            finally:
                # a fault in taking leave must not have the message sent again
                with suppress(OSError, smtplib.SMTPException):
                    server.quit()
        except smtplib.SMTPRecipientsRefused as error:
            refused = error.recipients
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return Delivery((), self._failed(error))
        reached = tuple(address for address in addressees if address not in refused)
        return Delivery(reached, self._refused(refused, len(addressees)) if refused else "")

    def _connected(self) -> smtplib.SMTP:
        context = None if self.security == "none" else self._trust()
        if self.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=SECONDS, context=context
            )
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=SECONDS)
        try:
            if self.security == "starttls":
                server.starttls(context=context)
            if self.user and self.password_file is not None:
                server.login(self.user, _password(self.password_file))
        except BaseException:
            server.close()
            raise
        return server

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca)

    def _letter(self, message: Message) -> EmailMessage:
        """Write the letter; a second attempt writes the same one, and has the same identity."""
        letter = EmailMessage(policy=SMTP)
        letter["From"] = self.sender
        letter["To"] = ", ".join(self.addressees)
        letter["Subject"] = one_line(f"{message.state}: {message.run}")[:LONGEST_SUBJECT]
        letter["Date"] = datetime.fromisoformat(message.time)
        identity = sha256(message.event.encode()).hexdigest()[:32]
        letter["Message-ID"] = f"<{identity}@{self.sender.rpartition('@')[2]}>"
        # nobody's holiday notice answers such a letter
        letter["Auto-Submitted"] = "auto-generated"
        letter.set_content(_body(message), cte="quoted-printable")
        return letter

    def _failed(self, error: Exception) -> str:
        return (
            f"{self.host}:{self.port} must accept e-mail; it did not ({_reason(error)}): "
            f"{_advice(error)}"
        )

    def _refused(self, refused: dict[str, tuple[int, bytes]], count: int) -> str:
        codes = ", ".join(sorted({str(code) for code, _ in refused.values()}))
        return (
            f"{self.host}:{self.port} must accept every address; it refused {len(refused)} of "
            f"{count} ({codes}): correct {RECIPIENTS}"
        )


def configured_mail() -> Mail | None:
    """Read the settings; None if no variable is set.

    Raises
    ------
    SpecError
        If the settings are faulty; it names every fault.
    """
    values = {name: os.environ.get(name, "").strip() for name in VARIABLES}
    if not any(values.values()) and PASSWORD not in os.environ:
        return None
    faults: list[str] = []
    security = values[SECURITY] or "starttls"
    settings = Mail(
        host=values[HOST],
        port=_port(values[PORT], PORTS.get(security, 0)),
        security=security,
        sender=values[SENDER],
        addressees=_addresses(values[RECIPIENTS]),
        user=values[USER],
        password_file=Path(values[PASSWORD_FILE]) if values[PASSWORD_FILE] else None,
        ca=Path(values[CA]) if values[CA] else None,
    )
    for check in (_check_server, _check_people, _check_login, _check_files):
        check(settings, values, faults.append)
    if faults:
        raise SpecError("; ".join(faults))
    return settings


def trial_message() -> Message:
    """Write a message with which to try the settings."""
    return Message(
        event=f"test-{uuid4()}",
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        run="microrelease",
        flow_run_id="none",
        state="Test",
        message="if you read this, notifications reach you",
    )


Report = Callable[[str], None]


def _check_server(mail: Mail, values: dict[str, str], report: Report) -> None:
    if not re.fullmatch(r"[\w.:-]+", mail.host, re.ASCII):
        report(f"{HOST} must be the name of a mail server; got {mail.host!r}: set it")
    if mail.security not in PORTS:
        kinds = ", ".join(PORTS)
        report(f"{SECURITY} must be one of {kinds}; got {mail.security!r}: choose one")
    elif not 1 <= mail.port <= 65535:
        report(f"{PORT} must be a whole number from 1 to 65535; got {values[PORT]!r}: correct it")


def _check_people(mail: Mail, _values: dict[str, str], report: Report) -> None:
    if not _is_address(mail.sender):
        report(f"{SENDER} must be one e-mail address; got {mail.sender!r}: set it")
    if not mail.addressees:
        report(f"{RECIPIENTS} must be e-mail addresses with commas between; it is empty: set it")
    for address in mail.addressees:
        if not _is_address(address):
            report(f"{RECIPIENTS} must be e-mail addresses; {address!r} is none: correct it")


def _check_login(mail: Mail, _values: dict[str, str], report: Report) -> None:
    if PASSWORD in os.environ:
        report(
            f"a password must be in a file; {PASSWORD} is set: write it to a file, name that in "
            f"{PASSWORD_FILE}, and unset {PASSWORD}"
        )
    elif bool(mail.user) != (mail.password_file is not None):
        given, missing = (USER, PASSWORD_FILE) if mail.user else (PASSWORD_FILE, USER)
        report(f"a login needs {USER} and {PASSWORD_FILE}; only {given} is set: set {missing}")
    elif mail.user and not PLAIN.fullmatch(mail.user):
        report(f"{USER} must be plain ASCII without spaces; it is not: correct it")
    elif mail.user and mail.security == "none":
        report(
            f"a password must travel encrypted; {SECURITY} is 'none': set it to starttls or tls, "
            f"or unset {USER} and {PASSWORD_FILE}"
        )


def _check_files(mail: Mail, _values: dict[str, str], report: Report) -> None:
    try:
        if mail.password_file is not None:
            _password(mail.password_file)
        if mail.ca is not None:
            mail._trust()
    except SpecError as error:
        report(str(error))
    except OSError as error:
        report(
            f"{CA} must name a file of certificates in PEM format; {str(mail.ca)!r} is none "
            f"({_reason(error)}): correct it"
        )


def _port(text: str, usual: int) -> int:
    """Read a port; 0 if the text is no number."""
    if not text:
        return usual
    return int(text) if re.fullmatch(r"[0-9]{1,5}", text) else 0


def _addresses(text: str) -> tuple[str, ...]:
    """Separate addresses at commas, and list each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _is_address(text: str) -> bool:
    try:
        return bool(PLAIN.fullmatch(text)) and Address(addr_spec=text).domain != ""
    except (HeaderParseError, ValueError, IndexError):
        return False


def _password(file: Path) -> str:
    """Read a password; no message ever holds it."""
    try:
        password = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"{PASSWORD_FILE} must name a file that holds a password; {str(file)!r} cannot be read "
            f"({_reason(error)}): correct it"
        ) from None
    if not re.fullmatch(r"[ -~]+", password):
        raise SpecError(
            f"{PASSWORD_FILE} must name a file with a password on one line, in plain ASCII; "
            f"{str(file)!r} {'has other content' if password else 'is empty'}: correct it"
        )
    return password


def one_line(text: str) -> str:
    """Put a text on one line without control characters, so that it can stand in a header."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())


def _body(message: Message) -> str:
    lines = [f"{one_line(message.state)}: {one_line(message.message) or 'no message'}", ""]
    facts = {**message.details, "run": message.run, "id of the run": message.flow_run_id}
    lines += [f"{one_line(name)}: {one_line(value)}" for name, value in facts.items()]
    lines += [f"time: {message.time}", "", "microrelease sends one message for each event."]
    return "\n".join(lines) + "\n"


def _reason(error: Exception) -> str:
    """Give the kind of an error, and its code, but not what a server said: it may quote."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{type(error).__name__} {error.smtp_code}"
    if isinstance(error, SpecError):
        return str(error)
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror or type(error).__name__


def _advice(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"name the certificate that signed it in {CA}"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"correct {USER} and the password in {PASSWORD_FILE}"
    if isinstance(error, smtplib.SMTPSenderRefused):
        return f"correct {SENDER}"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return f"correct {SECURITY}, or ask those who run the server"
    return f"correct {HOST}, {PORT} and {SECURITY}, or ask those who run the server"
