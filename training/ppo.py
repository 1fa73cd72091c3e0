"""Proximal policy optimisation, from beginning to end: `train`.

An iteration plays `num_games` whole games, improves the network on them, writes down how it went, and now and then
saves. Everything an iteration does follows from the weights, the seed and the iteration's number; so a training that
was interrupted goes on from its last save and ends with the same weights as one that was not (with any fixed number of
workers).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.learner import Learner
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME
from safetensors import safe_open
from safetensors.numpy import save_file

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.inputs import Reader
from training.errors import TrainingError
from training.imitation import imitate, watch
from training.learner import Collate, PPOLearner
from training.modules import BoardModule, model_config, spaces
from training.runner import BatchedEnvRunner, GameResult, Play
from welfare_env.mapfile import load_board

CHECKPOINT, STATE, LOG = "checkpoint", "state.safetensors", "log.jsonl"
Weights = dict[str, np.ndarray]


@dataclass(frozen=True)
class Options:
    """How to train.

    Attributes:
        play: what is played (`training.runner.Play`).
        folder: where the training is kept: checkpoint, state, TensorBoard files.
        iterations: in all.
        lr: Adam's step size at the beginning; it falls linearly to a tenth.
        entropy: weight of the entropy at the beginning; it falls linearly to a tenth.
        epochs, minibatch: passes over a sample's decisions, and decisions in a step.
        save_every: iterations between saves.
        league_every: iterations between past selves that enter the league; 0 for none.
        league_size: most past selves; beyond it, every other one is dropped.
        workers: Ray processes that play; 0 plays in this process, without Ray.
        ray_address: of a running cluster; by default a small one is begun on this machine.
        start: a checkpoint to begin with.
        imitate: a scripted policy to imitate before the first iteration, and imitate_games: on how many of its games.
        curriculum: lengths of games in years; the iterations are shared out among them and the games' own length.
        origin: how this was started, for the checkpoint's reader.
    """

    play: Play
    folder: Path
    iterations: int = 100
    lr: float = 1e-3
    entropy: float = 0.02
    clip: float = 0.2
    gamma: float = 1.0
    lambda_: float = 0.95
    epochs: int = 3
    minibatch: int = 512
    save_every: int = 10
    league_every: int = 0
    league_size: int = 16
    workers: int = 0
    ray_address: str | None = None
    start: Path | None = None
    imitate: str | None = None
    imitate_games: int = 200
    curriculum: tuple[int, ...] = ()
    origin: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Progress:
    """After an iteration: its number from 1, what is logged, and the games it played."""

    iteration: int
    logged: Mapping[str, float]
    games: tuple[GameResult, ...]


def train(options: Options, on_progress: Callable[[Progress], None] = lambda progress: None) -> Path:
    """Train, or go on with a training that was interrupted.

    Returns:
        The folder of the checkpoint, for ``agents.make("rl:PATH")``.

    Raises:
        TrainingError: the folder holds another training. CheckpointError: `start` does not fit.
    """
    torch.set_num_threads(1)
    learner = make_config(options).build_learner(spaces=_spaces(options.play))
    done, league = _begin(learner, options)
    with _runners(options) as runners, _log(options, done) as log:
        for iteration in range(done, options.iterations):
            began = time.perf_counter()
            _set_schedules(learner, iteration)
            episodes, games = runners.sample(learner, iteration, league, years_at(options, iteration))
            sampled = time.perf_counter()
            learner._learner_connector.connectors[0].rng = np.random.default_rng([options.play.seed, iteration])
            told = learner.update(episodes=episodes, num_epochs=options.epochs, minibatch_size=options.minibatch)
            if options.league_every and (iteration + 1) % options.league_every == 0:
                league = _grown(league, weights(learner), options.league_size)
            timing = {"time/sample": sampled - began, "time/learn": time.perf_counter() - sampled}
            logged = describe(options.play, games) | _learned(told) | timing
            log(iteration + 1, logged)
            if (iteration + 1) % options.save_every == 0 or iteration + 1 == options.iterations:
                _save(learner, options, iteration + 1, league)
            on_progress(Progress(iteration + 1, logged, tuple(games)))
    return options.folder / CHECKPOINT


def make_config(options: Options) -> PPOConfig:
    """RLlib's configuration of a training; ``make_config(options).build_algo()`` is RLlib's own PPO on our runner."""
    play = options.play
    board = load_board(play.map_name)
    spec = RLModuleSpec(BoardModule, model_config=model_config(board, play.rules, play.size, play.seed))
    falling = [[0, 1.0], [max(1, options.iterations), 0.1]]  # iterations, share
    return (
        PPOConfig()
        .environment(env=None, env_config=play.to_dict(), disable_env_checking=True)
        .env_runners(env_runner_cls=BatchedEnvRunner, num_env_runners=options.workers)
        .learners(
            learner_connector=lambda *spaces: Collate(*spaces[:2], seed=play.seed),
            add_default_connectors_to_learner_pipeline=False,
            learner_class=PPOLearner,
        )
        .multi_agent(policies={DEFAULT_MODULE_ID}, policy_mapping_fn=lambda *args, **kwargs: DEFAULT_MODULE_ID)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={DEFAULT_MODULE_ID: spec}))
        .training(
            lr=[[at, share * options.lr] for at, share in falling],
            entropy_coeff=[[at, share * options.entropy] for at, share in falling],
            gamma=options.gamma,
            lambda_=options.lambda_,
            clip_param=options.clip,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            grad_clip=1.0,
            num_epochs=options.epochs,
            minibatch_size=options.minibatch,
        )
        .debugging(seed=play.seed)
    )


def _spaces(play: Play) -> dict[str, Any]:
    return {DEFAULT_MODULE_ID: spaces(Reader(load_board(play.map_name), play.rules))}


def years_at(options: Options, iteration: int) -> int:
    """The length of an iteration's games."""
    stages = (*options.curriculum, options.play.rules.years)
    return stages[min(iteration * len(stages) // max(1, options.iterations), len(stages) - 1)]


def _set_schedules(learner: Learner, iteration: int) -> None:
    """The step size and the weight of the entropy in this iteration."""
    learner.after_gradient_based_update(timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: iteration})


def weights(learner: Learner) -> dict[str, np.ndarray]:
    """The network's weights: copies."""
    network = learner.module[DEFAULT_MODULE_ID].unwrapped().network
    return {name: value.detach().numpy().copy() for name, value in network.state_dict().items()}


def _grown(league: list[Weights], newest: Weights, most: int) -> list[Weights]:
    """The league with one more past self; where there are too many, every other one goes, but the newest stays."""
    grown = [*league, newest]
    return grown if len(grown) <= most else grown[1::2]


# Playing, here or in Ray's processes.


class _Runners:
    """Plays an iteration's games; `actors` are Ray's handles, or there is one runner in this process."""

    def __init__(self, options: Options, ray: Any = None) -> None:
        count = max(1, options.workers)
        play = replace(options.play, num_games=-(-options.play.num_games // count))
        config = make_config(replace(options, play=play))
        self._ray = ray
        if ray is None:
            self._runner = BatchedEnvRunner(config=config, worker_index=0)
        else:
            actor = ray.remote(num_cpus=1)(BatchedEnvRunner)
            self._actors = [actor.remote(config=config, worker_index=1 + number) for number in range(count)]

    def sample(
        self, learner: Learner, iteration: int, league: list[Weights], years: int
    ) -> tuple[list[SingleAgentEpisode], list[GameResult]]:
        """The episodes and the results of an iteration's games, played with the learner's weights."""
        state = learner.get_state(components=COMPONENT_RL_MODULE)
        state |= {"samples": iteration, "league": league, "years": years}
        if self._ray is None:
            return _play(self._runner, state)
        sent = self._ray.put(state)
        asked = [actor.apply.remote(_play, sent) for actor in self._actors]
        parts = self._ray.get(asked)
        return [episode for episodes, _ in parts for episode in episodes], [game for _, games in parts for game in games]


def _play(runner: BatchedEnvRunner, state: Any) -> tuple[list[SingleAgentEpisode], list[GameResult]]:
    runner.set_state(state)
    episodes = runner.sample()
    runner.get_metrics()
    return episodes, runner.take_results()


@contextmanager
def _runners(options: Options) -> Iterator[_Runners]:
    if not options.workers and options.ray_address is None:
        yield _Runners(options)
        return
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here: dict[str, Any] = {} if options.ray_address else {"num_cpus": options.workers, "object_store_memory": 200_000_000}
    ray.init(address=options.ray_address, include_dashboard=False, log_to_driver=False, **here)
    try:
        yield _Runners(options, ray)
    finally:
        ray.shutdown()


# What is logged.


def describe(play: Play, games: Sequence[GameResult]) -> dict[str, float]:
    """An iteration's games in numbers: means over the learning seats, in all and against each kind of opponent."""
    told: dict[str, list[float]] = {}
    for game in games:
        for power in game.coalition:
            for name, value in (
                ("return", game.returns[power]),
                ("points", game.points[power]),
                ("centers", game.centers[power]),
            ):
                told.setdefault(f"play/{name}", []).append(value)
            told.setdefault(f"against/{game.opponent}", []).append(game.returns[power])
        told.setdefault("play/phases", []).append(game.phases)
    return {name: float(np.mean(values)) for name, values in told.items()}


def _learned(told: Mapping[str, Any]) -> dict[str, float]:
    """What the learner says of its last step (`training.learner.PPOLearner`)."""
    names = ("policy_loss", "value_loss", "explained", "entropy", "moved", "kl")
    return {f"learn/{name}": float(told[DEFAULT_MODULE_ID][name]) for name in names}


@contextmanager
def _log(options: Options, done: int) -> Iterator[Callable[[int, Mapping[str, float]], None]]:
    """Writes an iteration's numbers to TensorBoard files and to log.jsonl, which is cut back to what is kept."""
    from tensorboardX import SummaryWriter

    path = options.folder / LOG
    kept = [line for line in path.read_text().splitlines() if json.loads(line)["iteration"] <= done] if done else []
    path.write_text("".join(f"{line}\n" for line in kept))
    with SummaryWriter(str(options.folder / "tensorboard"), purge_step=done + 1) as board, path.open("a") as file:

        def log(iteration: int, logged: Mapping[str, float]) -> None:
            for name, value in logged.items():
                board.add_scalar(name, value, iteration)
            file.write(json.dumps({"iteration": iteration, **logged}) + "\n")
            file.flush()

        yield log


# Saving and going on.


def _begin(learner: Learner, options: Options) -> tuple[int, list[Weights]]:
    """Iterations that are done, and the league; the learner has what was saved, or the weights to start with."""
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / STATE
    network = learner.module[DEFAULT_MODULE_ID].unwrapped().network
    if not path.exists():
        if options.start is not None:
            given = checkpoint.load(options.start).network_for(load_board(options.play.map_name), options.play.rules)
            network.load_state_dict(given.state_dict())
        if options.imitate is not None:
            lesson = watch(options.play, options.imitate, options.imitate_games)
            imitate(network, Reader(load_board(options.play.map_name), options.play.rules), lesson, options.play.seed)
            _save(learner, options, 0, [])
        return 0, []
    with safe_open(path, framework="numpy") as file:
        about = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
    if about["options"] != _identity(options):
        raise TrainingError(
            f"{options.folder} holds a training with other options; give these again, or another folder.\n"
            f"  there: {about['options']}\n  given: {_identity(options)}"
        )
    network.load_state_dict(_part(arrays, "weights/"))
    optimizer = learner.get_optimizer(DEFAULT_MODULE_ID)
    moments = [_part(arrays, f"adam/{number}/") for number in range(len(list(network.parameters())))]
    state = optimizer.state_dict() | {"state": {number: moment for number, moment in enumerate(moments) if moment}}
    optimizer.load_state_dict(state)
    league = [
        {name: value.numpy() for name, value in _part(arrays, f"league/{number}/").items()}
        for number in range(int(about["league"]))
    ]
    return int(about["iteration"]), league


def _part(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(prefix): torch.from_numpy(np.array(value))
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def _save(learner: Learner, options: Options, iteration: int, league: list[Weights]) -> None:
    """The checkpoint to play with, then the state to go on from: one file, which appears whole or not at all."""
    now = weights(learner)
    arrays = {f"weights/{name}": value for name, value in now.items()}
    state = learner.get_optimizer(DEFAULT_MODULE_ID).state_dict()["state"]
    for number, moments in state.items():
        arrays |= {f"adam/{number}/{name}": np.asarray(value) for name, value in moments.items()}
    for number, past in enumerate(league):
        arrays |= {f"league/{number}/{name}": value for name, value in past.items()}
    about = {"iteration": str(iteration), "league": str(len(league)), "options": _identity(options)}
    board, play = load_board(options.play.map_name), options.play
    origin = {"iterations": iteration, "seed": play.seed, "git": checkpoint.git_revision(), **(options.origin or {})}
    checkpoint.save(
        options.folder / CHECKPOINT,
        Checkpoint(now, play.size, board.name, play.rules, checkpoint.vocabulary(board), origin),
    )
    draft = options.folder / f"{STATE}.{os.getpid()}"
    save_file({name: np.ascontiguousarray(value) for name, value in arrays.items()}, draft, metadata=about)
    os.replace(draft, options.folder / STATE)


def _identity(options: Options) -> str:
    """What must be the same for a training to go on: all but where it runs."""
    play, lineup = options.play, options.play.lineup
    values = {
        "map": play.map_name,
        "rules": play.rules.to_dict(),
        "size": play.size.to_dict(),
        "coalitions": lineup.coalitions,
        "opponents": dict(zip(lineup.opponents, lineup.shares, strict=True)),
        "reward": str(play.reward),
        "games": play.num_games,
        "seed": play.seed,
        "start": str(options.start) if options.start else None,
        "imitate": [options.imitate, options.imitate_games] if options.imitate else None,
        "curriculum": options.curriculum,
    }
    names = ("iterations", "lr", "entropy", "clip", "gamma", "lambda_", "epochs", "minibatch", "league_every")
    values |= {name: getattr(options, name) for name in names}
    values |= {"save_every": options.save_every, "league_size": options.league_size, "workers": options.workers}
    return json.dumps(values, sort_keys=True)
