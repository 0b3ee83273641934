"""The image and the services do what `microrelease up` does, and hold no secret."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from expectations.request.named import SPECS
from flows.cli.app import COMMANDS, parser
from flows.operation.defaults import DESK_PORT, PORT
from flows.operation.installation import OUTBOX, Installation
from flows.operation.up import DESK, SERVER, WORKER
from tasks.store.home import HOME

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deployments" / "Dockerfile"
COMPOSE: dict[str, Any] = yaml.safe_load(
    (ROOT / "deployments" / "compose.yaml").read_text(encoding="utf-8")
)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def instructions(name: str) -> list[str]:
    """Take the arguments of all instructions of a kind, each in one line."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [line.partition(" ")[2] for line in lines if line.startswith(f"{name} ")]


def with_defaults(value: str) -> str:
    """Fill in what compose takes if a variable is not set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def test_the_image_copies_what_the_wheel_packs_and_installs_from_the_lock() -> None:
    copied = {
        source
        for line in instructions("COPY")
        if not line.startswith("--from")
        for source in line.split()[:-1]
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert copied == {"requirements.lock", "pyproject.toml", "README.md", "LICENSE", *packages}
    assert all((ROOT / source).exists() for source in copied)
    (locked, project_only) = (line for line in instructions("RUN") if "pip install" in line)
    assert "--require-hashes --requirement requirements.lock" in locked
    assert "--no-deps --no-build-isolation ." in project_only


def test_the_image_runs_as_an_ordinary_user_and_names_no_secret() -> None:
    assert instructions("USER") == ["10001:10001"]
    assert not instructions("ARG")
    settings = " ".join(instructions("ENV"))
    assert {HOME, OUTBOX, SPECS} <= set(re.findall(r"(\w+)=", settings))
    assert not re.search(r"(?i)password|auth|secret|token", settings)


def test_services_run_the_commands_of_an_installation_in_its_order() -> None:
    assert SERVICES["server"]["command"] == ["python", "-m", *SERVER]
    program, command = SERVICES["deploy"]["command"]
    assert program == "microrelease"
    assert command in {known.name for known in COMMANDS}
    assert SERVICES["worker"]["command"] == [*WORKER, "--with-healthcheck"]
    assert SERVICES["desk"]["command"][:2] == ["microrelease", *DESK[1:]]
    needs = {name: service.get("depends_on", {}) for name, service in SERVICES.items()}
    assert needs == {
        "database": {},
        "server": {"database": {"condition": "service_healthy"}},
        "deploy": {"server": {"condition": "service_healthy"}},
        "worker": {"deploy": {"condition": "service_completed_successfully"}},
        "desk": {"server": {"condition": "service_healthy"}},
    }


def test_services_have_the_settings_of_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRORELEASE_DATABASE", "postgresql+asyncpg://somewhere")
    installation = Installation(tmp_path)
    installation.prepare()
    in_image = {HOME, OUTBOX, SPECS}
    expected = installation.settings
    server = SERVICES["server"]["environment"]
    assert set(expected) - in_image <= set(server)
    differing = {
        name
        for name in expected
        if name in server and with_defaults(server[name]) != expected[name]
    }
    assert differing == {
        "PREFECT_HOME",
        "PREFECT_API_URL",
        "PREFECT_API_AUTH_STRING",
        "PREFECT_SERVER_API_AUTH_STRING",
        "PREFECT_SERVER_API_HOST",
        "PREFECT_SERVER_UI_STATIC_DIRECTORY",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL",
    }
    of_clients = {name for name in expected if not name.startswith("PREFECT_SERVER_")} - in_image
    for name in ("worker", "desk"):
        assert of_clients <= set(SERVICES[name]["environment"])


def test_the_desk_understands_its_command_and_shares_keys_registers_and_locks_with_runs() -> None:
    (_, *arguments) = SERVICES["desk"]["command"]
    options = parser().parse_args(arguments)
    assert (options.port, options.behind_tls) == (DESK_PORT, True)
    assert SERVICES["desk"]["volumes"] == SERVICES["worker"]["volumes"]
    writable = {mount.split(":")[1] for mount in SERVICES["desk"]["volumes"] if mount[-3:] != ":ro"}
    assert writable == {
        "/srv/microrelease/public",
        "/srv/microrelease/register",
        dict(re.findall(r"(\w+)=(\S+)", " ".join(instructions("ENV"))))[HOME],
    }
    assert SERVICES["desk"]["read_only"]


def test_the_output_of_every_service_is_limited() -> None:
    for service in SERVICES.values():
        assert service["logging"]["driver"] == "local"
        assert {"max-size", "max-file"} == set(service["logging"]["options"])


def test_secrets_come_from_outside_and_only_this_host_reaches_the_pages() -> None:
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if re.search(r"PASSWORD|AUTH_STRING", name):
                assert re.fullmatch(r"\$\{\w+:\?write it to deployments/.env\}", value)
    assert SERVICES["server"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert SERVICES["desk"]["ports"] == [f"127.0.0.1:{DESK_PORT}:{DESK_PORT}"]
    assert all("ports" not in SERVICES[name] for name in ("database", "deploy", "worker"))
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_services_are_watched_and_keep_their_files_in_volumes() -> None:
    for name in ("database", "server", "worker", "desk"):
        assert "test" in SERVICES[name]["healthcheck"]
    targets = {
        mount.removesuffix(":ro").rpartition(":")[2] for mount in SERVICES["worker"]["volumes"]
    }
    assert {f"/srv/microrelease/{name}" for name in ("specs", "public", "register")} <= targets
    named = {mount.partition(":")[0] for s in SERVICES.values() for mount in s.get("volumes", ())}
    assert {name for name in named if name.isalpha()} == set(COMPOSE["volumes"])


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_hadolint_finds_no_fault_in_the_image() -> None:
    checked = subprocess.run(["hadolint", DOCKERFILE], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
