"""Defaults of an installation, apart from the rest so that help texts load quickly."""

import os
from pathlib import Path

HOME = "MICRORELEASE_HOME"
"""Environment variable with the folder of the installation."""
PORT = 4200
ROOT = Path(__file__).parents[2]
FILE = ROOT / "deployments" / "prefect.yaml"


def default_home() -> Path:
    """Return the folder of the installation, unless an option names another."""
    return Path(os.environ.get(HOME) or Path.home() / ".microrelease")
