"""The secrets of seats: a token in the fragment of a link, which a page trades for a cookie.

A fragment is never sent with a request, so no log, proxy or referrer has it. The page posts it once, and gets a cookie
that scripts cannot read and that no other site's request carries. A cookie follows from the secret of its seat, so that
nothing about it must be stored, and differs from it, so a stolen cookie makes no other one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

TOKEN_BYTES = 24


def new_token() -> str:
    """An unguessable text for a link: 192 random bits."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_whole(given: str) -> bool:
    """Whether a text has the form of `new_token`."""
    return re.fullmatch("[A-Za-z0-9_-]{32}", given) is not None


def is_token(given: object, token: str) -> bool:
    """Whether what was given is the token; takes the same time for every wrong one."""
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def cookie_name(seat: str) -> str:
    """The cookie of a seat, so that one browser can hold several."""
    return "seat-" + re.sub("[^A-Za-z0-9]", "-", seat)


def cookie_value(secret: str) -> str:
    """What the cookie of a seat with this secret holds."""
    return hmac.new(secret.encode(), b"cookie", hashlib.sha256).hexdigest()


def holds(cookies: Mapping[str, str], seat: str, secret: str) -> bool:
    """Whether the cookies of a request include the one of this seat."""
    return is_token(cookies.get(cookie_name(seat), ""), cookie_value(secret))


def cookie_header(seat: str, secret: str, path: str, is_secure: bool) -> str:
    """A Set-Cookie header: HttpOnly, SameSite=Strict, for 90 days.

    Args:
        path: of the addresses that it is sent to.
        is_secure: only over https.
    """
    parts = [f"{cookie_name(seat)}={cookie_value(secret)}", f"Path={path}", "Max-Age=7776000", "HttpOnly"]
    return "; ".join([*parts, "SameSite=Strict", *(["Secure"] if is_secure else [])])
