"""Connecting to a Ray cluster, without one: whose token is used, and what is said if it does not answer."""

import socket

import pytest

from agents.runtime.ray_cluster import connect

ray = pytest.importorskip("ray")
from ray._private.authentication import authentication_token_setup as setup  # noqa: E402


@pytest.fixture
def seen(monkeypatch):
    """What Ray is asked to do, in place of doing it."""
    seen = []
    monkeypatch.setattr(ray, "init", lambda **options: seen.append(options["address"]))
    monkeypatch.setattr(
        setup, "maybe_enable_token_auth_if_token_available", lambda warn_if_disabled: seen.append("token")
    )
    return seen


@pytest.fixture
def address():
    """Of somebody who listens on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_cluster_on_this_machine_is_sent_the_users_token(seen, address):
    connect(address, ValueError)
    assert seen == ["token", address]


def test_ray_sees_to_the_token_of_clusters_that_it_finds_or_starts(seen):
    for where in ("auto", "local", None):
        connect(where, ValueError)
    assert seen == ["auto", "local", None]


def test_no_token_is_sent_to_another_machine(seen, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", lambda *args, **options: socket.socket())
    connect("198.51.100.7:6379", ValueError)
    assert seen == ["198.51.100.7:6379"]


@pytest.mark.parametrize(("mode", "hint"), [("disabled", "set RAY_AUTH_MODE=token"), ("token", "RAY_AUTH_TOKEN")])
def test_a_cluster_that_does_not_answer_may_want_a_token(seen, address, monkeypatch, mode, hint):
    def refuse(**options):
        raise ConnectionError("Failed to connect to Ray cluster")

    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ValueError, match=rf"cannot be used: Failed to connect to Ray cluster\..*{hint}"):
        connect(address, ValueError)


def test_where_nobody_listens_no_token_is_missing(seen, address):
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(ValueError, match=r"Connection refused$"):
        connect(gone, ValueError)
    assert seen == []


def test_a_missing_token_is_a_named_error(seen, monkeypatch):
    def refuse(**options):
        raise ray.exceptions.AuthenticationError("no authentication token was found")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ValueError, match=r"ray_address='auto': cannot be used: no authentication token was found"):
        connect("auto", ValueError)
