"""Which changes give a game another key, so that the store does not answer with games of other players."""

import json
from pathlib import Path
from typing import Any

import pytest

import agents
import evaluation
from agents.lm.errors import ConfigError
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubServer
from agents.specs import read
from evaluation.play import sources
from evaluation.play.sources import code_of, digest_of
from evaluation.play.store import specification_key
from welfare_env import Rules

TOY = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}


def told(policy: str) -> dict[str, Any]:
    """All that decides a game."""
    return evaluation.Setting(**TOY).games(agents.specs.read_profile(policy), 1)[0].to_dict()


def key(policy: str) -> str:
    return specification_key(told(policy))


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a player of the user's, in the current folder."""
    file = tmp_path / "player_of_test.py"
    file.write_text(
        "from agents import HoldPolicy\n\nclass Mine(HoldPolicy):\n"
        "    def __init__(self, path='', k=1):\n        super().__init__()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return file


def test_a_changed_class_of_the_users_has_another_key(player: Path) -> None:
    policy = "import:player_of_test.Mine"
    before, others = key(policy), key("dove")
    player.write_text(player.read_text() + "# changed\n")
    assert key(policy) != before
    assert key("dove") == others


def test_a_changed_file_that_an_option_names_has_another_key(player: Path) -> None:
    policy, file = "import:player_of_test.Mine,path=ck", player.parent / "ck"
    missing = key(policy)
    file.write_bytes(b"weights")
    before = key(policy)
    file.write_bytes(b"other weights")
    assert len({missing, before, key(policy), key("import:player_of_test.Mine")}) == 4
    nested = "exploiter:nice=(import:player_of_test.Mine,path=ck),attack=dumbbot"
    before = key(nested)
    file.write_bytes(b"weights again")
    assert key(nested) != before


def test_every_file_of_a_folder_counts_by_its_name_and_content(player: Path) -> None:
    policy, folder = "import:player_of_test.Mine,path=ck", player.parent / "ck"
    (folder / "deep").mkdir(parents=True)
    keys = [key(policy)]
    (folder / "deep" / "weights").write_bytes(b"1")
    keys.append(key(policy))
    (folder / "deep" / "weights").write_bytes(b"12")
    keys.append(key(policy))
    (folder / "deep" / "weights").rename(folder / "deep" / "other")
    keys.append(key(policy))
    assert len(set(keys)) == 4
    here = digest_of([folder])
    assert digest_of([folder.rename(player.parent / "moved")]) == here


def test_a_checkpoint_of_ours_counts_byte_by_byte(player: Path) -> None:
    pytest.importorskip("safetensors")
    folder = player.parent / "trained"
    folder.mkdir()
    for name in ("checkpoint.json", "weights.safetensors"):
        (folder / name).write_bytes(b"1")
    before = code_of([read("rl:trained")])
    (folder / "weights.safetensors").write_bytes(b"12")
    assert code_of([read("rl:trained")]) != before
    assert code_of([read("dove")])["own_files"] == ""


def test_versions_and_the_revision_of_the_rules_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key("dove")
    monkeypatch.setattr(sources, "RULES_REVISION", sources.RULES_REVISION + 1)
    raised = key("dove")
    monkeypatch.setitem(sources.VERSIONS, "welfare-env", "0.0.1")
    assert len({before, raised, key("dove")}) == 3


# Servers of language models


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Names servers in the environment, which has none."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_server_that_the_environment_names_counts(servers: pytest.MonkeyPatch) -> None:
    without = told("dove")
    assert told("lm:openai/x")["language_models"] == [{"model": "openai/x", "server": "https://api.openai.com/v1"}]
    servers.setenv("OPENAI_BASE_URL", "http://one:8000/v1/")
    assert told("lm:openai/x")["language_models"] == [{"model": "openai/x", "server": "http://one:8000/v1"}]
    assert told("dove") == without
    assert "language_models" not in without
    assert told("lm:scripted/stub")["language_models"] == [{"model": "scripted/stub"}]


def test_the_environment_does_not_count_where_the_spec_names_the_server(servers: pytest.MonkeyPatch) -> None:
    spec = "exploiter:nice=(lm:openai/x,base_url=http://here/v1,summariser=anthropic/y),attack=dumbbot"
    before = told(spec)
    assert before["language_models"] == [
        {"model": "anthropic/y", "server": "https://api.anthropic.com"},
        {"model": "openai/x", "server": "http://here/v1"},
    ]
    servers.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert told(spec) == before
    servers.setenv("ANTHROPIC_BASE_URL", "http://elsewhere")
    assert told(spec) != before


@pytest.mark.parametrize("address", ["http://user:hunter2@host/v1", "http://host/v1?key=hunter2", "hunter2"])
def test_a_secret_in_the_environment_is_in_no_key_and_no_error(address: str, servers: pytest.MonkeyPatch) -> None:
    servers.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL") as caught:
        told("lm:openai/x")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in json.dumps(told("lm:anthropic/x"))


def test_models_that_are_shared_ask_the_server_named_now(tmp_path: Path, servers: pytest.MonkeyPatch) -> None:
    """And a game of one server is not taken for one of the other."""
    models = SharedModels()
    servers.setenv("OPENAI_API_KEY", "none")
    with StubServer() as one, StubServer() as two, evaluation.GameStore(tmp_path / "games.sqlite") as store:
        for server, other in ((one, two), (two, one)):
            servers.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            before = other.stats["requests"]
            evaluation.self_play("PLAYERA*lm:openai/any + 2*hold", 1, store=store, models=models, **TOY)
            assert server.stats["requests"] > 0
            assert other.stats["requests"] == before
        assert store.count() == 2
