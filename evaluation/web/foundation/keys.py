"""The secrets of seats: a token in the fragment of a link, which a page exchanges for a cookie.

Fragments are never sent with requests, so they do not appear in logs, proxies or referrers. The page posts the token
once, and gets a cookie that scripts cannot read and that is not sent from other sites. A cookie is derived from the
secret of its seat, so nothing about it must be stored; the secret cannot be derived from a stolen cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

TOKEN_BYTES = 24


def new_token() -> str:
    """A random token for a link, with 192 bits."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_whole(given: str) -> bool:
    """Whether a text has the form of `new_token`."""
    return re.fullmatch("[A-Za-z0-9_-]{32}", given) is not None


def is_token(given: object, token: str) -> bool:
    """Whether a value is the token, compared in constant time."""
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def cookie_name(seat: str) -> str:
    """The name of a seat's cookie; one browser can have several seats."""
    return "seat-" + re.sub("[^A-Za-z0-9]", "-", seat)


def cookie_value(secret: str) -> str:
    """The value of the cookie of a seat with this secret."""
    return hmac.new(secret.encode(), b"cookie", hashlib.sha256).hexdigest()


def holds(cookies: Mapping[str, str], seat: str, secret: str) -> bool:
    """Whether the cookies of a request include the one of this seat."""
    return is_token(cookies.get(cookie_name(seat), ""), cookie_value(secret))


def cookie_header(seat: str, secret: str, path: str, is_secure: bool) -> str:
    """A Set-Cookie header: HttpOnly, SameSite=Strict, for 90 days.

    Args:
        path: path prefix of the addresses to which the cookie is sent.
        is_secure: whether to send the cookie only over https.
    """
    parts = [f"{cookie_name(seat)}={cookie_value(secret)}", f"Path={path}", "Max-Age=7776000", "HttpOnly"]
    return "; ".join([*parts, "SameSite=Strict", *(["Secure"] if is_secure else [])])
