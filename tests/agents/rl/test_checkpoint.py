"""Checkpoints: what is written is read, and what does not fit is refused with a reason."""

import hashlib
import json
import os
import pickle
import resource

import numpy as np
import pytest
from safetensors import numpy as safetensors

import agents
import welfare_env
from agents.rl import checkpoint
from agents.rl.checkpoint import CheckpointError
from agents.runtime.files import LARGEST
from tests.agents.rl.conftest import checkpoint_of
from welfare_env.rules import Rules


def made(seed=0):
    rules = Rules(press=None, years=2)
    return checkpoint_of(welfare_env.load_board("clique:3"), rules, seed=seed, origin={"seed": seed})


@pytest.fixture
def folder(tmp_path):
    checkpoint.save(tmp_path / "c", made())
    return tmp_path / "c"


def test_what_is_written_is_read(folder):
    read, wanted = checkpoint.load(folder), made()
    assert (read.size, read.rules, read.map_name) == (wanted.size, wanted.rules, wanted.map_name)
    assert read.origin == {"seed": 0}
    assert all(np.array_equal(read.weights[name], value) for name, value in wanted.weights.items())
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint.json", "weights.safetensors"]


def altered(folder, **changes):
    """The checkpoint with other values in its JSON file."""
    about = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps(about | changes))
    return folder


def with_weights(folder, content):
    """The checkpoint with other weights, and their digest."""
    (folder / "weights.safetensors").write_bytes(content)
    return altered(folder, weights=hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize(
    ("map_name", "variant", "reason"),
    [("clique:4", "welfare", "trained on the map 'clique:3'"), ("clique:3", "standard", "welfare variant")],
)
def test_another_game_is_refused(folder, map_name, variant, reason):
    board = welfare_env.load_board(map_name)
    with pytest.raises(CheckpointError, match=reason):
        checkpoint.load(folder).network_for(board, Rules(press=None, variant=variant))


def test_damaged_weights(folder):
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-3] + b"abc")
    with pytest.raises(CheckpointError):
        checkpoint.load(folder)


def test_a_pickle_is_not_executed(folder, tmp_path):
    class Evil:
        def __reduce__(self):
            return (tmp_path.joinpath("owned").touch, ())

    with pytest.raises(CheckpointError):
        checkpoint.load(with_weights(folder, pickle.dumps(Evil())))
    assert not (tmp_path / "owned").exists()


def network_of(given):
    return given.network_for(welfare_env.load_board(given.map_name), given.rules)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 99}, "format 99"),
        ({"size": {"width": 12, "layers": 1}}, "do not fit"),
        ({"size": {"width": 10**9, "layers": 1}}, "width=1000000000: give a whole number from 1 to 1,024"),
        ({"size": [8, 1]}, "damaged"),
        ({"rules": {"years": -1}}, "years"),
        ({"rules": None}, "damaged"),
        ({"vocabulary": 5}, "damaged"),
        ({"greedy": "yes"}, "greedy='yes'"),
    ],
)
def test_a_json_that_lies(folder, change, reason):
    with pytest.raises((CheckpointError, welfare_env.RulesError), match=reason):
        network_of(checkpoint.load(altered(folder, **change)))


@pytest.mark.parametrize("name", ["checkpoint.json", "weights.safetensors"])
def test_only_files_are_read(folder, name):
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()):
        (folder / name).unlink(missing_ok=True)
        make(folder / name)
        with pytest.raises(CheckpointError):
            checkpoint.load(folder)


def test_files_that_are_far_too_large(folder, monkeypatch):
    with (folder / "weights.safetensors").open("r+b") as file:
        file.truncate(2 << 30)
    with pytest.raises(CheckpointError, match=f"{2 << 30:,}.*{LARGEST:,}"):
        checkpoint.load(folder)
    monkeypatch.setattr(checkpoint, "LARGEST_ABOUT", 123)
    with pytest.raises(CheckpointError, match=rf"\b{(folder / 'checkpoint.json').stat().st_size:,}\b.*\b123\b"):
        checkpoint.load(folder)


@pytest.mark.parametrize("text", ["", "{}", "[" * 200_000])
def test_a_json_that_is_none(folder, text):
    (folder / "checkpoint.json").write_text(text)
    with pytest.raises(CheckpointError):
        checkpoint.load(folder)


@pytest.mark.parametrize("name", ["nowhere", "y" * 5000, "a\0b", 5])
def test_no_checkpoint(name, tmp_path):
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(name)
    assert len(str(caught.value)) < 1000
    with pytest.raises(welfare_env.UnknownAgentError, match="no checkpoint"):
        agents.make(f"rl:{tmp_path}")


@pytest.mark.parametrize("wrong", [np.float64(0), np.float32("nan")])
def test_weights_of_another_kind(folder, wrong):
    content = safetensors.save(dict(checkpoint.load(folder).weights) | {"place": np.full((3, 8), wrong)})
    with pytest.raises(CheckpointError, match="place"):
        checkpoint.load(with_weights(folder, content))


def test_what_cannot_be_written_leaves_what_was_there(folder, tmp_path):
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # as on a full disk
    try:
        with pytest.raises(CheckpointError):
            checkpoint.save(folder, made(seed=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "c", tmp_path / ("y" * 5000), "a\0b"):
        with pytest.raises(CheckpointError):
            checkpoint.save(place, made())
