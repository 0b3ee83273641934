"""The folder of an installation: its database, logs, users and keys."""

import os
from pathlib import Path

HOME = "MICRORELEASE_HOME"
"""Environment variable with the folder of the installation."""
WHAT = "the home of the installation"
"""What messages call it."""
DESK_URL = "MICRORELEASE_DESK_URL"
"""Environment variable with the address under which people reach the desk."""
USUAL = Path.home() / ".microrelease"


def default_home() -> Path:
    """Return the folder of the installation, unless an option names another."""
    return Path(os.environ.get(HOME) or USUAL)
