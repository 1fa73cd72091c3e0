"""Learning to choose programs in modal_env by PPO: `train_modal`, and ``python -m training modal``.

With actions="library" this is a bandit: a softmax over programs. With actions="tokens" the learner writes a formula,
token by token, under the action mask. It plays against a fixed player, "program:FairBot" or
"mix:FairBot=1/2,CooperateBot=1/2", or against itself. The result is a mix of programs, `ModalResult.spec`, which
`agents.make` and `evaluation.exploitability` accept.

An iteration depends only on the weights, the seed and its number. So an interrupted training resumes from its last
save, and ends with the same weights as an uninterrupted one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import modal_env
from agents.modal.players import Share, expected_payoff
from agents.runtime.results import Result, tables_of
from agents.runtime.table_files import Row
from modal_env import Agent
from training.errors import TrainingError
from training.modal.config import SELF, ModalConfig
from training.modal.mixes import PARTS, MixMetrics, commonest, name_of, rounded, softmax, spec_of
from training.run_folder import CONFIG, POLICY, logging_to, metric_rows, read_log, write_json

if TYPE_CHECKING:
    from torch import nn


ROWS = 12  # programs in the table


@dataclass(frozen=True)
class ModalProgress:
    """An iteration: its number from 1, the program chosen most often, and logged metrics."""

    iteration: int
    program: str
    logged: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class ModalResult(Result):
    """The result of a training.

    Attributes:
        config: as given.
        history: every iteration.
        shares: the final policy's mix: (program, share), largest first. Shares are rounded to 1/1000, or, for tokens,
            counted in 1000 sampled formulas.
        against: the opponent's mix; None in self-play.
    """

    config: ModalConfig
    history: tuple[ModalProgress, ...]
    shares: tuple[Share, ...]
    against: tuple[Share, ...] | None

    @property
    def spec(self) -> str:
        """The mix for `agents.make`: "program:FairBot" or "mix:FairBot=999/1000,PrudentBot=1/1000"."""
        return spec_of(self.shares)

    @cached_property
    def payoff(self) -> Fraction:
        """The exact expected payoff of the mix, cost deducted; against itself after self-play."""
        return expected_payoff(self.shares, self._opponent_mix, self.config.setting())

    @cached_property
    def best_reply(self) -> tuple[Agent, Fraction]:
        """The best reply among the config's agents, and its exact payoff."""
        setting = self.config.setting()
        paid = [expected_payoff(((agent, Fraction(1)),), self._opponent_mix, setting) for agent in setting.agents]
        return setting.agents[paid.index(max(paid))], max(paid)

    @property
    def gap(self) -> Fraction:
        """The gain of the best reply. Negative if the learner has written a better program than the config's agents."""
        return self.best_reply[1] - self.payoff

    def average(self, iterations: int) -> tuple[Share, ...]:
        """The mean mix of the last iterations; with actions="library".

        Raises:
            TrainingError: the policy writes tokens.
        """
        if self.config.actions != "library":
            raise TrainingError("average: shares are logged only with actions='library'")
        names = [name for name in self.history[-1].logged if name.startswith("share/")]
        means = np.mean([[one.logged[name] for name in names] for one in self.history[-iterations:]], axis=0)
        return rounded(self.config.setting().agents, means)

    def rows(self) -> list[Row]:
        """One row per iteration; the table "curves" of docs/results.md."""
        lines = [{**each.logged, "iteration": each.iteration} for each in self.history]
        return metric_rows(str(self.config.folder), self.config.seed, lines)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, with shares and payoffs as floats."""
        best, paid = self.best_reply
        return {
            "config": self.config.to_dict(),
            "iterations": len(self.history),
            "spec": self.spec,
            "shares": {name_of(agent): float(share) for agent, share in self.shares},
            "payoff": float(self.payoff),
            "best_reply": best.name,
            "best_payoff": float(paid),
            "gap": float(self.gap),
        }

    @property
    def _opponent_mix(self) -> tuple[Share, ...]:
        return self.shares if self.against is None else self.against


@tables_of.register
def result_table(result: ModalResult) -> list[Table]:
    """The learned mix; in the footer its payoff, and the payoff of the best program in the library."""
    best, paid = result.best_reply
    opponent = "itself" if result.against is None else spec_of(result.against)
    table = Table(title=f"Learned against {opponent}, epsilon {result.config.epsilon}", show_footer=True)
    table.add_column("program", footer=f"paid {float(result.payoff):.4f}; {best.name} {float(paid):.4f}")
    for name in ("share", "depth", "size"):
        table.add_column(name, justify="right")
    for program, share in result.shares[:ROWS]:
        table.add_row(name_of(program), f"{float(share):.3f}", str(program.depth), str(program.size))
    if rest := result.shares[ROWS:]:
        table.add_row(f"{len(rest)} others", f"{float(sum(share for _, share in rest)):.3f}", "", "")
    return [table]


def train_modal(
    config: ModalConfig, on_progress: Callable[[ModalProgress], None] = lambda progress: None
) -> ModalResult:
    """Train, resume an interrupted training, or extend a finished one.

    Args:
        on_progress: called after every iteration. If it raises KeyboardInterrupt, the training is saved first.

    Raises:
        TrainingError: the folder holds another training, or the weights are no longer finite.
        GameError, FormulaError, UnknownAgentError: an invalid setting or opponent.
    """
    import torch

    from modal_env.envs.rounds import Contest
    from training import state
    from training.modal.games import ProgramOpponent, play
    from training.modal.learner import make_learner, parts_of, update

    torch.set_num_threads(1)
    setting = config.setting()
    opponent = None if config.against == SELF else ProgramOpponent(config.against, setting)
    learner = make_learner(setting, seed=config.seed, lr=config.rate, entropy=config.entropy, clip=config.clip)
    trained, folder = {"learner": parts_of(learner)}, config.folder
    network, _ = trained["learner"]
    save = partial(state.save, folder, trained, identity=config.identity())
    done, _ = state.load(folder, trained, config.identity(), config.iterations) or (0, {})
    write_json(folder / CONFIG, {"kind": "modal", **config.to_dict()})
    history = [_progress(line, folder) for line in read_log(folder, done)]
    contests = [Contest(setting) for _ in range(config.games)]
    metrics = MixMetrics(setting, None if opponent is None else opponent.shares)
    with logging_to(folder, done) as log:
        for iteration in range(done + 1, config.iterations + 1):
            played = play(network, contests, opponent, np.random.default_rng([config.seed, iteration]))
            learned = update(learner, played, config.epochs)
            state.check_finite([network], iteration, config.rate)
            program = name_of(commonest(played.programs)[0])
            progress = ModalProgress(iteration, program, metrics.describe(played) | learned)
            history.append(progress)
            log({"iteration": iteration, "program": progress.program, **progress.logged})
            if iteration % config.save_every == 0 or iteration == config.iterations:
                save(iteration=iteration)
            try:
                on_progress(progress)
            except KeyboardInterrupt:
                save(iteration=iteration)
                raise
    rng = np.random.default_rng([config.seed, 0])
    result = ModalResult(config, tuple(history), _shares(network, setting, rng), metrics.opponent_mix)
    write_json(folder / POLICY, {"spec": result.spec, "config": config.to_dict()})
    return result


def _progress(line: dict[str, Any], folder: Path) -> ModalProgress:
    if "program" not in line:
        raise TrainingError(f"{folder}: the log has no programs: give another folder (--out)")
    return ModalProgress(line.pop("iteration"), line.pop("program"), line)


def _shares(network: nn.Module, setting: modal_env.Setting, rng: np.random.Generator) -> tuple[Share, ...]:
    """A policy's mix; see `ModalResult`."""
    from training.modal.games import programs_of
    from training.modal.networks import ChoiceNetwork

    if isinstance(network, ChoiceNetwork):
        return rounded(setting.agents, softmax(network.logits.detach().numpy().astype(float)))
    counts = Counter(programs_of(network, setting, PARTS, rng))
    return tuple((agent, Fraction(count, PARTS)) for agent, count in counts.most_common())
