"""The config of a training: its checks, and the names of folders."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.small import SMALL, learner_of
from training import TrainConfig
from training.board.seats import LEARNER
from training.config import file_name
from training.errors import TrainingError
from training.modal import ModalConfig
from welfare_env.errors import WelfareEnvError

# Checks.


WRONG: list[tuple[str, object]] = [
    *(("lr", float("nan")), ("lr", "1e-3"), ("gamma", 1.01), ("lambda_", -0.1), ("clip", 0), ("entropy", True)),
    *(("games", 0), ("seed", -1), ("width", 10**9), ("held_out_every", -1), ("workers", 33), ("league_share", 1.5)),
    *(("against", ()), ("against", ("dove", 5)), ("map_name", None), ("press", "text"), ("variant", "welfar")),
    *(("reward", "money"), ("start", 5), ("out", 5), ("ray_address", "auto"), ("sees", "nothing")),
]
WRONG_MODAL: list[tuple[str, object]] = [("lr", float("nan")), ("lr", 900), ("clip", 0.0), ("budget", 0)]


@pytest.mark.parametrize(("kind", "wrong"), [(TrainConfig, WRONG), (ModalConfig, WRONG_MODAL)])
def test_fields_are_checked(kind: type, wrong: list[tuple[str, object]], subtests: pytest.Subtests) -> None:
    for field, value in wrong:
        with subtests.test(f"{field}={value}"), pytest.raises(WelfareEnvError, match=field):
            kind(**{field: value})


@pytest.mark.parametrize("kind", [TrainConfig, ModalConfig])
def test_an_unknown_field_is_answered_with_the_fields(kind: type) -> None:
    with pytest.raises(TrainingError, match=rf"'folder': not a field of {kind.__name__}: iterations, games, .*out"):
        kind(folder="x")
    config = kind(seed=4)
    assert copy.deepcopy(config) == config == replace(kind(), seed=4)


# Folders.


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (TrainConfig(variant="standard", against=("random", "dumbbot")), "standard-random-dumbbot"),
        (SMALL, "best-response-prosocial-clique:3"),
        (TrainConfig(map_name="clique:4"), "welfare-clique:4"),
    ],
)
def test_folders_are_named_after_the_profile(config: TrainConfig, name: str) -> None:
    assert config.folder == Path("runs", name)


def test_every_profile_has_a_folder_of_its_own_with_a_short_name() -> None:
    profiles = ["dove", "4*dove + 3*hold", "4*dove + 3*(hold)", "rl:a/b", "rl:a-b", "x" * 5000, "x" * 5001, "..", "/"]
    names = {file_name(profile) for profile in profiles}
    assert len(names) == len(profiles)
    assert all("/" not in name and 0 < len(name) < 60 and not name.startswith(".") for name in names)
    texts = [f"exploiter:nice=(dove:share=0.{number}),attack=dumbbot,years=4" for number in range(8)]
    names = {TrainConfig(against=(*texts, last)).folder.name for last in ("dove", "hold", "мир" * 30, "和" * 60)}
    assert len(names) == 4
    assert max(len(name.encode()) for name in names) <= 200


@pytest.mark.parametrize(
    ("against", "league_share", "shares"),
    [
        (("dove", "dove", "hold"), 0.5, {"dove": 1 / 3, "hold": 1 / 6, "league": 0.5}),
        (("dove", "dove", "hold"), 0.0, {"dove": 2, "hold": 1}),
        (("dove", "league", "hold"), 0.5, {"dove": 0.25, "hold": 0.25, "league": 0.5}),
        (("dove", "hold"), 1.0, {"league": 1}),
        (("league",), 0.5, {"league": 0.5}),
    ],
)
def test_opponents_are_drawn_as_often_as_they_are_named(against, league_share, shares) -> None:
    lineup = TrainConfig(against=against, league_share=league_share).lineup
    assert dict(zip(lineup.opponents, lineup.shares, strict=True)) == pytest.approx(shares)


def test_schedules_end_at_the_horizon() -> None:
    learner, _ = learner_of(replace(SMALL, horizon=10, lr=0.1))
    rates = []
    for iteration in (0, 5, 10, 11, 1000):
        learner.begin_iteration(iteration)
        rates.append(learner.get_optimizer(LEARNER).param_groups[0]["lr"])
    assert rates == pytest.approx([0.1, 0.055, 0.01, 0.01, 0.01])
