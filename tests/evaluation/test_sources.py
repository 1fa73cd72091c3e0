"""Which changes give a game another key, so that the store does not answer with games of other players."""

import os
from pathlib import Path

import pytest

import agents
import evaluation
from agents.specs import read
from evaluation.play import sources
from evaluation.play.sources import code_of, digest_of
from evaluation.play.store import specification_key
from welfare_env import Rules

TOY = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}


def key(policy: str) -> str:
    settings = evaluation.Setting(**TOY)
    return specification_key(settings.games(agents.specs.read_profile(policy), 1)[0].to_dict())


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


def test_the_same_spec_has_the_same_key(player: Path) -> None:
    (player.parent / "ck").write_bytes(b"weights")
    for policy in ("dove", "import:player_of_test.Mine", "import:player_of_test.Mine,path=ck"):
        assert key(policy) == key(policy)


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_named(player: Path) -> None:
    (player.parent / "ck").touch(mode=0)
    with pytest.raises(OSError, match="ck"):
        key("import:player_of_test.Mine,path=ck")
