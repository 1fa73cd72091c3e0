"""What a training keeps: read again as it was, or refused with a reason."""

import json
import os
import resource
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from training import run_folder, state
from training.errors import TrainingError
from training.run_folder import STATE

OPTIONS = {"seed": 0}


def learner(seed=0):
    torch.manual_seed(seed)
    network = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.ones(3)).sum().backward()
    optimizer.step()
    return {"learner": (network, optimizer)}


@pytest.fixture
def folder(tmp_path):
    state.save(tmp_path, learner(), 4, OPTIONS, {"0": {"weight": torch.arange(3)}})
    (tmp_path / "log.jsonl").write_text(
        "".join(json.dumps({"iteration": n, "gain": n / 2}) + "\n" for n in range(1, 6))
    )
    return tmp_path


def load(folder):
    return state.load(folder, learner(1), OPTIONS, 10)


def test_what_is_saved_is_read(folder):
    trained = learner(1)
    done, others = state.load(folder, trained, OPTIONS, 10)
    network, _ = trained["learner"]
    assert done == 4
    assert torch.equal(others["0"]["weight"], torch.arange(3))
    assert torch.equal(network.weight, learner()["learner"][0].weight)
    left = folder / ".log.jsonl.killed_1.draft" / "log.jsonl.draft"  # by a killed training
    left.parent.mkdir()
    left.touch()
    os.utime(left, (0, 0))
    assert [line["gain"] for line in run_folder.read_log(folder, 4)] == [0.5, 1.0, 1.5, 2.0]
    assert not left.parent.exists()
    assert len((folder / "log.jsonl").read_text().splitlines()) == 4


def test_a_flipped_bit_is_found_wherever_it_is(folder):
    path = folder / STATE
    whole = path.read_bytes()
    for place in range(0, len(whole), 53):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(TrainingError, match=r"state\.safetensors"):
            load(folder)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_what_is_no_state(tmp_path, make):
    make(tmp_path / STATE)
    with pytest.raises(TrainingError):
        load(tmp_path)


@pytest.mark.parametrize("line", ["5", "{", "\ud800", '{"iteration": "1"}', "[" * 100_000])
def test_a_damaged_log(folder, line):
    (folder / "log.jsonl").write_bytes((line + "\n").encode("utf-8", "surrogatepass"))
    with pytest.raises(TrainingError, match=r"log\.jsonl"):
        run_folder.read_log(folder, 1)
    with pytest.raises(TrainingError):
        run_folder.log_rows([folder])


def test_what_cannot_be_written_leaves_what_was_there(folder):
    before = load_file(folder / STATE)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with run_folder.logging_to(folder, 4) as log:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, limits[1]))  # as on a full disk
        try:
            with pytest.raises(TrainingError, match=r"state\.safetensors"):
                state.save(folder, learner(2), 5, OPTIONS)
            with pytest.raises(TrainingError, match=r"log\.jsonl"):
                log({"iteration": 5, "text": "x" * 1000})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert all(torch.equal(before[name], value) for name, value in load_file(folder / STATE).items())
    assert not list(folder.glob("*.safetensors.*"))


def test_a_state_without_a_checksum_is_of_no_use(folder):
    save_file(load_file(folder / STATE), folder / STATE, {"iteration": "4", "identity": json.dumps(OPTIONS)})
    with pytest.raises(TrainingError):
        load(folder)
