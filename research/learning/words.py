"""Do words change outcomes? Players trained with messages, and in the same settings without.

Their games are played with the words of others as sent, shuffled and removed (`research.learning.word_effects`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import training
from agents.rl import checkpoint
from evaluation.measures.intervals import mean_estimate
from research.learning.trainings import measured, trained
from research.learning.word_effects import HEARD, STREAM, WAYS, word_effects
from research.tables import DOCS, show
from training.board.seats import LEARNER
from welfare_env.engine import PHASE, SPRING_MOVES, YEAR, layout_of

COLUMNS = (
    "setting", "seed", "trained without words", "as said", "lost if shuffled", "lost if removed", "bits",
    "greedy orders", "greedy",
)  # fmt: skip
GAMES = 400  # per measurement
BOARD = str(DOCS.parent / "examples" / "pass.map")
TRAINING: dict[str, Any] = {
    "games": 64, "epochs": 4, "minibatch": 256, "lr": 0.005, "held_out_every": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """The players on board "pass".

    Attributes:
        against: opponents in the other seat; each game draws one.
        seeds: number of trainings with messages, and of those without.
    """

    name: str
    reward: str
    against: tuple[str, ...]
    seeds: int = 3

    def config(self, folder: Path, press: str, seed: int) -> training.TrainConfig:
        """The config of a training in this setting."""
        return training.TrainConfig(
            map_name=BOARD, years=1, reward=self.reward, against=self.against, press=press, seed=seed, iterations=60,
            horizon=60, out=folder / f"{self.name}-{press}-{seed}".replace(", ", "-").replace(" ", "-"), **TRAINING,
        )  # fmt: skip


KIND = ("learner",)
STRANGERS = ("learner", "hold")
SETTINGS = (
    Setting("pass, strangers, social", "social", STRANGERS),
    Setting("pass, own kind, social", "social", KIND),
    Setting("pass, strangers, own", "own", STRANGERS, seeds=1),
)


def effects(config: training.TrainConfig) -> dict[str, Any]:
    """The effects of words in the games of a training, which is run first if necessary."""
    folder = trained(config)
    return {way: measured(folder, f"words {way}, {GAMES} games", partial(played, config, way)) for way in WAYS}


def played(config: training.TrainConfig, way: str) -> dict[str, Any]:
    """Returns, differences and bits; for trainings without words only the returns."""
    if config.press != "none":
        return word_effects(config.folder, GAMES, way)
    from training.board.algorithm import play_of
    from training.board.playing import play_games

    (stream,) = np.random.SeedSequence([0, STREAM]).generate_state(1).tolist()  # the same seats as `word_effects`
    given = {LEARNER: checkpoint.load(config.folder / "checkpoint")}
    results = play_games(replace(play_of(config), num_games=GAMES, seed=stream), given, way != "drawn")
    means = [np.mean([result.returns[power] for power in result.learners]) for result in results]
    return {"returns": {"no words": mean_estimate(means, 0).to_dict()}}


def study(folder: Path) -> Iterator[tuple[Setting, int, dict[str, Any]]]:
    """Yields the measurements: setting, seed, and results by way of choosing, with and without words."""
    for setting in SETTINGS:
        for seed in range(setting.seeds):
            found, plain = (effects(setting.config(folder, press, seed)) for press in ("tokens", "none"))
            for way, without in plain.items():
                found[way]["returns"] = without["returns"] | found[way]["returns"]
            yield setting, seed, found


def going(config: training.TrainConfig) -> str:
    """The probability that each seat on board "pass" moves in the first Spring, after words and after silence."""
    from training.board.algorithm import play_of
    from training.board.playing import runner_of

    given = {LEARNER: checkpoint.load(config.folder / "checkpoint")}
    runner = runner_of(replace(play_of(config), num_games=GAMES), given)
    decided = np.concatenate([episode.observations.data[:-1] for episode in runner.sample()])
    first = decided[(decided[:, YEAR] == 0) & (decided[:, PHASE] == SPRING_MOVES) & (decided[:, -2] == 0)]
    inputs = runner.reader.read(first)
    texts = [runner.board.orders.texts[order] for order in inputs.orders]
    moves = [at for at, text in enumerate(texts) if " - " in text and " S " not in text]  # one per power
    with torch.no_grad():
        chance = runner.networks[LEARNER].judge(inputs, np.array(moves) - inputs.starts[:-1]).logp.exp().numpy()
    powers = len(runner.board.powers)
    heard = first[:, layout_of(runner.board).size : -2].reshape(len(first), powers, -1)
    spoke = heard[:, 1:, :2].any(axis=(1, 2))
    cells = [
        f"{power} {chance[(first[:, -1] == seat) & (spoke == words)].mean():.2f} ({'words' if words else 'silence'})"
        for seat, power in enumerate(runner.board.powers)
        for words in (True, False)
    ]
    return f"{config.folder.name}: probability to go in Spring after hearing: " + ", ".join(cells)


def row(setting: Setting, seed: int, found: dict[str, Any]) -> list[str]:
    """A row of the table."""
    drawn = found["drawn"]
    lost = [_difference(each) for each in drawn["lost"].values()]
    others = [f"{found[way]['returns'][HEARD[0]]['value']:.2f}" for way in WAYS[:0:-1]]
    values = [f"{drawn['returns'][heard]['value']:.2f}" for heard in ("no words", HEARD[0])]
    return [setting.name, str(seed), *values, *lost, f"{drawn['bits']['value']:.2f}", *others]


def _difference(lost: dict[str, Any]) -> str:
    interval = "[all alike]" if lost["low"] is None else f"[{_rounded(lost['low'])}, {_rounded(lost['high'])}]"
    return f"{_rounded(lost['value'])} {interval}"


def _rounded(number: float) -> str:
    return f"{round(number, 2) + 0.0:.2f}"  # without -0.00


def words(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """Train, measure and print."""
    show(to, "learning-words", COLUMNS, [row(*one) for one in study(out)])
    for seed in range(SETTINGS[0].seeds):
        print(going(SETTINGS[0].config(out, "tokens", seed)))
