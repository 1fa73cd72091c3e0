"""Checkpoints: what is written is read, and what does not fit is refused with a reason."""

from __future__ import annotations

import hashlib
import json
import os
import pickle

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

import agents
import welfare_env
from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint, CheckpointError
from agents.rl.network import BoardNetwork, Size
from welfare_env.rules import Rules


def made(map_name="clique:3", variant="welfare", seed=0):
    board = welfare_env.load_board(map_name)
    torch.manual_seed(seed)
    net = BoardNetwork(board, Size(8, 1))
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    rules = Rules(press=None, variant=variant, years=2)
    return Checkpoint(weights, net.size, map_name, rules, checkpoint.vocabulary(board), {"seed": seed})


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


def test_another_map_is_refused(folder):
    board = welfare_env.load_board("clique:4")
    with pytest.raises(CheckpointError, match=r"trained on the map 'clique:3'.*'clique:4'"):
        checkpoint.load(folder).network_for(board, Rules(press=None))


def test_another_variant_is_refused(folder):
    board = welfare_env.load_board("clique:3")
    with pytest.raises(CheckpointError, match=r"welfare variant.*standard"):
        checkpoint.load(folder).network_for(board, Rules(press=None, variant="standard"))


def test_no_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match=r"no checkpoint"):
        checkpoint.load(tmp_path)


def test_damaged_weights(folder):
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-3] + b"abc")
    with pytest.raises(CheckpointError, match="damaged or was exchanged"):
        checkpoint.load(folder)


def test_a_pickle_is_not_executed(folder, tmp_path):
    class Evil:
        def __reduce__(self):
            return (tmp_path.joinpath("owned").touch, ())

    content = pickle.dumps(Evil())
    (folder / "weights.safetensors").write_bytes(content)
    about = json.loads((folder / "checkpoint.json").read_text())
    about["weights"] = __import__("hashlib").sha256(content).hexdigest()
    (folder / "checkpoint.json").write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match="damaged"):
        checkpoint.load(folder)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 99}, "format 99"),
        ({"size": {"width": 12, "layers": 1}}, "do not fit"),
        ({"size": {"width": 8, "depth": 1}}, "damaged"),
        ({"rules": {"years": -1}}, "years"),
        ({"rules": None}, "damaged"),
        ({"size": {"width": 10**9, "layers": 1}}, "width=1000000000: give a whole number from 1 to 1024"),
        ({"size": {"width": 8, "layers": 10**9}}, "layers=1000000000: give a whole number from 1 to 16"),
        ({"size": {"width": 8.0, "layers": 1}}, "width=8.0"),
        ({"greedy": "yes"}, "greedy='yes'"),
    ],
)
def test_a_json_that_lies(folder, change, reason):
    about = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps(about | change))
    with pytest.raises((CheckpointError, welfare_env.RulesError), match=reason):
        checkpoint.load(folder).network()


def test_a_checkpoint_of_earlier_versions_draws(folder):
    about = json.loads((folder / "checkpoint.json").read_text())
    del about["greedy"]
    (folder / "checkpoint.json").write_text(json.dumps(about))
    assert checkpoint.load(folder).greedy is False


@pytest.mark.parametrize("name", ["checkpoint.json", "weights.safetensors"])
def test_only_files_are_read(folder, name):
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()):
        (folder / name).unlink(missing_ok=True)
        make(folder / name)
        with pytest.raises(CheckpointError, match=f"no checkpoint: {name} missing"):
            checkpoint.load(folder)


@pytest.mark.parametrize("name", ["checkpoint.json", "weights.safetensors"])
def test_files_that_are_far_too_large(folder, name):
    with (folder / name).open("r+b") as file:
        file.truncate(2 << 30)
    with pytest.raises(CheckpointError, match=f"{name} has more than"):
        checkpoint.load(folder)


def test_weights_of_another_kind(folder):
    save_file({"a": np.zeros(3, np.int64)}, folder / "weights.safetensors")
    about = json.loads((folder / "checkpoint.json").read_text())
    about["weights"] = hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    (folder / "checkpoint.json").write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match="a is no float32"):
        checkpoint.load(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "{", '"x"', "[" * 100_000, '{"format": 1, "weights": NaN}'])
def test_a_json_that_is_none(folder, text):
    (folder / "checkpoint.json").write_text(text)
    with pytest.raises(CheckpointError):
        checkpoint.load(folder)


def test_the_spec_says_what_is_wrong(tmp_path):
    with pytest.raises(welfare_env.UnknownAgentError, match="no checkpoint"):
        agents.make(f"rl:{tmp_path}")
