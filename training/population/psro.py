"""The complete loop of policy-space response oracles (Lanctot et al., "A unified game-theoretic approach to multiagent
reinforcement learning", 2017): `train_population`.

A step completes the table of payoffs of all policies so far, computes their mix (`meta`), measures the mix's
exploitability, and trains a best response to it, which joins the policies. Everything depends only on the config and
the step's number, and incomplete files are ignored: an interrupted population resumes with the same result.

The folder holds ``config.json``; ``table.json``, the payoffs by seating; ``steps.jsonl``, a line per step;
``payoffs-STEP.png``, a picture of the table; and ``response-STEP/``, the training of each best response.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from agents.runtime.files import parse_json, read_file, reason, shown
from agents.runtime.table_files import Row
from evaluation.checks import EvaluationError
from evaluation.exact import exploitability
from evaluation.measures.symmetric_game import SymmetricGame
from training.board.ppo import Progress, train
from training.errors import TrainingError
from training.population.config import PopulationConfig
from training.population.exact_oracle import Plans, imitate_plans, is_checkpoint
from training.population.meta import as_policy, solve
from training.population.portfolio import attacked
from training.population.table import Seating, payoffs, play_seatings, seatings_of
from training.run_folder import CONFIG, OTHERWISE, difference, read_config, replaced, unwritable, write_config
from welfare_env.board.loading import load_board

TABLE, STEPS = "table.json", "steps.jsonl"
BEST, BEGIN = "best", "begin"


@dataclass(frozen=True, repr=False)
class Step:
    """A population after `step` best responses.

    Attributes:
        step: number of best responses. policies: all policies so far.
        mix: policy -> share, for positive shares.
        payoff: mean points per year when all players draw from the mix; `regret`: the gain over it of the best policy
            in the population; both by the table.
        gap: exact gain per year of the best deviator in its best seat; `mean_gap`: the mean over seats. None if
            unknown, for the reason in `why`.
        welfare: exact mean points of a power per year; None if unknown.
        attack: if the gap is unknown, the portfolio's gain (`training.population.portfolio.PortfolioGain`).
        seats: power -> points, best response and positions searched.
    """

    step: int
    policies: tuple[str, ...]
    mix: dict[str, float]
    payoff: float
    regret: float
    gap: float | None = None
    mean_gap: float | None = None
    welfare: float | None = None
    why: str = ""
    seats: dict[str, dict[str, float]] = field(default_factory=dict)
    attack: dict[str, Any] | None = None

    def __repr__(self) -> str:
        gap = "unknown" if self.gap is None else f"{self.gap:.3f}"
        return f"<Step {self.step}: {len(self.policies)} policies, payoff {self.payoff:.3f}, exact gap {gap}>"

    def row(self, seed: int) -> Row:
        """A row of the table "population" of docs/results.md."""
        attack = self.attack or {}
        known = {name: getattr(self, name) for name in ("gap", "mean_gap", "welfare")}
        return {
            "step": self.step,
            "seed": seed,
            "policies": len(self.policies),
            "mix": self.text,
            "payoff": self.payoff,
            "regret": self.regret,
            **{name: math.nan if value is None else value for name, value in known.items()},
            "why": self.why,
            **{f"attack_{name}": attack.get(name, math.nan) for name in ("gain", "low", "high", "games")},
        }

    @property
    def text(self) -> str:
        """The mix as a policy spec."""
        return as_policy(self.mix)


def train_population(
    config: PopulationConfig,
    on_step: Callable[[Step], None] = lambda step: None,
    on_progress: Callable[[int, Progress], None] = lambda step, progress: None,
) -> list[Step]:
    """Train a population, resume it, or extend it.

    Args:
        on_step: called with each step once it is measured, including steps loaded from the folder.
        on_progress: called after every iteration of the step's training. If it raises KeyboardInterrupt, the training
            is saved first.

    Returns:
        The steps, one more than best responses: the last one is the mix of the whole population.

    Raises:
        UnknownMapError: no such map.
        TrainingError: the folder holds another population, or cannot be written. Others as `training.train`.
    """
    load_board(config.map_name)  # an unknown map leaves no folder behind
    if config.oracle == "exact" and not config.is_toy:
        raise TrainingError(f"oracle='exact': armies can be convoyed on {config.map_name}; give oracle='train'")
    _prepare(config)
    known = {step.step: step for step in _read_steps(config.folder)}
    steps: list[Step] = []
    for number in range(config.steps + 1):
        policies = (*config.first, *(_response(config, before) for before in range(1, number + 1)))
        step, plans = (known[number], None) if number in known else _measured(config, number, policies)
        steps.append(step)
        if number not in known:
            _write_steps(config.folder, [*steps, *(known[later] for later in sorted(known) if later > number)])
        on_step(step)
        if number < config.steps:
            _train(config, step, plans, on_progress)
    return steps


def _prepare(config: PopulationConfig) -> None:
    """Make the folder, or check that it holds this population.

    Raises:
        TrainingError: the folder holds another training, or cannot be written.
    """
    folder, values = config.folder, config.to_dict()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not (folder / CONFIG).exists()
    except OSError as error:
        raise unwritable(folder, error) from error
    if not is_new:
        kind, there = read_config(folder)
        if kind != "population":
            raise TrainingError(
                f"{shown(folder)} holds a training of another kind ({kind}): give another folder (--out)"
            )
        names = [name for name in {**values, **there} if name not in config.free]
        other = [name for name in names if there.get(name) != values.get(name)]
        if other:
            changes = ", ".join(difference(name, there.get(name), values.get(name)) for name in sorted(other))
            raise TrainingError(f"{shown(folder)} holds another training: {changes}. {OTHERWISE}")
    write_config(folder, "population", values)


def _response(config: PopulationConfig, step: int) -> str:
    """The spec of a step's best response: the best iterate by held-out reports."""
    return f"rl:({config.response_folder(step) / BEST}),greedy=yes"


def _train(
    config: PopulationConfig, step: Step, plans: Plans | None, on_progress: Callable[[int, Progress], None]
) -> None:
    """Train the next best response, unless it is finished.

    Args:
        plans: the exact best responses, if they are known.
    """
    number = step.step + 1
    start = None
    if config.oracle == "exact" and not step.why:
        start = config.response_folder(number) / BEGIN
        if not is_checkpoint(start):
            imitate_plans(config, number, plans or _with_gap(config, step)[1], start)
    train(config.response(number, step.text, start), lambda progress: on_progress(number, progress))


# Measuring a step.


def _measured(config: PopulationConfig, number: int, policies: tuple[str, ...]) -> tuple[Step, Plans]:
    """Measure a step: the table, the mix and its exploitability. Returns also the exact best responses."""
    points = _table(config, policies)
    game = SymmetricGame.of(policies, payoffs(points, len(policies)))
    mix = solve(game, config.solver)
    named = {policy: share for policy, share in zip(policies, mix.tolist(), strict=True) if share}
    step = Step(number, policies, named, float(mix @ game.payoffs(mix)), float(game.regret(mix)))
    if config.folder.exists():
        _draw(config.folder / f"payoffs-{number}.png", game.payoffs(np.eye(len(policies))), mix, step)
    return _with_gap(config, step)


def _with_gap(config: PopulationConfig, step: Step) -> tuple[Step, Plans]:
    """The step with its exact exploitability, and the best responses; if that is infeasible, with an attack."""
    why = "" if config.is_toy else f"armies can be convoyed on {config.map_name}"
    if not why:
        try:
            found = exploitability(config.map_name, step.text, config.years, max_positions=config.max_positions)
        except EvaluationError as error:
            why = str(error)
    if why:
        return replace(step, why=why, attack=attacked(config, step.mix).to_dict()), {}
    seats = {
        power: {"points": found.points[power], "best": one.value, "positions": one.positions}
        for power, one in found.responses.items()
    }
    gains = [one.gain_per_year for one in found.responses.values()]
    measured = replace(step, gap=found.gap, mean_gap=float(np.mean(gains)), welfare=found.welfare, seats=seats)
    return measured, {power: one.plan for power, one in found.responses.items()}


def _table(config: PopulationConfig, policies: tuple[str, ...]) -> dict[Seating, list[float]]:
    """Points per year by seating; missing seatings are played."""
    path = config.folder / TABLE
    points = _read_table(path)
    wanted = list(seatings_of(len(policies), len(load_board(config.map_name).powers)))
    missing = [seating for seating in wanted if seating not in points]
    played = play_seatings(config, policies, missing)
    points |= dict(zip(missing, played.tolist(), strict=True))
    with replaced(path) as draft:
        draft.write_text(json.dumps([[*map(list, entry)] for entry in points.items()]))
    return {seating: points[seating] for seating in wanted}


def _read_table(path: Path) -> dict[Seating, list[float]]:
    """The payoffs played so far; empty if the file is missing or damaged."""
    try:
        return {tuple(seating): list(paid) for seating, paid in parse_json(read_file(path))}
    except (OSError, ValueError, TypeError):
        return {}


def _read_steps(folder: Path) -> list[Step]:
    """The steps measured so far.

    Raises:
        TrainingError: the file is damaged.
    """
    path = folder / STEPS
    try:
        lines = read_file(path).decode().splitlines() if path.exists() else []
        return [Step(**{**(line := parse_json(text)), "policies": tuple(line["policies"])}) for text in lines]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrainingError(f"{shown(path)} is damaged or not the steps of a population: {reason(error)}") from error


def _write_steps(folder: Path, steps: list[Step]) -> None:
    with replaced(folder / STEPS) as draft:
        draft.write_text("".join(json.dumps(asdict(step)) + "\n" for step in steps))


def _draw(path: Path, table: np.ndarray, mix: np.ndarray, step: Step) -> None:
    """Draw the picture of a step, if matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return
    from training.population.pictures import draw_payoffs

    figure = draw_payoffs(table, mix, [name_of(policy) for policy in step.policies])
    with replaced(path) as draft:
        figure.savefig(draft, format="png", dpi=130)


def name_of(policy: str) -> str:
    """A short name of a policy for tables and pictures."""
    folder = Path(policy.removeprefix("rl:(").partition(")")[0])
    is_ours = policy.startswith("rl:(") and folder.name == BEST and folder.parent.name.startswith("response-")
    return folder.parent.name.replace("-", " ") if is_ours else policy
