"""Answers to pages: what is wrong as JSON, and pages that bring their own scripts."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

_OWN_POLICY = re.compile('http-equiv="Content-Security-Policy" content="([^"]+)"')


def problem(message: str, status: int, code: str = "") -> Response:
    """Why a request is not answered, for a page to show."""
    text = message.encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"error": text, "code": code}, status)


def json_object(body: bytes) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def whole_page(page: str) -> Response:
    """A page such as a replay, whose own policy names the hashes of its scripts; without one it gets nothing."""
    found = _OWN_POLICY.search(page)
    policy = f"{found[1]}; frame-ancestors 'none'" if found else "default-src 'none'"
    return HTMLResponse(page, headers={"content-security-policy": policy})
