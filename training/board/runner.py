"""An EnvRunner that plays many games at once, over arrays.

One forward pass per phase makes the decisions of all learners in all games. Opponents play inside the runner and are
not recorded. A sample is `num_games` whole games: no game is truncated, so advantages need no bootstrap value.

A sample is played in pieces of up to `PIECE` games. A piece depends only on the weights, the seed, and the numbers of
the piece and the sample: so it does not matter which process plays it, or if it is played again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from ray.rllib.core import COMPONENT_RL_MODULE
from ray.rllib.core.columns import Columns
from ray.rllib.env.env_runner import EnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.utils.checkpoints import Checkpointable
from ray.rllib.utils.metrics import (
    EPISODE_LEN_MEAN,
    EPISODE_RETURN_MEAN,
    NUM_AGENT_STEPS_SAMPLED,
    NUM_ENV_STEPS_SAMPLED,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_EPISODES,
    WEIGHTS_SEQ_NO,
)

import agents
from agents.rl.inputs import InputEncoder, Inputs
from agents.rl.network import BoardNetwork, Size, one_thread
from agents.rl.token_press import word_rounds
from training.board.games import GameBatch
from training.board.modules import padded, spaces
from training.board.opponents import FrozenNetwork, Opponent, Scripted, fixed_opponent
from training.board.rewards import Reward, centers, holdings
from training.board.seats import LEAGUE, LEARNER, Lineup
from training.board.tape import ADVANTAGES, POSITION, VALUE_TARGETS, Decisions, Tape
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

PIECE = 16  # games played at once
POSITIONS = 1 << 40  # more than the positions of any piece


@dataclass(frozen=True)
class Play:
    """The games of a runner (`config.environment(env_config=Play(...).to_dict())`).

    Attributes:
        reward: of the network "learner".
        num_games: games per sample.
        reward_scale: factor on rewards for learning; tables and logs show unscaled rewards.
        seed: for seats, opponents and sampling.
    """

    map_name: str
    rules: Rules
    lineup: Lineup
    size: Size = field(default_factory=Size)
    reward: Reward = field(default_factory=Reward)
    num_games: int = 128
    reward_scale: float = 0.1
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {"play": self}

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the networks that learn."""
        return (LEARNER, *self.lineup.also)

    @property
    def pieces(self) -> list[int]:
        """The number of games of each piece."""
        count = -(-self.num_games // PIECE)
        return [self.num_games // count + (number < self.num_games % count) for number in range(count)]


@dataclass(frozen=True)
class GameResult:
    """The outcome of a game, for logs and reports.

    Attributes:
        coalition: the lineup's learning powers. learners: all powers played by the learner. opponent: the opponent in
            the other seats.
        points: welfare points, or centers in the standard variant, by power. centers: by power.
        returns: unscaled sum of every power's rewards: its network's reward if it learns, else the reward of `Play`.
        also: the powers of additional networks, by network name.
    """

    coalition: tuple[int, ...]
    learners: tuple[int, ...]
    opponent: str
    points: tuple[float, ...]
    centers: tuple[int, ...]
    returns: tuple[float, ...]
    phases: int
    also: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def seats(self, network: str) -> tuple[int, ...]:
        """The powers of a network."""
        return self.learners if network == LEARNER else self.also[network]


class BatchedEnvRunner(EnvRunner, Checkpointable):
    """See the module's documentation. Works with RLlib's algorithms, as a Ray actor, and on its own.

    Args:
        config: with a `Play` in its ``env_config``, and a `BoardModule` for each of its networks.

    Attributes:
        networks: the networks that learn, by name.
        teacher: if given, it plays the learner's seats, and its decisions are recorded (imitation).
    """

    config: Any  # RLlib's names, which its types lack
    module: Any
    env: Any

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        super().__init__(config=config, **kwargs)
        self.play: Play = config.env_config["play"]
        self.results: list[GameResult] = []
        self.samples = 0
        self.league: list[dict[str, np.ndarray]] = []
        self.teacher: Opponent | None = None
        self._weights_seq_no = 0
        self.board, self.rules = load_board(self.play.map_name), self.play.rules
        self.reader = InputEncoder(self.board, self.rules)
        self._spaces = spaces(self.reader)
        players = self.play.lineup.players
        self._learners = {-1: LEARNER} | {at: name for at, name in enumerate(players) if name in self.play.lineup.also}
        self._opponents = {at: self._opponent(spec) for at, spec in enumerate(players) if at not in self._learners}
        self.make_module()
        self.make_env()

    def make_env(self) -> None:
        """Make the games of a piece."""
        self._make_games(self.play.pieces[0])

    def _make_games(self, count: int) -> None:
        self.games = GameBatch(self.play.map_name, self.rules, count, self.reader)
        self.env = self.games.env
        players = [*self._opponents.values(), self.teacher]
        self.games.keeps_transcript = any(isinstance(player, Scripted) for player in players)

    def make_module(self) -> None:
        made = self.config.get_multi_rl_module_spec(env=None, spaces=self.get_spaces(), inference_only=True)
        self.module = made.build()
        self.networks: dict[str, BoardNetwork] = {
            name: self.module[name].unwrapped().network for name in self.play.networks
        }

    def get_spaces(self) -> dict[str, Any]:
        return dict.fromkeys(("__env__", "__env_single__", *self.play.networks), self._spaces)

    def _opponent(self, spec: str) -> Opponent:
        if spec in (LEARNER, LEAGUE):
            return FrozenNetwork(BoardNetwork(self.board, self.play.size, word_rounds(self.rules)))
        return fixed_opponent(spec, self.reader)

    # Playing.

    def sample(self, *, explore: bool | None = None, **kwargs: Any) -> list[SingleAgentEpisode]:
        """Play `num_games` whole games; returns an episode for every learning power that made a decision.

        In every piece the learner's episodes come first, then those of each additional network; ``module_id`` is the
        network.

        Args:
            explore: if False, learners take their most probable orders and words; otherwise they sample.
            kwargs: RLlib's other arguments (sample sizes) are ignored.
        """
        count = len(self.play.pieces)
        first = count * max(0, (self.worker_index or 0) - 1)
        played = [self.sample_piece(number, first + number, explore is False) for number in range(count)]
        self.samples += 1
        episodes = [episode for part in played for episode in part]
        if episodes:
            self._log(episodes)
        return episodes

    def sample_piece(self, number: int, stream: int, greedy: bool = False) -> list[SingleAgentEpisode]:
        """Play a piece of the sample with the number `samples`; its results are added to `results`.

        Args:
            number: of the piece. stream: its random stream.
        """
        rng = np.random.default_rng([self.play.seed, stream, self.samples])
        if self.env.num_games != self.play.pieces[number]:
            self._make_games(self.play.pieces[number])
        self._choose_past_self(rng)
        env, powers = self.env, len(self.board.powers)
        seats, coalition, drawn = self.play.lineup.seats(rng, env.num_games, self.board.powers)
        if isinstance(self.teacher, Scripted):
            self.teacher.meet(partial(self._policy_of, seats, self.teacher.spec))
        for at, opponent in self._players():
            games, played = np.nonzero(seats == at)
            opponent.begin(games, played, rng.integers(2**31, size=len(games)))
        tapes = {at: Tape(env.num_games, powers, stream * POSITIONS) for at in self._learners}
        returns = np.zeros((env.num_games, powers), np.float32)
        phases = np.zeros(env.num_games, np.int64)
        final = np.zeros_like(env.rows)
        decide = partial(self._decide, tapes=tapes, greedy=greedy)
        with one_thread():
            for before, after, ended in self.games.phases(seats, decide, rng.random):
                paid = self._pay(seats, before, after) * self.games.live[:, None]
                for tape in tapes.values():
                    tape.pay(paid)
                returns += paid
                phases += self.games.live
                final[ended] = after[ended]
        self._record(seats, coalition, drawn, final, returns, phases)
        name = f"{self.play.seed}-{stream}-{self.samples + 1}"
        return [episode for at, tape in tapes.items() for episode in self._episodes(name, at, tape, final)]

    def _players(self) -> list[tuple[int, Opponent]]:
        """Those who play without learning, by player number."""
        return [*self._opponents.items(), *([] if self.teacher is None else [(-1, self.teacher)])]

    def _policy_of(self, seats: np.ndarray, teacher: str, game: int, power: str) -> agents.Policy:
        """The policy in a seat of an imitation, for a teacher that plans."""
        at = int(seats[game, self.board.power_index[power]])
        return agents.make(teacher if at == -1 else self.play.lineup.players[at])

    def _pay(self, seats: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """The rewards of a phase, by the reward function of each seat's network: float32 [games, powers]."""
        paid = self.play.reward.pay(self.board, self.rules, before, after)
        for at, name in self._learners.items():
            if name != LEARNER:
                own = self.play.lineup.also[name].pay(self.board, self.rules, before, after)
                paid = np.where(seats == at, own, paid)
        return paid

    def _decide(
        self, at: int, games: np.ndarray, inputs: Inputs, drawn: np.ndarray, tapes: Mapping[int, Tape], greedy: bool
    ) -> np.ndarray:
        """The answers int64 [R] of the player with number `at`; a learner's answers are recorded."""
        player = self.teacher if at == -1 else self._opponents.get(at)
        if player is not None:
            answers = player.answer(self.games, games, inputs, drawn)
            logps, values = np.zeros(len(answers), np.float32), np.zeros(len(games), np.float32)
        else:
            network = self.networks[self._learners[at]]
            answers, logps, values = network.answer(inputs, np.full_like(drawn, -1) if greedy else drawn)
        if at in tapes:
            actions, padded_logps = padded(inputs, answers, logps, self.reader.slots)
            packed = self.reader.pack(self.env.rows[games], inputs.powers, inputs.heard, inputs.rounds)
            columns = {Columns.ACTION_LOGP: padded_logps, Columns.VF_PREDS: values}
            tapes[at].decide(games, inputs.powers, {"observations": packed, "actions": actions, **columns})
        return answers

    def _record(
        self,
        seats: np.ndarray,
        coalition: np.ndarray,
        drawn: np.ndarray,
        final: np.ndarray,
        returns: np.ndarray,
        phases: np.ndarray,
    ) -> None:
        points, owned = holdings(self.board, self.rules, final), centers(self.board, final)
        lineup = self.play.lineup
        for game, row in enumerate(seats):
            of = {name: tuple(np.flatnonzero(row == at).tolist()) for at, name in self._learners.items()}
            self.results.append(
                GameResult(
                    lineup.coalitions[coalition[game]],
                    of.pop(LEARNER),
                    lineup.opponents[drawn[game]] if (row >= 0).any() else LEARNER,
                    tuple(points[game].tolist()),
                    tuple(owned[game].tolist()),
                    tuple(returns[game].tolist()),
                    int(phases[game]),
                    of,
                )
            )

    def _episodes(self, sample: str, at: int, tape: Tape, final: np.ndarray) -> list[SingleAgentEpisode]:
        """A network's tape as RLlib's episodes, with advantages."""
        part = 1 / (1 + self.reader.message_rounds)  # a phase's words and orders together are discounted by gamma
        found = tape.episodes(self.play.reward_scale, self.config.gamma**part, self.config.lambda_**part)
        learner = self._learners[at]
        whose = "" if learner == LEARNER else f"{learner}-"
        return [self._episode(f"{whose}{sample}-{number}", learner, each, final) for number, each in enumerate(found)]

    def _episode(self, name: Any, learner: str, columns: Decisions, final: np.ndarray) -> SingleAgentEpisode:
        space, action_space = self._spaces
        game, power = columns["games"][:1], columns["powers"][:1]
        last = self.reader.pack(final[game], power)
        outputs = (Columns.ACTION_LOGP, Columns.VF_PREDS, ADVANTAGES, VALUE_TARGETS, POSITION)
        return SingleAgentEpisode(
            id_=name,
            multi_agent_episode_id=name,
            agent_id=learner,
            module_id=learner,
            observation_space=space,
            action_space=action_space,
            observations=InfiniteLookbackBuffer(np.concatenate([columns["observations"], last]), 0),
            actions=InfiniteLookbackBuffer(columns["actions"], 0),
            rewards=InfiniteLookbackBuffer(columns["rewards"], 0),
            infos=InfiniteLookbackBuffer([{}] * (len(columns["rewards"]) + 1), 0),
            extra_model_outputs={key: InfiniteLookbackBuffer(columns[key], 0) for key in outputs},
            terminated=True,
            len_lookback_buffer=0,
        )

    def _log(self, episodes: list[SingleAgentEpisode]) -> None:
        """Log the last sample for RLlib."""
        played = self.results[-self.play.num_games :]
        env_steps = sum(result.phases for result in played)
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED, env_steps, reduce="sum")
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED_LIFETIME, env_steps, reduce="lifetime_sum")
        for episode in episodes:
            self.metrics.log_value((NUM_AGENT_STEPS_SAMPLED, str(episode.agent_id)), len(episode), reduce="sum")
        self.metrics.log_value(NUM_EPISODES, len(played), reduce="sum")
        self.metrics.log_value(EPISODE_LEN_MEAN, env_steps / len(played), window=100)
        returns = [result.returns[power] for result in played for power in result.learners]
        if returns:
            self.metrics.log_value(EPISODE_RETURN_MEAN, float(np.mean(returns)), window=100)

    # The league.

    def _choose_past_self(self, rng: np.random.Generator) -> None:
        """Draw the past self of this piece; the current network if the league is empty."""
        for at, opponent in self._opponents.items():
            if self.play.lineup.players[at] == LEAGUE and isinstance(opponent, FrozenNetwork):
                weights = {name: value.numpy() for name, value in self.networks[LEARNER].state_dict().items()}
                opponent.load(self.league[int(rng.integers(len(self.league)))] if self.league else weights)

    # RLlib's interface.

    def take_results(self) -> list[GameResult]:
        """The outcomes of the games since the last call."""
        results, self.results = self.results, []
        return results

    def get_metrics(self) -> dict[str, Any]:
        return self.metrics.reduce()

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> dict[str, Any]:
        state: dict[str, Any] = {"samples": self.samples, "league": self.league}
        if self._check_component(COMPONENT_RL_MODULE, components, not_components):
            state[COMPONENT_RL_MODULE] = self.module.get_state()
            state[WEIGHTS_SEQ_NO] = self._weights_seq_no
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.samples = state.get("samples", self.samples)
        self.league = state.get("league", self.league)
        if COMPONENT_RL_MODULE in state:
            self.module.set_state(state[COMPONENT_RL_MODULE])
            self._weights_seq_no = state.get(WEIGHTS_SEQ_NO, 0)

    def get_ctor_args_and_kwargs(self) -> tuple[tuple, dict[str, Any]]:
        return (), {"config": self.config}

    def get_checkpointable_components(self) -> list[tuple[str, Any]]:
        return [(COMPONENT_RL_MODULE, self.module)]

    def assert_healthy(self) -> None:
        """RLlib's health check: always healthy."""

    def stop(self) -> None:
        """Does nothing."""
