"""Connecting to a Ray cluster, without one."""

import socket

import pytest

from agents.runtime.ray_cluster import connect

ray = pytest.importorskip("ray")


def test_an_address_where_somebody_listens_is_given_to_ray(monkeypatch):
    seen = []
    monkeypatch.setattr(ray, "init", lambda **options: seen.append(options["address"]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for where in (address, "auto", None):
            connect(where, ValueError)
    with pytest.raises(ValueError, match="Connection refused"):
        connect(address, ValueError)
    assert seen == [address, "auto", None]


def test_an_error_of_ray_is_ours(monkeypatch):
    def refuse(**options):
        raise ray.exceptions.AuthenticationError("no authentication token was found")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ValueError, match=r"ray_address='auto': cannot be used: no authentication token.*RAY_AUTH_MODE"):
        connect("auto", ValueError)
