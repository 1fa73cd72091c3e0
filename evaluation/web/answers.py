"""Errors as responses."""

from __future__ import annotations

import json
import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from evaluation.web.journal import JournalError

_log = logging.getLogger(__name__)


def problem(message: str, status: int, code: str = "") -> Response:
    """An error as JSON, for a page to show."""
    text = message.encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"error": text, "code": code}, status)


def refused(accepts: str, message: str, status: int, code: str) -> Response:
    """Like `problem`, but as plain text if the browser asks for a page.

    Args:
        accepts: the request's Accept header.
    """
    return PlainTextResponse(message, status) if "text/html" in accepts else problem(message, status, code)


def failed(request: Request, error: Exception) -> Response:
    """The response to a server error, such as a full disk. Only the host's log has the details."""
    _log.error("%s: %s", type(error).__name__, error)
    reason = error.reason if isinstance(error, JournalError) else type(error).__name__
    message = f"The server failed ({reason}); nothing was changed. Please tell the host"
    return refused(request.headers.get("accept", ""), message, 500, "failed")


def json_object(body: bytes) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
