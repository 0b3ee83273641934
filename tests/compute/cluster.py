"""A Dask cluster of processes with certificates, as the page on computing describes it."""

import datetime
import ipaddress
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.tools import PATIENCE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compute.md"


def safe_settings() -> dict[str, Any]:
    """Read the settings of a safe cluster from the page, so that the page is tested too."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"```yaml\n(distributed:.*?)```", text, flags=re.DOTALL)
    (block,) = found
    settings: dict[str, Any] = yaml.safe_load(block)
    return settings


def changed(settings: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings by their dotted names."""
    for path, value in changes.items():
        *sections, last = path.split(".")
        section = settings
        for name in sections:
            section = section.setdefault(name, {})
        section[last] = value
    return settings


class Authority:
    """Signs certificates into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("cluster authority")
        certificate = self._builder(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self._write("ca", certificate.sign(self._key, hashes.SHA256()), self._key)

    def sign(self, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        certificate = self._builder(_name(name), key.public_key()).add_extension(
            x509.SubjectAlternativeName([address]), critical=False
        )
        self._write(name, certificate.sign(self._key, hashes.SHA256()), key)

    def tls(self, name: str) -> dict[str, str]:
        """Name the files of a certificate, as a spec does."""
        return {
            "ca": str(self.folder / "ca.pem"),
            "cert": str(self.folder / f"{name}.pem"),
            "key": str(self.folder / f"{name}.key"),
        }

    def _builder(self, subject: x509.Name, key: Any) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )

    def _write(self, name: str, certificate: x509.Certificate, key: Any) -> None:
        pem = serialization.Encoding.PEM
        (self.folder / f"{name}.pem").write_bytes(certificate.public_bytes(pem))
        (self.folder / f"{name}.key").write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@dataclass
class Cluster:
    """A scheduler and workers that run as processes of this machine."""

    folder: Path
    address: str
    authority: Authority
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def compute(self, scratch: Path, **changes: Any) -> dict[str, Any]:
        """Write the section of a spec that uses this cluster."""
        return {
            "engine": "dask",
            "address": self.address,
            "tls": self.authority.tls("run"),
            "scratch_folder": str(scratch),
            **changes,
        }

    def start(self, name: str, settings: dict[str, Any], *arguments: str, **extra: str) -> None:
        config = self.folder / f"{name}.yaml"
        config.write_text(yaml.safe_dump(settings))
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                cwd=self.folder,
                env={
                    **os.environ,
                    "DASK_CONFIG": str(config),
                    "PYTHONPATH": str(ROOT),
                    **extra,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_for(self, name: str, words: str, count: int = 1) -> None:
        """Wait until a process has written words to its log."""
        end = time.monotonic() + PATIENCE
        while self.log(name).count(words) < count:
            assert self.processes[name].poll() is None, self.log(name)
            assert time.monotonic() < end, self.log(name)
            time.sleep(0.1)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Stop every process that was started here, with those that it started."""
        for process in reversed(self.processes.values()):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def running(
    folder: Path,
    workers: int = 2,
    *,
    scheduler_settings: Mapping[str, Any] | None = None,
    worker_settings: Mapping[str, Any] | None = None,
    threads: int = 1,
    dashboard: str = "--no-dashboard",
    **environment: str,
) -> Iterator[Cluster]:
    """Start a cluster with the settings of the page, and some that differ from them."""
    authority = Authority(folder)
    for name in ("node", "run"):
        authority.sign(name)
    node = authority.tls("node")
    own = {"cert": node["cert"], "key": node["key"]}
    certificates = {
        "distributed.comm.tls.ca-file": node["ca"],
        "distributed.comm.tls.scheduler": own,
        "distributed.comm.tls.worker": own,
    }
    settings = {
        name: changed(safe_settings(), {**certificates, **(changes or {})})
        for name, changes in (("scheduler", scheduler_settings), ("worker", worker_settings))
    }
    port = _free_port()
    cluster = Cluster(folder, f"tls://127.0.0.1:{port}", authority)
    place = ("--protocol", "tls", "--host", "127.0.0.1", dashboard)
    try:
        cluster.start("scheduler", settings["scheduler"], "scheduler", *place, "--port", str(port))
        cluster.wait_for("scheduler", "Scheduler at:")
        if workers:
            options = ("--nworkers", str(workers), "--nthreads", str(threads))
            cluster.start(
                "workers",
                settings["worker"],
                "worker",
                cluster.address,
                *place,
                *options,
                "--local-directory",
                str(folder / "local"),
                **environment,
            )
            cluster.wait_for("scheduler", "Register worker", workers)
        yield cluster
    finally:
        cluster.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
