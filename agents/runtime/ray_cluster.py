"""Connecting to a Ray cluster."""

from __future__ import annotations

import os
import socket
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
    host, mark, port = (address or "").removeprefix("ray://").rpartition(":")
    try:
        if mark:  # Ray itself would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
        ray.init(address=address, log_to_driver=False, **options)
    except (ConnectionError, ValueError, RuntimeError, OSError, ray.exceptions.RayError) as fault:
        token = ". For a cluster with a token set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN" if address else ""
        raise error(f"ray_address={address!r:.200}: cannot be used: {first_line(fault)}{token}") from fault
    return ray


def first_line(error: Exception) -> str:
    """The first line of an error's message; its class if the message is empty."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
