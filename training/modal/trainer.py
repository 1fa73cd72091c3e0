"""Learning to choose programs in modal_env by PPO: `train_modal`, and ``python -m training modal``.

With actions="library" this is a bandit: a softmax over programs. With actions="tokens" the learner writes a formula,
token by token, among those that the action mask leaves open. It plays against a fixed player, "program:FairBot" or
"mix:FairBot=1/2,CooperateBot=1/2", or against itself. What it has learnt is a mix of programs, `ModalResult.spec`,
which `agents.make` takes and `evaluation.exploitability` measures.

Everything an iteration does follows from the weights, the seed and the iteration's number. So a training that was
interrupted goes on from its last save, and ends with the same weights as one that was not.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import modal_env
from agents.modal.players import Share, expected_payoff
from modal_env.envs.setting import make_setting
from training.errors import MOST_GAMES, MOST_SEED, TrainingError, check_number, check_whole
from training.modal.mixes import PARTS, Judge, commonest, name_of, rounded, softmax, spec_of

if TYPE_CHECKING:
    from torch import nn

SELF = "self"
ACTIONS = ("library", "tokens")
RATES = {"library": 0.05, "tokens": 0.003}  # Adam's step size, where none is given


@dataclass(frozen=True)
class ModalOptions:
    """How to train.

    Attributes:
        against: whom: a spec ("program:...", "mix:...", "best-reply:..."), or "self".
        actions: "library" or "tokens", see `modal_env.make`; so are `epsilon`, `agents` (names or formulas), `cost` and
            `budget` (tokens of a formula).
        iterations: in all; each plays `num_games` games and improves the policy on them.
        epochs: passes over an iteration's games.
        lr: Adam's step size; by default 0.05 for a library, 0.003 for tokens.
        entropy: weight of the entropy. clip: PPO's range.
        seed: of first weights, actions and opponents.
        save_every: iterations between saves.
        folder: where the training is kept; by default one of its own under runs/, named after `identity`.
    """

    against: str = SELF
    actions: str = "library"
    epsilon: str = "1/10"
    agents: tuple[str, ...] = tuple(agent.name for agent in modal_env.POST)
    cost: str = "depth"
    budget: int | None = None
    iterations: int = 60
    num_games: int = 256
    epochs: int = 4
    lr: float | None = None
    entropy: float = 0.01
    clip: float = 0.2
    seed: int = 0
    save_every: int = 10
    folder: Path | None = None

    @property
    def identity(self) -> str:
        """What must be the same for a training to go on, as JSON: all but where it is kept and how long it lasts."""
        free = ("folder", "iterations", "save_every")
        told = {name: value for name, value in asdict(self).items() if name not in free}
        return json.dumps({**told, "lr": self.rate}, sort_keys=True)

    @property
    def rate(self) -> float:
        """Adam's step size."""
        return RATES[self.actions] if self.lr is None else self.lr

    @property
    def place(self) -> Path:
        """Where the training is kept."""
        return self.folder or Path("runs", f"modal-{hashlib.sha256(self.identity.encode()).hexdigest()[:8]}")

    def setting(self) -> modal_env.Setting:
        """What is played.

        Raises:
            TrainingError: a number out of bounds, or actions that cannot be learnt.
            GameError, FormulaError: as `modal_env.make`.
        """
        if self.actions not in ACTIONS:
            raise TrainingError(f"actions={self.actions!r:.80}: choose one of {', '.join(ACTIONS)}")
        for name in ("iterations", "num_games", "epochs", "save_every"):
            check_whole(name, getattr(self, name), 1, MOST_GAMES)
        check_whole("seed", self.seed, 0, MOST_SEED)
        for name, value, most in (("entropy", self.entropy, 1e3), ("clip", self.clip, 1), ("lr", self.rate, 1e3)):
            check_number(name, value, most)
        if self.clip in (0, 1) or self.rate == 0:
            raise TrainingError(f"clip={self.clip}, lr={self.rate}: give a clip between 0 and 1 and an lr above 0")
        return make_setting(
            self.epsilon, actions=self.actions, agents=self.agents, cost=self.cost, budget=self.budget, strict=True
        )


@dataclass(frozen=True)
class ModalProgress:
    """After an iteration: its number from 1, the program chosen most often in it, and what is logged."""

    iteration: int
    program: str
    logged: Mapping[str, float]


@dataclass(frozen=True)
class ModalResult:
    """What came of a training.

    Attributes:
        options: as given.
        history: every iteration.
        shares: the mix that the policy plays at last: (program, share), largest first. Shares are rounded to 1/1000,
            or, for tokens, counted in 1000 formulas drawn from it.
        against: the mix that it was trained against; None for itself.
    """

    options: ModalOptions
    history: tuple[ModalProgress, ...]
    shares: tuple[Share, ...]
    against: tuple[Share, ...] | None

    @property
    def spec(self) -> str:
        """The mix for `agents.make`: "program:FairBot" or "mix:FairBot=999/1000,PrudentBot=1/1000"."""
        return spec_of(self.shares)

    @cached_property
    def payoff(self) -> Fraction:
        """What the mix is paid on average, exactly, cost deducted; against itself where it was trained so."""
        return expected_payoff(self.shares, self._met, self.options.setting())

    @cached_property
    def best_reply(self) -> tuple[modal_env.Agent, Fraction]:
        """Of the agents in the options, the one that is paid most against the same, and what it is paid; exactly."""
        setting = self.options.setting()
        paid = [expected_payoff(((agent, Fraction(1)),), self._met, setting) for agent in setting.agents]
        return setting.agents[paid.index(max(paid))], max(paid)

    @property
    def gap(self) -> Fraction:
        """What the best reply is paid more. Below 0 if the learner has written what is better than any of them."""
        return self.best_reply[1] - self.payoff

    def average(self, iterations: int) -> tuple[Share, ...]:
        """The mean mix of the last iterations; for a library.

        Raises:
            TrainingError: the policy writes tokens.
        """
        if self.options.actions != "library":
            raise TrainingError("average: shares are logged for a library only")
        names = [name for name in self.history[-1].logged if name.startswith("share/")]
        means = np.mean([[one.logged[name] for name in names] for one in self.history[-iterations:]], axis=0)
        return rounded(self.options.setting().agents, means)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; shares and payoffs as floats."""
        best, paid = self.best_reply
        return {
            "options": json.loads(self.options.identity),
            "iterations": len(self.history),
            "spec": self.spec,
            "shares": {name_of(agent): float(share) for agent, share in self.shares},
            "payoff": float(self.payoff),
            "best_reply": best.name,
            "best_payoff": float(paid),
            "gap": float(self.gap),
        }

    @property
    def _met(self) -> tuple[Share, ...]:
        return self.shares if self.against is None else self.against


def train_modal(
    options: ModalOptions, on_progress: Callable[[ModalProgress], None] = lambda progress: None
) -> ModalResult:
    """Train, or go on with a training that was interrupted.

    Args:
        options: see there.
        on_progress: called after every iteration. A KeyboardInterrupt from it saves, and is raised again.

    Raises:
        TrainingError: options that make no sense, or a folder that holds another training.
        ModalError, UnknownAgentError: a setting or an opponent that makes no sense, see `ModalOptions.setting`.
    """
    import torch

    from modal_env.envs.rounds import Contest
    from training import run_folder as state
    from training.modal.games import Opponent, play
    from training.modal.learner import make_learner, network_of, optimiser_of, update

    torch.set_num_threads(1)
    setting = options.setting()
    opponent = None if options.against == SELF else Opponent(options.against, setting)
    learner = make_learner(setting, seed=options.seed, lr=options.rate, entropy=options.entropy, clip=options.clip)
    network, folder = network_of(learner), options.place
    save = partial(state.save, folder, network, optimiser_of(learner), options=options.identity)
    done, _ = state.load(folder, network, optimiser_of(learner), options.identity, options.iterations)
    history = [_progress(line, folder) for line in state.read_log(folder, done)]
    contests = [Contest(setting) for _ in range(options.num_games)]
    judge = Judge(setting, None if opponent is None else opponent.shares)
    with state.logging_to(folder, done) as log:
        for iteration in range(done + 1, options.iterations + 1):
            played = play(network, contests, opponent, np.random.default_rng([options.seed, iteration]))
            learnt = update(learner, played, options.epochs)
            progress = ModalProgress(iteration, name_of(commonest(played.programs)[0]), judge.describe(played) | learnt)
            history.append(progress)
            log({"iteration": iteration, "program": progress.program, **progress.logged})
            if iteration % options.save_every == 0 or iteration == options.iterations:
                save(iteration)
            try:
                on_progress(progress)
            except KeyboardInterrupt:
                save(iteration)
                raise
    rng = np.random.default_rng([options.seed, 0])
    result = ModalResult(options, tuple(history), _shares(network, setting, rng), judge.met)
    state.write_policy(folder, {"spec": result.spec, "options": json.loads(options.identity)})
    return result


def _progress(line: dict[str, Any], folder: Path) -> ModalProgress:
    if "program" not in line:
        raise TrainingError(f"{folder}: the log tells no programs; take another folder")
    return ModalProgress(line.pop("iteration"), line.pop("program"), line)


def _shares(network: nn.Module, setting: modal_env.Setting, rng: np.random.Generator) -> tuple[Share, ...]:
    """The mix that a policy plays; see `ModalResult`."""
    from training.modal.games import programs_of
    from training.modal.networks import ChoiceNetwork

    if isinstance(network, ChoiceNetwork):
        return rounded(setting.agents, softmax(network.logits.detach().numpy().astype(float)))
    counts = Counter(programs_of(network, setting, PARTS, rng))
    return tuple((agent, Fraction(count, PARTS)) for agent, count in counts.most_common())
