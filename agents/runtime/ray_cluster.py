"""Connecting to a Ray cluster."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from importlib import import_module
from typing import Any

from welfare_env.extras import install_extra

PATIENCE = 10.0  # seconds for a cluster to answer


def connect(address: str | None, error: type[Exception], **options: Any) -> Any:
    """Connect to a cluster with ``ray.init``.

    Args:
        address: "auto" or "HOST:PORT" of a running one; "local" or None start one on this machine.
        error: what to raise.
        options: of ``ray.init``.

    Returns:
        The module `ray`.

    Raises:
        error: Ray is not installed, or the cluster does not answer.
    """
    try:
        import ray
    except ImportError as missing:
        raise error(f"Ray is not installed; it comes with {install_extra('train')}") from missing
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if host := _check_answers(address or ""):
            _see_token(host)
        ray.init(address=address, log_to_driver=False, **options)
    except (ConnectionError, ValueError, RuntimeError, OSError, ray.exceptions.RayError) as fault:
        raise error(f"ray_address={address!r:.200}: cannot be used: {first_line(fault)}{_hint(fault)}") from fault
    return ray


def first_line(error: Exception) -> str:
    """The first line of an error's message; its class if the message is empty."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _check_answers(address: str) -> str:
    """Check that something listens at HOST:PORT; Ray itself would try for minutes.

    Returns:
        The host; "" for other addresses.

    Raises:
        OSError, ValueError: nothing listens there, or there is no such port.
    """
    host, mark, port = address.removeprefix("ray://").rpartition(":")
    host = host.strip("[]")
    if mark:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    return host


def _see_token(host: str) -> None:
    """Use the user's token for a cluster on this machine, as Ray does by itself for "auto".

    A cluster of `ray start` requires a token if the user has one (since Ray 2.60). It is sent to other machines only if
    the user sets RAY_AUTH_MODE=token.
    """
    with suppress(OSError, ImportError):  # another machine's address; an earlier Ray
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
        setup = import_module("ray._private.authentication.authentication_token_setup")
        setup.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)


def _hint(fault: Exception) -> str:
    """What may be wrong if a cluster listens but does not answer."""
    if not isinstance(fault, ConnectionError) or fault.errno is not None:  # with a number it is the socket's
        return ""
    if os.environ.get("RAY_AUTH_MODE") == "token":
        return ". Its token may be another: give it in RAY_AUTH_TOKEN"
    return ". If it asks for a token (`ray start` does where ~/.ray/auth_token exists), set RAY_AUTH_MODE=token"
