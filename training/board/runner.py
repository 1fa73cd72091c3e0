"""An EnvRunner that plays many games at once, over arrays.

One forward pass per phase makes the decisions of all learners in all games. Opponents play inside the runner and are
not recorded. A sample is `num_games` whole games: no game is truncated, so advantages need no bootstrap value. A sample
depends only on the weights, the seed and its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
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

from agents.rl.inputs import InputEncoder, Inputs
from agents.rl.network import BoardNetwork, Size
from agents.rl.token_press import word_rounds
from training.board.games import GameBatch
from training.board.modules import padded, spaces
from training.board.opponents import FrozenNetwork, Opponent, Scripted, fixed_opponent
from training.board.rewards import Reward, centers, holdings
from training.board.seats import LEAGUE, LEARNER, Lineup
from training.board.tape import ADVANTAGES, POSITION, VALUE_TARGETS, Tape
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules


@dataclass(frozen=True)
class Play:
    """The games of a runner (`config.environment(env_config=Play(...).to_dict())`).

    Attributes:
        num_games: games per sample.
        reward_scale: factor on rewards for learning; tables and logs show unscaled rewards.
        seed: for seats, opponents and sampling.
    """

    map_name: str
    rules: Rules
    lineup: Lineup
    size: Size
    reward: Reward = field(default_factory=Reward)
    num_games: int = 128
    reward_scale: float = 0.1
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {"play": self}


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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class BatchedEnvRunner(EnvRunner, Checkpointable):
    """See the module's documentation. Works with RLlib's algorithms, as a Ray actor, and on its own.

    Args:
        config: with a `Play` in its ``env_config``, and a `BoardModule`.
    """

    config: Any  # RLlib's names, which its types lack
    module: Any
    env: Any

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        super().__init__(config=config, **kwargs)
        torch.set_num_threads(1)
        self.play: Play = config.env_config["play"]
        self.results: list[GameResult] = []
        self.samples = 0
        self._weights_seq_no = 0
        # Made for the longest games, even if a curriculum plays shorter ones: the learner uses the same reader.
        self.reader = InputEncoder(load_board(self.play.map_name), self.play.rules)
        self._spaces = spaces(self.reader)
        self.make_env()
        self.make_module()
        self.league: list[dict[str, np.ndarray]] = []

    def make_env(self) -> None:
        """Make the games and the learner's opponents."""
        play = self.play
        self.games = GameBatch(play.map_name, play.rules, play.num_games, self.reader)
        self.env, self.board, self.rules = self.games.env, self.games.env.board, play.rules
        players = dict(enumerate(play.lineup.players))
        self._opponents = {
            number: self._opponent(spec) for number, spec in players.items() if spec not in play.lineup.also
        }
        self._also = {number: spec for number, spec in players.items() if spec in play.lineup.also}
        self.games.keeps_transcript = any(isinstance(opponent, Scripted) for opponent in self._opponents.values())

    def set_years(self, years: int) -> None:
        """Change the length of games (a curriculum)."""
        if years != self.rules.years:
            self.play = replace(self.play, rules=replace(self.play.rules, years=years))
            self.make_env()

    def make_module(self) -> None:
        self.module = self.config.get_multi_rl_module_spec(
            env=None, spaces=self.get_spaces(), inference_only=True
        ).build()
        self.network: BoardNetwork = self.module[DEFAULT_MODULE_ID].unwrapped().network
        self.also: dict[str, BoardNetwork] = {
            name: self.module[name].unwrapped().network for name in self.play.lineup.also
        }

    def get_spaces(self) -> dict[str, Any]:
        return dict.fromkeys(("__env__", "__env_single__", DEFAULT_MODULE_ID, *self.play.lineup.also), self._spaces)

    def _opponent(self, spec: str) -> Opponent:
        if spec in (LEARNER, LEAGUE):
            return FrozenNetwork(BoardNetwork(self.board, self.play.size, word_rounds(self.rules)))
        return fixed_opponent(spec, InputEncoder(self.board, self.rules))

    # Playing.

    def sample(self, *, explore: bool | None = None, **kwargs: Any) -> list[SingleAgentEpisode]:
        """Play `num_games` whole games; returns an episode for every learning power that made a decision.

        The learner's episodes come first, then those of each additional network; ``module_id`` is the network.

        Args:
            explore: if False, learners take their most probable orders and words; otherwise they sample.
            kwargs: RLlib's other arguments (sample sizes) are ignored.
        """
        rng = np.random.default_rng([self.play.seed, self.worker_index or 0, self.samples])
        self.samples += 1
        self._choose_past_self(rng)
        env, powers = self.env, len(self.board.powers)
        seats, coalition, drawn = self.play.lineup.seats(rng, env.num_games, self.board.powers)
        for number, opponent in self._opponents.items():
            games, played = np.nonzero(seats == number)
            seeds = rng.integers(2**31, size=len(games))
            opponent.begin(games, played, seeds[np.searchsorted(games, games)])  # one seed per game, to coordinate
        tapes = {number: Tape(env.num_games, powers, self.play.reward_scale) for number in (-1, *self._also)}
        returns = np.zeros((env.num_games, powers), np.float32)
        phases = np.zeros(env.num_games, np.int64)
        final = np.zeros_like(env.rows)
        decide = partial(self._decide, tapes=tapes, greedy=explore is False)
        for before, after, ended in self.games.phases(seats, decide, rng.random):
            paid = self._pay(seats, before, after) * self.games.live[:, None]
            for tape in tapes.values():
                tape.pay(paid)
            returns += paid
            phases += self.games.live
            final[ended] = after[ended]
        self._record(seats, coalition, drawn, final, returns, phases)
        episodes = [episode for number, tape in tapes.items() for episode in self._episodes(number, tape, final)]
        if episodes:
            self._log({self._learner(number): len(tape) for number, tape in tapes.items()}, len(final))
        return episodes

    def _learner(self, number: int) -> str:
        """The network that learns in seats with this player number."""
        return self._also.get(number, LEARNER)

    def _pay(self, seats: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """The rewards of a phase, by the reward function of each seat's network: float32 [games, powers]."""
        paid = self.play.reward.pay(self.board, self.rules, before, after)
        for number, name in self._also.items():
            own = self.play.lineup.also[name].pay(self.board, self.rules, before, after)
            paid = np.where(seats == number, own, paid)
        return paid

    def _decide(
        self,
        number: int,
        games: np.ndarray,
        powers: np.ndarray,
        inputs: Inputs,
        drawn: np.ndarray,
        tapes: Mapping[int, Tape],
        greedy: bool,
    ) -> np.ndarray:
        """The answers int64 [R] of an opponent or a learner; a learner's answers are recorded."""
        if number in self._opponents:
            return self._opponents[number].answer(self.games.transcript, games, powers, inputs, drawn, self.games.said)
        network = self.also[self._also[number]] if number in self._also else self.network
        answers, logps, values = network.answer(inputs, np.full_like(drawn, -1) if greedy else drawn)
        actions, padded_logps = padded(inputs, answers, logps, self.reader.slots)
        packed = self.reader.pack(self.env.rows[games], powers, inputs.heard, inputs.rounds)
        tapes[number].decide(games, powers, packed, actions, padded_logps, values)
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
        for game in range(len(final)):
            others = seats[game][seats[game] >= 0]
            self.results.append(
                GameResult(
                    lineup.coalitions[coalition[game]],
                    tuple(np.flatnonzero(seats[game] == -1).tolist()),
                    lineup.opponents[drawn[game]] if len(others) else LEARNER,
                    tuple(points[game].tolist()),
                    tuple(owned[game].tolist()),
                    tuple(returns[game].tolist()),
                    int(phases[game]),
                    {
                        name: tuple(np.flatnonzero(seats[game] == number).tolist())
                        for number, name in self._also.items()
                    },
                )
            )

    def _episodes(self, number: int, tape: Tape, final: np.ndarray) -> list[SingleAgentEpisode]:
        """A learner's tape as RLlib's episodes, with advantages."""
        if not len(tape):
            return []
        part = 1 / (1 + self.reader.message_rounds)  # a phase's words and orders together are discounted by gamma
        columns = tape.columns(self.config.gamma**part, self.config.lambda_**part)
        episodes = []
        for rows in tape.chains():
            game, power = columns["games"][rows[0]], columns["powers"][rows[0]]
            last = self.reader.pack(final[game : game + 1], np.array([power]))
            episodes.append(self._episode(self._learner(number), rows, columns, last))
        return episodes

    def _log(self, agent_steps: Mapping[str, int], games: int) -> None:
        """Log the last `games` games for RLlib, and each learner's number of decisions."""
        played = self.results[-games:]
        env_steps = sum(result.phases for result in played)
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED, env_steps, reduce="sum")
        for name, steps in agent_steps.items():
            self.metrics.log_value((NUM_AGENT_STEPS_SAMPLED, name), steps, reduce="sum")
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED_LIFETIME, env_steps, reduce="lifetime_sum")
        self.metrics.log_value(NUM_EPISODES, games, reduce="sum")
        self.metrics.log_value(EPISODE_LEN_MEAN, env_steps / games, window=100)
        returns = [result.returns[power] for result in played for power in result.learners]
        if returns:
            self.metrics.log_value(EPISODE_RETURN_MEAN, float(np.mean(returns)), window=100)

    def _episode(
        self, learner: str, rows: np.ndarray, columns: Mapping[str, np.ndarray], last: np.ndarray
    ) -> SingleAgentEpisode:
        space, action_space = self._spaces
        whose = "" if learner == LEARNER else f"{learner}-"
        sample = f"{self.play.seed}-{self.worker_index or 0}-{self.samples}"
        name: Any = f"{whose}{sample}-{rows[0]}"  # `Collate` shuffles by it
        outputs = (Columns.ACTION_LOGP, Columns.VF_PREDS, ADVANTAGES, VALUE_TARGETS, POSITION)
        return SingleAgentEpisode(
            id_=name,
            multi_agent_episode_id=name,
            agent_id=learner,
            module_id=DEFAULT_MODULE_ID if learner == LEARNER else learner,
            observation_space=space,
            action_space=action_space,
            observations=InfiniteLookbackBuffer(np.concatenate([columns["observations"][rows], last]), 0),
            actions=InfiniteLookbackBuffer(columns["actions"][rows], 0),
            rewards=InfiniteLookbackBuffer(columns["rewards"][rows], 0),
            infos=InfiniteLookbackBuffer([{}] * (len(rows) + 1), 0),
            extra_model_outputs={key: InfiniteLookbackBuffer(columns[key][rows], 0) for key in outputs},
            terminated=True,
            len_lookback_buffer=0,
        )

    # The league.

    def _choose_past_self(self, rng: np.random.Generator) -> None:
        """Draw the past self of this sample; the current network if the league is empty."""
        for number, opponent in self._opponents.items():
            if self.play.lineup.players[number] == LEAGUE and isinstance(opponent, FrozenNetwork):
                past = self.league[int(rng.integers(len(self.league)))] if self.league else self.weights()
                opponent.load(past)

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the learner's weights."""
        return {name: value.numpy().copy() for name, value in self.network.state_dict().items()}

    # RLlib's interface.

    def take_results(self) -> list[GameResult]:
        """The outcomes of the games since the last call."""
        results, self.results = self.results, []
        return results

    def get_metrics(self) -> dict[str, Any]:
        return self.metrics.reduce()

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> dict[str, Any]:
        state: dict[str, Any] = {"samples": self.samples, "league": self.league, "years": self.rules.years}
        if self._check_component(COMPONENT_RL_MODULE, components, not_components):
            state[COMPONENT_RL_MODULE] = self.module.get_state()
            state[WEIGHTS_SEQ_NO] = self._weights_seq_no
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.samples = state.get("samples", self.samples)
        self.league = state.get("league", self.league)
        self.set_years(state.get("years", self.rules.years))
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
