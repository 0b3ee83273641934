"""Pages of the desk, from templates."""

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from flows.desk.access import visitor_of
from flows.desk.navigation import navigation
from flows.desk.static import static
from tasks.reporting.page import TEMPLATES

ENVIRONMENT = Environment(
    # the macros and styles of reports are used here too
    loader=ChoiceLoader([PackageLoader("flows.desk"), PackageLoader("tasks.reporting")]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
ENVIRONMENT.filters |= TEMPLATES.filters
ENVIRONMENT.globals["static"] = static


def page(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """Answer with a page.

    Parameters
    ----------
    request : Request
        The request that is answered.
    template : str
        File name of the template. Besides ``values`` it can show ``user`` (None for a visitor who
        is not logged in), ``csrf_field`` (for every form that is sent by POST) and ``current``
        (the path of the page).
    status : int
        Status code of the answer.
    **values : object
        Values that the template shows; all of them are escaped.
    """
    visitor = visitor_of(request)
    frame = {
        "user": visitor.user,
        "csrf_field": csrf_field(visitor.csrf),
        "current": request.url.path,
        "navigation": navigation(visitor.user),
        "can_log_out": visitor.user is not None and not visitor.by_proxy,
    }
    text = ENVIRONMENT.get_template(template).render(frame | values)
    # the name of a file need not be text
    return HTMLResponse(text.encode(errors="replace"), status_code=status)


def csrf_field(token: str) -> Markup:
    """Write the hidden field that proves that a form is from the desk."""
    return Markup('<input type="hidden" name="csrf" value="{}">').format(token)
