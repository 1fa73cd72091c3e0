"""PPO in one file, in CleanRL's style, without Ray and the `training` package.

One network plays all powers of many games at once and learns from its own games (self-play). Each power's reward
is the mean of all; with `--social 0` it is its own points, and players also learn to rob. A seed determines the result.

    python examples/cleanrl_ppo.py                # clique:4, three years: less than a minute on one core
    python examples/cleanrl_ppo.py --map-name standard --years 10 --iterations 300

Needs the extra `rl` (`pip install -c constraints.txt -e '.[rl]'`); of that, only torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import typer
from torch import Tensor

import welfare_env
from agents.rl import BoardNetwork, InputEncoder, Inputs, Size, as_choices


@dataclass(frozen=True)
class Args:
    """All settings; `main` makes some of them options of the command line."""

    map_name: str = "clique:4"
    years: int = 3
    num_games: int = 64
    phases: int = 24
    iterations: int = 40
    epochs: int = 3
    minibatch: int = 512
    lr: float = 2e-3
    gamma: float = 1.0
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value_weight: float = 0.5
    reward_scale: float = 0.1
    social: float = 1.0  # weight of the mean of all powers in a power's reward; 0: its own points only
    max_grad_norm: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Decisions:
    """The n decisions of a rollout, each of one power in one game and phase.

    Attributes:
        where: int64 [3, n], the phase of the rollout, the game and the power.
        seen: int32 [n, size], packed observations: a state's row and the observing power.
        answers, logps: [n, slots], the chosen order of each slot and its log probability, padded with zeros.
        values: float32 [n], the network's value estimates.
    """

    where: np.ndarray
    seen: np.ndarray
    answers: np.ndarray
    logps: np.ndarray
    values: np.ndarray


def rows_of(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """The decision of each of R ordered units or centers, and its number within the decision: int64 [R] each."""
    decision = np.repeat(np.arange(len(inputs)), np.diff(inputs.first_rows))
    return decision, np.arange(len(decision)) - inputs.first_rows[decision]


def act(
    env: Any, reader: InputEncoder, network: BoardNetwork, rng: np.random.Generator, phase: int
) -> tuple[np.ndarray, Decisions]:
    """The choices of all powers in all games, for `env.step`, and the same as decisions."""
    legal = env.legal
    seats = np.unique(legal.games.astype(np.int64) * 100 + legal.powers)  # powers with something to order
    games, powers = seats // 100, seats % 100
    inputs = reader.select(env.rows, legal, games, powers)
    answers, logps, values = network.answer(inputs, rng.random(len(legal)))
    # The network's rows are sorted by game and power; the environment's by game. In Winter the network's first
    # candidate is "no order", which is -1 to the environment.
    order = np.lexsort((np.arange(len(legal)), legal.powers, legal.games))
    choices = np.empty(len(legal), np.int32)
    choices[order] = as_choices(answers, env.rows[legal.games[order]])
    decision, slot = rows_of(inputs)
    padded_answers = np.zeros((len(seats), reader.slots), np.int64)
    padded_logps = np.zeros((len(seats), reader.slots), np.float32)
    padded_answers[decision, slot], padded_logps[decision, slot] = answers, logps
    where = np.stack([np.full_like(games, phase), games, powers])
    return choices, Decisions(where, reader.pack(env.rows[games], powers), padded_answers, padded_logps, values)


class Returns:
    """The mean return per power of the games that have ended."""

    def __init__(self, env: Any) -> None:
        self._running = np.zeros((env.num_games, len(env.board.powers)))
        self._ended: list[float] = []

    def note(self, rewards: np.ndarray, done: np.ndarray) -> None:
        self._running += rewards
        self._ended += self._running[done].mean(axis=1).tolist()
        self._running[done] = 0

    def take(self) -> float:
        ended, self._ended = self._ended, []
        return float(np.mean(ended)) if ended else float("nan")


def rollout(
    env: Any, reader: InputEncoder, network: BoardNetwork, rng: np.random.Generator, phases: int, returns: Returns
) -> tuple[Decisions, np.ndarray, np.ndarray]:
    """Play `phases` phases in all games; finished games restart.

    Returns:
        The decisions, rewards float32 [phases, games, powers] and ends bool [phases, games].
    """
    kept, rewards, ends = [], [], []
    for phase in range(phases):
        choices, decided = act(env, reader, network, rng, phase)
        paid, done = env.step(choices)
        returns.note(paid, done)
        kept.append(decided)
        rewards.append(paid)
        ends.append(done)
    joined = Decisions(
        np.concatenate([part.where for part in kept], axis=1),
        *(np.concatenate([getattr(part, name) for part in kept]) for name in ("seen", "answers", "logps", "values")),
    )
    return joined, np.stack(rewards), np.stack(ends)


def advantages(
    decided: Decisions, rewards: np.ndarray, ends: np.ndarray, last_values: np.ndarray, gamma: float, lambda_: float
) -> np.ndarray:
    """Generalized advantage estimates (Schulman et al. 2016): float32 [n].

    Not every power decides in every phase. A decision's reward is the sum of rewards until its power decides again.

    Args:
        last_values: float32 [games, powers], value estimates after the rollout.
    """
    values, number = np.zeros_like(rewards), np.full(rewards.shape, -1)
    values[tuple(decided.where)] = decided.values
    number[tuple(decided.where)] = np.arange(len(decided.values))
    found = np.zeros(len(decided.values), np.float32)
    ahead, next_value, due = np.zeros_like(last_values), last_values.copy(), np.zeros_like(last_values)
    for phase in reversed(range(len(rewards))):
        ahead[ends[phase]] = next_value[ends[phase]] = due[ends[phase]] = 0  # later values belong to the next game
        due += rewards[phase]
        here = number[phase] >= 0
        advantage = due + gamma * next_value - values[phase] + gamma * lambda_ * ahead
        found[number[phase][here]] = advantage[here]
        ahead, next_value = np.where(here, advantage, ahead), np.where(here, values[phase], next_value)
        due[here] = 0
    return found


def loss_of(
    network: BoardNetwork, reader: InputEncoder, decided: Decisions, gained: np.ndarray, targets: np.ndarray, args: Args
) -> tuple[Tensor, dict[str, float]]:
    """PPO's loss (Schulman et al. 2017) of a minibatch, with each order clipped separately, and statistics to print."""
    inputs = reader.read(decided.seen)
    decision, slot = rows_of(inputs)
    judged = network.judge(inputs, decided.answers[decision, slot])
    change = judged.logp - torch.from_numpy(decided.logps[decision, slot])
    ratio, advantage = change.exp(), torch.from_numpy(gained[decision])
    clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
    policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    value_loss = (judged.values - torch.from_numpy(targets)).square().mean()
    entropy = judged.entropy.mean()
    kl = (ratio - 1 - change).mean().item()
    statistics = {"entropy": entropy.item(), "kl": kl, "value_loss": value_loss.item()}
    return policy_loss + args.value_weight * value_loss - args.entropy * entropy, statistics


def update(
    network: BoardNetwork,
    reader: InputEncoder,
    optimizer: torch.optim.Optimizer,
    decided: Decisions,
    gained: np.ndarray,
    rng: np.random.Generator,
    args: Args,
) -> dict[str, float]:
    """Train on a rollout for `epochs` passes; returns the statistics of the last minibatch."""
    targets = gained + decided.values
    gained = (gained - gained.mean()) / (gained.std() + 1e-6)
    statistics: dict[str, float] = {}
    for _ in range(args.epochs):
        phases, games, _ = decided.where
        turn = rng.permutation((1 + phases.max()) * args.num_games)[phases * args.num_games + games]
        order = np.argsort(turn, kind="stable")  # decisions in a position stay together: it is encoded once
        for first in range(0, len(order), args.minibatch):
            some = order[first : first + args.minibatch]
            part = Decisions(
                decided.where[:, some],
                *(getattr(decided, name)[some] for name in ("seen", "answers", "logps", "values")),
            )
            loss, statistics = loss_of(network, reader, part, gained[some], targets[some], args)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), args.max_grad_norm)
            optimizer.step()
    return statistics


def train(args: Args) -> list[float]:
    """Train; returns the mean return per power and game of each iteration."""
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    env = welfare_env.vector_env(args.num_games, args.map_name, years=args.years)
    env.reset()
    reader, network = InputEncoder(env.board, env.rules), BoardNetwork(env.board, Size())
    optimizer = torch.optim.Adam(network.parameters(), lr=args.lr)
    returns, curve = Returns(env), []
    games, powers = (grid.ravel() for grid in np.indices((args.num_games, len(env.board.powers))))
    for iteration in range(args.iterations):
        optimizer.param_groups[0]["lr"] = args.lr * (1 - iteration / args.iterations)
        decided, rewards, ends = rollout(env, reader, network, rng, args.phases, returns)
        with torch.no_grad():
            last = network.values(reader.read(reader.pack(env.rows[games], powers))).numpy().reshape(args.num_games, -1)
        rewards += args.social * (rewards.mean(axis=2, keepdims=True) - rewards)
        gained = advantages(decided, rewards * args.reward_scale, ends, last, args.gamma, args.gae_lambda)
        statistics = update(network, reader, optimizer, decided, gained, rng, args)
        curve.append(returns.take())
        numbers = "  ".join(f"{name} {value:.3f}" for name, value in statistics.items())
        print(f"{iteration + 1:3d}  return {curve[-1]:6.2f}  {numbers}", flush=True)
    return curve


def main(
    map_name: str = Args.map_name,
    years: int = Args.years,
    num_games: int = Args.num_games,
    phases: int = Args.phases,
    iterations: int = Args.iterations,
    social: float = Args.social,
    seed: int = Args.seed,
) -> None:
    """PPO on Welfare Diplomacy without press, all powers learning."""
    train(Args(map_name, years, num_games, phases, iterations, social=social, seed=seed))


if __name__ == "__main__":
    typer.run(main)
