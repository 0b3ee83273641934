"""Runs a Prefect server without its API documentation, which loads scripts from other hosts."""

import re
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from prefect.server.api.server import create_app
from prefect.settings import get_current_settings
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

QUIET = Path(__file__).with_name("quiet.js")
"""Script for every page of the UI."""


def main() -> None:
    """Serve until a signal arrives; the settings come from the environment."""
    settings = get_current_settings().server
    app = without_documentation(create_app(final=True))
    if settings.ui.static_directory:
        quieten(Path(settings.ui.static_directory))
    uvicorn.run(
        app,
        host=settings.api.host,
        port=settings.api.port,
        timeout_keep_alive=settings.api.keepalive_timeout,
        ws_ping_interval=settings.api.websocket_ping_interval,
        ws_ping_timeout=settings.api.websocket_ping_timeout,
        log_level=settings.logging_level.lower(),
    )


def without_documentation(app: FastAPI) -> FastAPI:
    """Answer 404 on the pages where an application, or one mounted in it, documents its API."""
    paths = {app.docs_url, app.redoc_url, app.openapi_url, app.swagger_ui_oauth2_redirect_url}
    for index, route in enumerate(app.router.routes):
        if isinstance(route, Mount) and isinstance(route.app, FastAPI):
            without_documentation(route.app)
        elif isinstance(route, Route) and route.path in paths:
            app.router.routes[index] = Route(route.path, _not_found)
    return app


def quieten(pages: Path) -> None:
    """Keep the UI from showing adverts, and errors before anything was typed.

    ``pages`` is the folder into which Prefect has copied its UI, now or at an earlier start.
    """
    index = pages / "v1" / "index.html"
    if index.is_file():
        html = re.sub(r'<script id="quiet">.*?</script>', "", index.read_text("utf-8"), flags=re.S)
        script = f'<script id="quiet">{QUIET.read_text(encoding="utf-8")}</script>'
        index.write_text(html.replace("</head>", f"{script}</head>", 1), encoding="utf-8")


def _not_found(_request: Request) -> Response:
    return Response(status_code=404)


if __name__ == "__main__":
    main()
