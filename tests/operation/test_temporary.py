"""The server of one command: it records, it asks for a login, and it ends with the command."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from flows.operation.installation import answers
from tests.tools import PATIENCE

pytestmark = pytest.mark.operation

COMMAND = """
import os, sys
from flows.operation.temporary import has_lasting_server, start_temporary_server
start_temporary_server("json")
from prefect.client.orchestration import get_client
with get_client(sync_client=True) as client:
    print(os.environ["PREFECT_API_URL"], client.api_healthcheck(), len(client.read_flows()),
          has_lasting_server(), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ending", ["end", "kill"])
def test_a_temporary_server_asks_for_a_login_and_ends_with_its_command(
    tmp_path: Path, ending: str
) -> None:
    inherited = {name: os.environ[name] for name in os.environ if not name.startswith("PREFECT_")}
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        env={**inherited, "PREFECT_HOME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert command.stdin is not None
    assert command.stdout is not None
    url, *rest = command.stdout.readline().split()
    assert rest == ["None", "0", "False"]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{url}/flows/{'0' * 8}", timeout=5)
    if ending == "kill":
        command.send_signal(signal.SIGKILL)
    command.stdin.close()
    assert command.wait(PATIENCE) == (0 if ending == "end" else -signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while answers(url.removesuffix("/api")):
        assert time.monotonic() < end
        time.sleep(0.2)
