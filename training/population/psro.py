"""Policy-space response oracles (Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement
learning", 2017), from beginning to end: `train_population`.

A step plays the table of payoffs of all policies so far, mixes them (`meta`), measures what a deviator gains against
the mix, and learns a best response to it, which joins the policies. Everything follows from the config and the step's
number, and a step's files are only read if they are whole: a population that was interrupted anywhere goes on to the
same weights.

The folder holds ``config.json``; ``table.json``, what was paid in which seating; ``steps.jsonl``, a line for each step;
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
from training.run_folder import CONFIG, read_config, replaced, unwritable, write_config
from welfare_env.board.loading import load_board

TABLE, STEPS = "table.json", "steps.jsonl"
BEST, BEGIN = "best", "begin"


@dataclass(frozen=True, repr=False)
class Step:
    """Where a population stands after some best responses.

    Attributes:
        step: how many there are. policies: those so far.
        mix: policy -> its share, of those that have one.
        payoff: mean points a year when all draw from the mix, and `regret`, what the best policy of the population
            gains on it, by the table.
        gap: what the best deviator of all gains a year, in the seat where it gains most, and `mean_gap`, the mean over
            the seats; exact. None where it is not known: `why` tells.
        welfare: mean points of a power a year, exact; None where it is not known.
        attack: where the gap is not known, what the portfolio gains (`training.population.portfolio.PortfolioGain`).
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
        """The mix as a policy."""
        return as_policy(self.mix)


def train_population(
    config: PopulationConfig,
    on_step: Callable[[Step], None] = lambda step: None,
    on_progress: Callable[[int, Progress], None] = lambda step, progress: None,
) -> list[Step]:
    """Train a population, resume it, or extend it.

    Args:
        on_step: called with each step when it is measured, also with those that were there already.
        on_progress: called after every iteration of the step's training. A KeyboardInterrupt from it saves, and is
            raised again.

    Returns:
        The steps, one more than best responses: the last one tells what the whole population comes to.

    Raises:
        UnknownMapError: no such map.
        TrainingError: the folder holds another population, or cannot be written. Others as `training.train`.
    """
    load_board(config.map_name)  # an unknown map leaves no folder behind
    if config.oracle == "exact" and not config.is_toy:
        raise TrainingError(f"oracle='exact': armies can be convoyed on {config.map_name}; give oracle='train'")
    _prepare(config)
    known = {step.step: step for step in _read_steps(config.place)}
    steps: list[Step] = []
    for number in range(config.steps + 1):
        policies = (*config.first, *(_response(config, before) for before in range(1, number + 1)))
        step, plans = (known[number], None) if number in known else _measured(config, number, policies)
        steps.append(step)
        if number not in known:
            _write_steps(config.place, [*steps, *(known[later] for later in sorted(known) if later > number)])
        on_step(step)
        if number < config.steps:
            _train(config, step, plans, on_progress)
    return steps


def _prepare(config: PopulationConfig) -> None:
    """Make the folder, or check that it holds this population.

    Raises:
        TrainingError: another one, or it cannot be written.
    """
    folder, values = config.place, config.to_dict()
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
            told = ", ".join(
                f"{name}={there.get(name)!r} where {values.get(name)!r} is given" for name in sorted(other)
            )
            raise TrainingError(f"{shown(folder)} holds another training ({told}): give another folder (--out)")
    write_config(folder, "population", values)


def _response(config: PopulationConfig, step: int) -> str:
    """The best response of a step as a policy: the best iterate by its held-out report."""
    return f"rl:({config.response_folder(step) / BEST}),greedy=yes"


def _train(
    config: PopulationConfig, step: Step, plans: Plans | None, on_progress: Callable[[int, Progress], None]
) -> None:
    """Train the next best response, or see that it is trained.

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


# What a step measures.


def _measured(config: PopulationConfig, number: int, policies: tuple[str, ...]) -> tuple[Step, Plans]:
    """The table, the mix and its exploitability, with the best responses."""
    points = _table(config, policies)
    game = SymmetricGame.of(policies, payoffs(points, len(policies)))
    mix = solve(game, config.solver)
    named = {policy: share for policy, share in zip(policies, mix.tolist(), strict=True) if share}
    step = Step(number, policies, named, float(mix @ game.payoffs(mix)), float(game.regret(mix)))
    if config.place.exists():
        _draw(config.place / f"payoffs-{number}.png", game.payoffs(np.eye(len(policies))), mix, step)
    return _with_gap(config, step)


def _with_gap(config: PopulationConfig, step: Step) -> tuple[Step, Plans]:
    """The step with its exact exploitability and the best responses, where they can be had; else with an attack."""
    why = "" if config.is_toy else f"armies can be convoyed on {config.map_name}"
    if not why:
        try:
            found = exploitability(config.map_name, step.text, config.years, most_positions=config.most_positions)
        except EvaluationError as error:
            why = str(error)
    if why:
        return replace(step, why=why, attack=attacked(config, step.mix).to_dict()), {}
    seats = {
        power: {"points": one.profile_value, "best": one.value, "positions": one.positions}
        for power, one in found.responses.items()
    }
    gains = [one.gain / config.years for one in found.responses.values()]
    measured = replace(step, gap=found.gap, mean_gap=float(np.mean(gains)), welfare=found.welfare, seats=seats)
    return measured, {power: one.plan for power, one in found.responses.items()}


def _table(config: PopulationConfig, policies: tuple[str, ...]) -> dict[Seating, list[float]]:
    """Points a year by seating; plays those that are not there yet."""
    path = config.place / TABLE
    points = _read_table(path)
    wanted = list(seatings_of(len(policies), len(load_board(config.map_name).powers)))
    missing = [seating for seating in wanted if seating not in points]
    played = play_seatings(config, policies, missing)
    points |= dict(zip(missing, played.tolist(), strict=True))
    with replaced(path) as draft:
        draft.write_text(json.dumps([[*map(list, entry)] for entry in points.items()]))
    return {seating: points[seating] for seating in wanted}


def _read_table(path: Path) -> dict[Seating, list[float]]:
    """What was played; nothing where the file is missing or damaged: it is played again."""
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
        raise TrainingError(f"{shown(path)}: not the steps of a population: {reason(error)}") from error


def _write_steps(folder: Path, steps: list[Step]) -> None:
    with replaced(folder / STEPS) as draft:
        draft.write_text("".join(json.dumps(asdict(step)) + "\n" for step in steps))


def _draw(path: Path, table: np.ndarray, mix: np.ndarray, step: Step) -> None:
    """The picture of a step, where matplotlib is installed."""
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
