"""Do words change outcomes? Players trained with messages, and in the same settings without.

Their games are played with the words of others as sent, shuffled and removed (`research.learning.word_effects`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch

import training
from agents.rl import checkpoint
from agents.runtime.colors import LEARNED, LEVEL
from evaluation.measures.intervals import mean_estimate
from research.learning.trainings import measured, trained
from research.learning.word_effects import HEARD, STREAM, WAYS, word_effects
from research.tables import DOCS, show
from training.board.seats import LEARNER
from welfare_env.engine import PHASE, SPRING_MOVES, YEAR, layout_of

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

HEARINGS = {"no words": "trained\nwithout words", "as said": "as said", "shuffled": "shuffled", "removed": "removed"}
SEEDS = "o^sDv"  # markers
NAMES = {"own": "own points", "social": "mean of all points"}
COLUMNS = (
    "setting", "seed", "trained without words", "as said", "lost if shuffled", "lost if removed", "bits",
    "greedy orders", "greedy",
)  # fmt: skip
GAMES = 400  # per measurement
TRAININGS = 3  # seeds
TRAINING: dict[str, Any] = {
    "games": 64, "epochs": 4, "minibatch": 256, "lr": 0.005, "held_out_every": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A game and its players.

    Attributes:
        against: opponents in the other seats; each game draws one.
        press: the values to train with; with "none" there are also players without messages.
    """

    name: str
    map_name: str
    years: int
    reward: str
    against: tuple[str, ...]
    iterations: int = 60
    press: tuple[str, ...] = ("tokens", "none")

    def config(self, folder: Path, press: str, seed: int) -> training.TrainConfig:
        """The config of a training in this setting."""
        return training.TrainConfig(
            map_name=self.map_name, years=self.years, reward=self.reward, against=self.against, press=press, seed=seed,
            iterations=self.iterations, horizon=self.iterations,
            out=folder / f"{self.name}-{press}-{seed}".replace(", ", "-").replace(" ", "-"), **TRAINING,
        )  # fmt: skip


PASS = str(DOCS.parent / "examples" / "pass.map")
KIND = ("learner",)
STRANGERS = ("learner", "hold")
SETTINGS = (
    Setting("pass, strangers, social", PASS, 1, "social", STRANGERS),
    Setting("pass, strangers, own", PASS, 1, "own", STRANGERS),
    Setting("shared-clique:2, strangers, social", "shared-clique:2", 1, "social", STRANGERS),
    Setting("pass, own kind, social", PASS, 1, "social", KIND),
    Setting("pass, own kind, own", PASS, 3, "own", KIND),
    Setting("shared-clique:3, own kind, social", "shared-clique:3", 2, "social", KIND, 40, ("tokens",)),
    Setting("shared-clique:3, own kind, own", "shared-clique:3", 2, "own", KIND, 40, ("tokens",)),
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
    for seed in range(TRAININGS):
        for setting in SETTINGS:
            found = [effects(setting.config(folder, press, seed)) for press in setting.press]
            for way, plain in found[-1].items():
                found[0][way]["returns"] = plain["returns"] | found[0][way]["returns"]
            yield setting, seed, found[0]


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
    plain = drawn["returns"].get("no words")
    lost = [_difference(each) for each in drawn["lost"].values()]
    others = [f"{found[way]['returns'][HEARD[0]]['value']:.2f}" for way in WAYS[:0:-1]]
    values = [f"{plain['value']:.2f}" if plain else "", f"{drawn['returns'][HEARD[0]]['value']:.2f}"]
    return [setting.name, str(seed), *values, *lost, f"{drawn['bits']['value']:.2f}", *others]


def _difference(lost: dict[str, Any]) -> str:
    interval = "[all alike]" if lost["low"] is None else f"[{_rounded(lost['low'])}, {_rounded(lost['high'])}]"
    return f"{_rounded(lost['value'])} {interval}"


def _rounded(number: float) -> str:
    return f"{round(number, 2) + 0.0:.2f}"  # without -0.00


def draw(rows: list[tuple[Setting, int, dict[str, Any]]]) -> Figure:
    """Returns by message condition: a panel per setting, a marker per seed, all axes from 0.

    Bars are 95% intervals of the paired difference to words as said.
    """
    short = [setting for setting in SETTINGS if setting.years == 1]
    long = [setting for setting in SETTINGS if setting.years > 1]
    figure, grid = plt.subplots(2, max(len(short), len(long)), figsize=(11, 6.4), layout="constrained", sharey="row")
    for panels, settings in zip(grid, (short, long), strict=True):
        for panel, setting in zip(panels, settings, strict=False):
            _panel(panel, setting, [(seed, found["drawn"]) for one, seed, found in rows if one == setting])
        for unused in panels[len(settings) :]:
            unused.set_axis_off()
        panels[0].set_ylim(0, 1.08 * panels[0].get_ylim()[1])
        panels[0].set_ylabel("points of a learning seat in a game", fontsize=8)
    for seed in sorted({seed for _, seed, _ in rows}):
        grid[0, 0].plot([], [], SEEDS[seed % len(SEEDS)], color=LEVEL, label=f"seed {seed}")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    title = "words are drawn, and heard as said, shuffled or removed; bars: 95% interval of the difference to as said"
    look: dict[str, Any] = {"fontsize": 8, "title": title, "title_fontsize": 8, "frameon": False}
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), **look)
    return figure


def _panel(panel: Axes, setting: Setting, found: list[tuple[int, dict[str, Any]]]) -> None:
    """The returns of one setting: gray without words, else blue."""
    for seed, drawn in found:
        said = drawn["returns"]["as said"]["value"]
        for at, heard in enumerate(HEARINGS):
            if heard not in drawn["returns"]:
                continue
            value, lost = drawn["returns"][heard]["value"], drawn["lost"].get(heard)
            bars = [[lost["high"] - said + value], [said - lost["low"] - value]] if _has_interval(lost) else None
            look: dict[str, Any] = {"marker": SEEDS[seed % len(SEEDS)], "markersize": 4}
            panel.errorbar(at + 0.2 * (seed - 1), value, bars, color=LEARNED if at else LEVEL, **look)
    panel.set_xlim(-0.5, len(HEARINGS) - 0.5)
    length = "one year" if setting.years == 1 else f"{setting.years} years"
    board, others, reward = setting.name.split(", ")
    panel.set_title(f"{board}, {length}\nother seats: {others}\nreward: {NAMES[reward]}", fontsize=8)
    panel.set_xticks(range(len(HEARINGS)), list(HEARINGS.values()), rotation=45, ha="right", fontsize=8)
    panel.tick_params(axis="y", labelsize=8)
    panel.grid(axis="y", alpha=0.25)


def _has_interval(lost: dict[str, Any] | None) -> bool:
    return lost is not None and lost["low"] is not None


def words(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """Train, measure, print and draw."""
    rows = sorted(study(out), key=lambda one: SETTINGS.index(one[0]))
    show(to, "learning-words", COLUMNS, [row(*one) for one in rows])
    for seed in range(TRAININGS):
        print(going(SETTINGS[0].config(out, "tokens", seed)))
    draw(rows).savefig(out / "learning-words.png", dpi=130)
