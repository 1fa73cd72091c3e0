"""Do words change outcomes? For trained networks in games with tokens: `word_effects`.

The same games are played three times: players receive the words of others as sent, shuffled, or not at all. *Shuffled*:
a power receives the words that each other power sent to it in another game of the sample, in the same phase; words are
as frequent as before, but carry no information about the game. A power always knows the words that it sent itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.inputs import Inputs
from agents.rl.token_press import Said
from evaluation.measures.intervals import mean_estimate, mean_estimates
from training.board.algorithm import play_of
from training.board.playing import runner_of
from training.board.saving import CHECKPOINT
from training.board.seats import LEARNER
from training.runs import config_of
from welfare_env.engine import PHASE, YEAR, layout_of
from welfare_env.game.press import COLUMNS, Message
from welfare_env.rules import Rules

HEARD = ("as said", "shuffled", "removed")
WAYS = ("drawn", "greedy", "greedy orders")
PART = 1024  # decisions at a time
OTHERS = 32  # number of other games whose words are substituted when an order's probability is compared
STREAM = 6  # random stream; others: `training.board.sampling`


def word_effects(folder: Path, games: int = 200, way: str = "drawn", seed: int = 0) -> dict[str, Any]:
    """The effects of words in the games of a training with tokens: same map, rules, reward and opponents.

    The network itself replaces past selves (a league). Additional networks play their seats; only the learner is
    measured.

    Args:
        games: number of games per message condition.
        way: "drawn" (sampled), "greedy" (the most probable words and orders) or "greedy orders" (sampled words).

    Returns:
        Estimates as plain JSON types. `returns`: mean return of the learning seats, by message condition (`HEARD`).
        `lost`: how much lower it is if words are "shuffled" or "removed": paired differences, with the same seats and
        seeds. `bits`: mutual information between a decision's orders and the words received, given the position:
        E[log2 p(orders | position, heard) - log2 E' p(orders | position, heard')], with orders sampled from the network
        and heard' drawn from these words and those of `OTHERS` games in the same phase (Jaques et al. 2019, "Social
        influence as intrinsic motivation", for words instead of actions). 0: words change no order. At most
        log2(1 + `OTHERS`).
    """
    config: Any = config_of(folder)
    networks = {LEARNER: CHECKPOINT} | {name: name for name in config.rewards}
    given = {name: checkpoint.load(folder / where) for name, where in networks.items()}
    played = {heard: _played(config, given, games, heard, way, seed) for heard in HEARD}
    returns = {heard: mean for heard, (mean, _) in played.items()}
    lost = {heard: returns[HEARD[0]] - returns[heard] for heard in HEARD[1:]}
    means = {"returns": mean_estimates(returns, seed), "lost": mean_estimates(lost, seed)}
    told = {what: {heard: each.to_dict() for heard, each in found.items()} for what, found in means.items()}
    return told | {"bits": mean_estimate(played[HEARD[0]][1], seed).to_dict()}


def _played(
    config: Any, given: Mapping[str, Checkpoint], games: int, heard: str, way: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean returns of the learning seats, and bits: two float64 [games]."""
    (stream,) = np.random.SeedSequence([seed, STREAM]).generate_state(1).tolist()
    runner = runner_of(replace(play_of(config), num_games=games, seed=stream), given)
    if heard != HEARD[0]:
        runner.games.said = Replaced(
            runner.env, runner.rules, heard == "shuffled", np.random.default_rng([seed, STREAM])
        )
    if way == "greedy orders":
        for network in runner.networks.values():
            _take_most_probable_orders(network)
    episodes = [episode for episode in runner.sample(explore=way != "greedy") if episode.agent_id == LEARNER]
    results = runner.take_results()
    means = np.array([np.mean([result.returns[power] for power in result.learners]) for result in results])
    return means, _bits(runner, episodes, results, seed) if heard == HEARD[0] else np.zeros(0)


def _take_most_probable_orders(network: Any) -> None:
    """Change a network so that it samples words, but takes its most probable orders."""
    answer = network.answer

    def chosen(inputs: Inputs, chances: np.ndarray, *others: Any) -> Any:
        return answer(inputs, np.full_like(chances, -1) if inputs.rounds is None else chances, *others)

    network.answer = chosen


class Replaced(Said):
    """The words in games, where the words received from others are shuffled among games or removed.

    Args:
        env: the games, a `welfare_env.envs.vector.VectorEnv` (without words). rules: of the games.
        is_shuffled: whether powers receive the words sent in another game in the same phase; else none.
    """

    def __init__(self, env: Any, rules: Rules, is_shuffled: bool, rng: np.random.Generator) -> None:
        super().__init__(env.board, rules, env.num_games)
        self._env, self._is_shuffled, self._rng = env, is_shuffled, rng

    def clear(self) -> None:
        """Begin a phase: choose the source game of each sender's words."""
        super().clear()
        self._source = np.tile(np.arange(len(self.words)), (self.words.shape[2], 1))  # [sender, game]
        phases = self._env.rows[:, [YEAR, PHASE]]
        for phase in np.unique(phases, axis=0):
            where = np.flatnonzero((phases == phase).all(axis=1))
            for source in self._source:
                source[where] = self._rng.permutation(where)

    def heard(self, games: np.ndarray, powers: np.ndarray) -> np.ndarray:
        return with_words_of_others(super().heard(games, powers), self._gathered(self._received(), games, powers))

    def messages(self, game: int, phase: str) -> list[Message]:
        """The messages for scripted players, in which even their own words are replaced."""
        own, self.words = self.words, self._received()
        try:
            return super().messages(game, phase)
        finally:
            self.words = own

    def _received(self) -> np.ndarray:
        """The replacement of `words`."""
        if not self._is_shuffled:
            return np.zeros_like(self.words)
        senders = np.arange(self.words.shape[2])[:, None]
        return self.words[self._source, :, senders].transpose(1, 2, 0, 3)


def with_words_of_others(heard: np.ndarray, other: np.ndarray) -> np.ndarray:
    """`heard`, int8 [k, powers, 3 * rounds], with the words received from others replaced by those in `other`."""
    mixed = heard.copy()
    for column in (0, 1):  # see `welfare_env.game.press.observe_messages`; the first row is the power itself
        mixed[:, 1:, column::COLUMNS] = other[:, 1:, column::COLUMNS]
    return mixed


def _bits(runner: Any, episodes: list[Any], results: list[Any], seed: int) -> np.ndarray:
    """`bits` of `word_effects`, as the mean over each game's decisions: float64 [games]."""
    packed, game = _orders(episodes, results)
    size = layout_of(runner.board).size
    words = packed[:, size:-2].reshape(len(packed), len(runner.board.powers), -1)
    rng = np.random.default_rng([seed, STREAM, 1])
    parts = [slice(first, first + PART) for first in range(0, len(packed), PART)]
    drawn = [_drawn(runner, packed[part], rng) for part in parts]
    logps = [np.concatenate([logp for _, logp in drawn])]
    for source in _others(packed[:, [YEAR, PHASE, -1]], rng):
        heard = with_words_of_others(words, words[source]).reshape(len(packed), -1)
        asked = np.concatenate([packed[:, :size], heard, packed[:, -2:]], axis=1)
        judged = [_judged(runner, asked[part], answers) for part, (answers, _) in zip(parts, drawn, strict=True)]
        logps.append(np.concatenate(judged))
    bits = (logps[0] - np.logaddexp.reduce(logps, axis=0) + np.log(len(logps))) / np.log(2)
    return np.bincount(game, bits, len(results)) / np.maximum(1, np.bincount(game, minlength=len(results)))


def _drawn(runner: Any, packed: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Orders sampled from the network, int64 [R], and the log probabilities of decisions, float64 [B]."""
    inputs = runner.reader.read(packed)
    answers, logps, _ = runner.networks[LEARNER].answer(inputs, rng.random(inputs.num_rows))
    return answers, _sums(inputs, logps)


def _judged(runner: Any, packed: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """The log probabilities of decisions: float64 [B]."""
    inputs = runner.reader.read(packed)
    with torch.no_grad():
        return _sums(inputs, runner.networks[LEARNER].judge(inputs, answers).logp.numpy())


def _orders(episodes: list[Any], results: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The learners' decisions about orders as packed observations, and their games: int32 [k, size], int64 [k].

    There is exactly one episode per learner and game, in this order, since all learners have a decision about words in
    the first phase.
    """
    games = np.repeat(np.arange(len(results)), [len(result.learners) for result in results])
    seen = [episode.observations.data[:-1] for episode in episodes]
    packed = np.concatenate(seen)
    is_order = packed[:, -2] == 0
    return packed[is_order], np.repeat(games, [len(each) for each in seen])[is_order]


def _others(kinds: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """`OTHERS` times: for each decision a random other one with the same year, phase and power, or itself."""
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    members = [np.flatnonzero(kind == number) for number in range(kind.max() + 1)]
    for _ in range(OTHERS):
        source = np.arange(len(kinds))
        for where in members:
            if len(where) > 1:
                steps = rng.integers(1, len(where), size=len(where))
                source[where] = where[(np.arange(len(where)) + steps) % len(where)]
        yield source


def _sums(inputs: Inputs, logps: np.ndarray) -> np.ndarray:
    """Sum log probabilities of rows [R] by decision, float64 [B]."""
    decision = np.repeat(np.arange(len(inputs)), np.diff(inputs.first_rows))
    return np.bincount(decision, logps, len(inputs))
