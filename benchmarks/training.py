"""The speed of learners, when playing and learning: `python -m benchmarks.training`.

Compares `training.board.runner.BatchedEnvRunner` with RLlib's own MultiAgentEnvRunner: the same map and rules, all
powers learn, the same network and weights, the same observations and actions, one thread, no Ray processes. RLlib's
runner steps `Packed`, a MultiAgentEnv over a `vector_env` of one game, so it also has the compiled engine and
observations of 3 KB. All rows are measured in every round; numbers are medians of the CPU time until the episodes are
complete. An agent-step is a decision: one power's orders in one phase.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import torch
import typer
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.learner import Learner
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import training
import welfare_env
from agents.rl.inputs import InputEncoder
from agents.rl.network import BoardNetwork, Size
from benchmarks.speed import cpu_model
from training.board.algorithm import make_config, play_of, spaces_of
from training.board.config import TrainConfig
from training.board.modules import BoardModule, model_config, spaces
from training.board.runner import BatchedEnvRunner, Play
from welfare_env import Rules
from welfare_env.engine import PHASE, WINTER

SEED = 0
BATCHED = "BatchedEnvRunner"
EPOCHS, MINIBATCH = 2, 512
LEARNED = 140  # episodes for the learner: about 3,600 decisions on the standard map
SHARED = "shared"  # with its default module name RLlib would assume a single agent


class Packed(MultiAgentEnv):
    """A game for RLlib's own runner, with the observations and actions of `training.board.modules.BoardModule`.

    Powers without orders to give have no step. Rewards are scaled as in the batched runner.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        play: Play = config["play"]
        self._game = welfare_env.vector_env(1, play.map_name, play.rules)
        self._reader, self._scale = InputEncoder(self._game.board, play.rules), play.reward_scale
        self.possible_agents = list(self._game.board.powers)
        self.agents = list(self.possible_agents)
        seen, done = spaces(self._reader)
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = dict.fromkeys(self.possible_agents, done)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        self._game.reset()
        return self._seen(self._game.rows, np.unique(self._game.legal.powers)), {}

    def step(self, action_dict: Any) -> Any:
        owners = self._game.legal.powers
        choices = np.empty(len(owners), np.int32)
        winter = self._game.rows[0, PHASE] == WINTER  # in Winter the first candidate is "no order"
        for power in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == power)
            choices[mine] = action_dict[self.possible_agents[power]][: len(mine)] - winter
        paid, done = self._game.step(choices)
        rewards = dict(zip(self.possible_agents, (self._scale * paid[0]).tolist(), strict=True))
        over = {"__all__": bool(done[0])}
        if done[0]:
            return self._seen(self._game.final, np.arange(len(self.agents))), rewards, over, {"__all__": False}, {}
        seen = self._seen(self._game.rows, np.unique(self._game.legal.powers))
        return seen, rewards, over, {"__all__": False}, {}

    def _seen(self, states: np.ndarray, powers: np.ndarray) -> dict[str, np.ndarray]:
        packed = self._reader.pack(np.repeat(states, len(powers), axis=0), powers)
        return {self.possible_agents[power]: row for power, row in zip(powers.tolist(), packed, strict=True)}


def config_of(map_name: str, years: int, games: int) -> TrainConfig:
    """The config of a training in which every power learns."""
    return TrainConfig(map_name=map_name, years=years, games=games, epochs=EPOCHS, minibatch=MINIBATCH, seed=SEED)


def stock(play: Play, envs: int) -> MultiAgentEnvRunner:
    """RLlib's own runner with this many environments."""
    board = welfare_env.load_board(play.map_name)
    module = RLModuleSpec(BoardModule, model_config=model_config(board, play.rules, play.size, play.seed))
    config = (
        PPOConfig()
        .environment(Packed, env_config=play.to_dict(), disable_env_checking=True)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=envs, batch_mode="complete_episodes")
        .multi_agent(policies={SHARED}, policy_mapping_fn=lambda *args, **kwargs: SHARED)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={SHARED: module}))
        .debugging(seed=play.seed, log_level="ERROR")
    )
    return MultiAgentEnvRunner(config=config, worker_index=0)


# Measuring.


@dataclass
class Row:
    """A row of the table: playing or learning.

    Attributes:
        play: runs once, and returns the number of agent-steps.
        rates: agent-steps per CPU-second, one per round.
    """

    name: str
    play: Callable[[], int]
    rates: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return median(self.rates)


def rows(map_name: str, years: int, games: int) -> list[Row]:
    """Both runners, and the learner.

    Raises:
        SystemExit: the runners' networks differ.
    """
    chosen = config_of(map_name, years, games)
    play = play_of(chosen)
    ours, default, many = batched(chosen), stock(play, 1), stock(play, games)
    for other in (default, many):
        module: Any = other.module
        check_equal(ours.networks["learner"], module[SHARED].unwrapped().network)
    return [
        Row(f"{BATCHED}, {games} games", lambda: steps(ours.sample())),
        Row("RLlib's MultiAgentEnvRunner, 1 game (its default)", lambda: stock_steps(default, 1)),
        Row(f"RLlib's MultiAgentEnvRunner, {games} games", lambda: stock_steps(many, games)),
        Row(f"learner.update, {EPOCHS} epochs, minibatches of {MINIBATCH}", learning(chosen, ours)),
    ]


def batched(chosen: TrainConfig) -> BatchedEnvRunner:
    return BatchedEnvRunner(config=make_config(play_of(chosen), chosen), worker_index=0)


def check_equal(one: BoardNetwork, other: BoardNetwork) -> None:
    mine, theirs = one.state_dict(), other.state_dict()
    if mine.keys() != theirs.keys() or not all(torch.equal(mine[name], theirs[name]) for name in mine):
        raise SystemExit("the runners' networks differ: this comparison would be unfair")


def steps(episodes: Sequence[Any]) -> int:
    return sum(len(episode) for episode in episodes)


def stock_steps(runner: MultiAgentEnvRunner, games: int) -> int:
    episodes = runner.sample(num_episodes=games)
    return sum(steps(list(episode.agent_episodes.values())) for episode in episodes)


def learning(chosen: TrainConfig, runner: BatchedEnvRunner) -> Callable[[], int]:
    """Learns repeatedly from the same sample: the time does not depend on the content."""
    config = make_config(play_of(chosen), chosen)
    learner: Learner = config.build_learner(spaces=spaces_of(play_of(chosen)))
    episodes: list[Any] = runner.sample()[:LEARNED]

    def learn() -> int:
        learner.update(episodes=episodes, num_epochs=EPOCHS, minibatch_size=MINIBATCH)
        return steps(episodes)

    return learn


def measure(row: Row, seconds: float) -> float:
    """Agent-steps per CPU-second, measured over at least this many seconds."""
    count, began = 0, time.process_time()
    while True:
        count += row.play()
        taken = time.process_time() - began
        if taken >= seconds:
            return count / taken


def measure_all(measured: Sequence[Row], rounds: int, seconds: float, progress: Progress) -> None:
    """Every row once to warm up, then all rows in every round."""
    bar = progress.add_task("measuring", total=len(measured) * (rounds + 1))
    for number in range(rounds + 1):
        for row in measured:
            progress.update(bar, description=row.name)
            if number == 0:
                row.play()
            else:
                row.rates.append(measure(row, seconds))
            progress.advance(bar)


# Output.


def rate_table(measured: Sequence[Row]) -> Table:
    """Rates, and the speedup of the first row over each of RLlib's: of playing, and with the last row's learning."""
    table = Table(title="agent-steps a CPU-second: medians", title_justify="left")
    table.add_column("what", max_width=52)
    for heading in ("rate", "lowest - highest", "us each", "batched runner is", "and learning"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in measured:
        times = both = ""
        if "RLlib" in row.name:
            rounds = zip(measured[0].rates, row.rates, measured[-1].rates, strict=True)
            both = (
                f"{median((1 / theirs + 1 / learn) / (1 / mine + 1 / learn) for mine, theirs, learn in rounds):.1f} x"
            )
            ratios = [mine / theirs for mine, theirs in zip(measured[0].rates, row.rates, strict=True)]
            times = f"{median(ratios):.1f} x ({min(ratios):.1f} - {max(ratios):.1f})"
        spread = f"{min(row.rates):,.0f} - {max(row.rates):,.0f}"
        table.add_row(row.name, f"{row.rate:,.0f}", spread, f"{1e6 / row.rate:,.0f}", times, both)
    return table


def worker_table(map_name: str, years: int, games: int) -> Table:
    """Seconds of an iteration of `training.train`, played in this process, and in one and two of Ray's."""
    table = Table(
        title=f"an iteration of training.train, {games} games: medians of three, wall time", title_justify="left"
    )
    for heading in ("played in", "playing, s", "learning, s"):
        table.add_column(heading, justify="right")
    for workers, name in enumerate(("this process", "1 Ray process", "2 Ray processes")):
        config = replace(config_of(map_name, years, games), workers=workers, iterations=4, held_out_every=0)
        with TemporaryDirectory() as folder:
            training.train(replace(config, out=Path(folder, "run")))
            logged = training.log_rows([Path(folder, "run")])[1:]
        times = [median(float(each[f"time/{what}"]) for each in logged) for what in ("sample", "learn")]
        table.add_row(name, *(f"{value:.2f}" for value in times))
    return table


def memory_table(map_name: str, years: int) -> Table:
    """Kilobytes that a game takes once it is reset, by environment; what all of them share is made before."""
    rules = Rules(years=years, press=None)
    table = Table(title="memory a game", title_justify="left")
    for heading in ("environment", "KB"):
        table.add_column(heading, justify="right")
    for name, make, count in (
        ("vector_env, 128 games", lambda: welfare_env.vector_env(128, map_name, rules), 128),
        ("welfare_env.make", lambda: welfare_env.make(map_name=map_name, rules=rules), 1),
        ("parallel_env", lambda: welfare_env.parallel_env(map_name=map_name, rules=rules), 1),
    ):
        make().reset()
        tracemalloc.start()
        kept = make()
        kept.reset()
        table.add_row(name, f"{tracemalloc.get_traced_memory()[0] / count / 1000:,.0f}")
        tracemalloc.stop()
    return table


def machine_lines(load: float) -> list[str]:
    names = ("torch", "ray", "numpy")
    versions = ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)])
    lines = [f"{cpu_model()}, {os.cpu_count()} cores, one thread; {versions}"]
    lines.append(f"load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end")
    if load > 1:
        lines.append("[bold red]The machine was busy: wall and CPU times are longer than on an idle one.[/bold red]")
    return lines


def main(
    repeats: Annotated[int, typer.Option(help="Rounds of measurement.", min=1)] = 7,
    games: Annotated[int, typer.Option(help="Games at once.", min=1)] = 128,
    years: Annotated[int, typer.Option(help="Length of a game.", min=1)] = 10,
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or a toy board.")] = "standard",
    quick: Annotated[bool, typer.Option("--quick", help="Two short rounds.")] = False,
) -> None:
    """Measure and print the speed of playing and learning."""
    load = os.getloadavg()[0]
    logging.getLogger("ray").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message=".*Overriding environment")  # two runners register the same name
    torch.set_num_threads(1)
    with Progress(console=Console(stderr=True)) as progress:
        measured = rows(map_name, years, games)
        measure_all(measured, 2 if quick else repeats, 0.2 if quick else 1.0, progress)
    console = Console(width=None if sys.stdout.isatty() else 116, highlight=False)
    title = f"{map_name} map, welfare variant, {years} years, no press, {Size()}, all powers learn"
    console.print(title, rate_table(measured), memory_table(map_name, years), sep="\n")
    if not quick:  # three trainings, two of which start Ray
        console.print(worker_table(map_name, years, games))
    console.print(*machine_lines(load), sep="\n")


if __name__ == "__main__":
    typer.run(main)
