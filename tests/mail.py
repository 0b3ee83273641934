"""Mail servers for tests: they accept letters on this machine, and keep them."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.compute.cluster import Authority


@dataclass
class Letters:
    """What a server has received, and how to reach it."""

    port: int = 0
    refused: set[str] = field(default_factory=set)
    """Addresses that the server does not know."""
    received: list[tuple[str, EmailMessage]] = field(default_factory=list)
    """Each addressee with the letter."""
    logins: list[bytes] = field(default_factory=list)

    async def handle_RCPT(  # noqa: N802 - the library chose the name
        self,
        _server: SMTP,
        _session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        """Accept an address, unless it is unknown."""
        if address in self.refused:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - the library chose the name
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Keep a letter for each of its addressees."""
        assert isinstance(envelope.content, bytes)
        letter = message_from_bytes(envelope.content, policy=default)
        self.received += [(address, letter) for address in envelope.rcpt_tos]
        return "250 OK"

    def authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any
    ) -> AuthResult:
        """Let in whoever has the password."""
        assert isinstance(data, LoginPassword)
        self.logins.append(data.login)
        return AuthResult(success=data.password == b"correct horse", handled=False)

    def settings(self, **others: str) -> dict[str, str]:
        """Name the server, a sender and addressees, as an installation is told of them."""
        return {
            "MICRORELEASE_SMTP_HOST": "127.0.0.1",
            "MICRORELEASE_SMTP_PORT": str(self.port),
            "MICRORELEASE_SMTP_SECURITY": "none",
            "MICRORELEASE_MAIL_FROM": "releases@example.org",
            "MICRORELEASE_MAIL_TO": "ana@example.org, bea@example.org",
            **{f"MICRORELEASE_{name}": value for name, value in others.items()},
        }


@contextmanager
def mail_server(
    letters: Letters,
    *,
    security: str = "none",
    authority: Authority | None = None,
    login: bool = False,
) -> Iterator[None]:
    """Run a mail server on the port of these letters, or on a free one."""
    options: dict[str, Any] = {}
    if authority is not None:
        authority.sign("mail")
        files = authority.tls("mail")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(files["cert"], files["key"])
        options["ssl_context" if security == "tls" else "tls_context"] = context
        options["require_starttls"] = security == "starttls"
    if login:
        options |= {"authenticator": letters.authenticate, "auth_required": True}
        options["auth_require_tls"] = security == "starttls"
    if not letters.port:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            letters.port = probe.getsockname()[1]
    controller = Controller(letters, hostname="127.0.0.1", port=letters.port, **options)
    controller.start()
    try:
        yield
    finally:
        controller.stop()
