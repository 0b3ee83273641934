"""Runs the desk."""

import os

import uvicorn

from flows.desk.app import create_app
from flows.desk.settings import DeskSettings


def serve(settings: DeskSettings) -> None:
    """Serve the desk until a signal arrives."""
    os.umask(0o077)
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="warning",
    )
