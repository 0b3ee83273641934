"""The application: its routers, and the layers around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from flows.desk import (
    audit_page,
    datasets,
    health,
    login,
    metrics,
    register_page,
    releases,
    review_page,
    static,
    users_page,
)
from flows.desk.access_log import AccessLog
from flows.desk.addresses import HOME
from flows.desk.auditing import Auditor
from flows.desk.faults import add_handlers
from flows.desk.library import Library
from flows.desk.middleware import Frame
from flows.desk.settings import DeskSettings
from flows.desk.state import Desk
from flows.desk.users import Users
from tasks.store.disk import PRIVATE, make_folder
from tasks.store.home import WHAT

ROUTERS: tuple[APIRouter, ...] = (
    static.router,
    login.router,
    users_page.router,
    datasets.router,
    releases.router,
    review_page.router,
    register_page.router,
    audit_page.router,
    health.router,
    metrics.router,
)
"""All pages; add the router of a new page here."""


def create_app(settings: DeskSettings) -> FastAPI:
    """Build the desk of an installation.

    Raises
    ------
    StorageError
        If the folder of the logs cannot be created.
    """
    _make_folders(settings)
    desk = Desk(settings, Users(settings.users_file), AccessLog(settings.log_file))
    library = Library()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        library.open()
        yield
        library.close()
        desk.close()

    app = FastAPI(
        title="microrelease",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # such a redirect names the host and the scheme that a proxy may have replaced
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.desk = desk
    app.state.library = library
    app.state.auditor = Auditor()
    app.add_api_route("/", _start, include_in_schema=False)
    app.add_api_route("/healthz", _alive, include_in_schema=False)
    for router in ROUTERS:
        app.include_router(router)
    add_handlers(app)
    app.add_middleware(Frame, desk=desk)
    return app


def _make_folders(settings: DeskSettings) -> None:
    make_folder(settings.home, WHAT, PRIVATE.folder)
    make_folder(settings.log_file.parent, "the folder of logs", PRIVATE.folder)


def _start() -> Response:
    return RedirectResponse(HOME, status_code=303)


def _alive() -> Response:
    return PlainTextResponse("ok")
