"""Forms that browsers send."""

import asyncio
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

MOST_BYTES = 64 * 1024
"""Size of the largest form that is read."""
MOST_FIELDS = 200
SECONDS = 20.0
"""Time within which a whole form must arrive."""
ENCODING = "application/x-www-form-urlencoded"


async def form(request: Request) -> dict[str, str]:
    """Read the fields of a form; a second call returns the same fields.

    It can be called, or named in ``Depends``.

    Raises
    ------
    HTTPException
        If the body is larger than 64 KiB, arrives too slowly, or is not a form in which each field
        occurs once.
    """
    fields: dict[str, str] | None = getattr(request.state, "fields", None)
    if fields is None:
        fields = request.state.fields = parsed(await _body(request))
    return fields


def parsed(body: bytes) -> dict[str, str]:
    """Parse the body of a form.

    Raises
    ------
    HTTPException
        If it is not a form, or a field occurs twice.

    Examples
    --------
    >>> parsed(b"decision=approve&reason=well+done%21")
    {'decision': 'approve', 'reason': 'well done!'}
    """
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise HTTPException(400) from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise HTTPException(400)
    return fields


async def _body(request: Request) -> bytes:
    """Read the body, unless it is too large, too slow or not a form."""
    kind = request.headers.get("content-type", ENCODING).partition(";")[0].strip().lower()
    if kind != ENCODING:
        raise HTTPException(415)
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MOST_BYTES:
        raise HTTPException(413)
    body = bytearray()
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    raise HTTPException(413)
    except TimeoutError:
        raise HTTPException(408) from None
    return bytes(body)
