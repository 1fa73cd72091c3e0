"""The tasks, found by inspect as ``inspect_welfare_diplomacy/NAME``. See docs/inspect.md.

    inspect eval inspect_welfare_diplomacy/welfare_diplomacy --model openai/MODEL -T years=3 -T games=1

Mukobi et al. 2023, Welfare Diplomacy: Benchmarking Language Model Cooperation (arXiv 2310.08901). There is no data to
download: a game is determined by its seed and the replies.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from agents.specs import listed
from evaluation import EvaluationError, Setting
from inspect_welfare_diplomacy.scoring import gains, means, measures
from inspect_welfare_diplomacy.solver import Games, game
from welfare_env import Rules
from welfare_env.errors import did_you_mean

LM_CACHE = "runs/replies.sqlite"
"""The same file as for the commands of `welfare-env`."""

Texts = str | Sequence[str]
"""A string; inspect splits command-line strings at commas."""


@task
def welfare_diplomacy(
    policy: Texts = "lm:model",
    games: int = 5,
    years: int = 10,
    message_rounds: int = 3,
    press: str | None = "text",
    map_name: str = "standard",
    seats: str = "rotated",
    seed: int = 0,
    simultaneous: bool = True,
    lm_cache: str | None = LM_CACHE,
    **others: Any,
) -> Task:
    """Games of one policy in all seats, or of a profile; the headline metric is root Nash welfare, in points per year.

    Args:
        policy: "lm:model" is inspect's model for the role with the power's name (france) or, without such a role, the
            model of the evaluation; "lm:ROLE" is the model of a role. Options ("lm:model,schema=form") and profiles
            ("4*lm:model + 3*dove") as usual.
        games: number of games per epoch; n epochs play the same games as one epoch with n times as many.
        years, message_rounds, press, map_name: rules and map, as for `welfare_env.make`.
        seats: seats of a profile: "rotated", "fixed" or "drawn".
        seed: seed of the evaluation.
        simultaneous: all powers act at the same time; otherwise, as in the paper, one after the other, which takes
            seven times as long.
        lm_cache: file with cached replies; "" for none.
        others: refused, since inspect itself would only warn.

    Raises:
        EvaluationError: an unknown option.
    """
    _refuse(others, welfare_diplomacy)
    rules = Rules(years=years, message_rounds=message_rounds, press=press)
    setting = Setting(seed=seed, rules=rules, map_name=map_name, seats=seats, simultaneous=simultaneous)
    played = Games.of(_text(policy), games, setting)
    return _task(played, lm_cache, [means(seed)])


@task
def welfare_diplomacy_exploitability(
    policy: Texts = "lm:model",
    deviator: Texts | None = None,
    coalitions: Texts = "singles",
    games: int = 5,
    years: int = 10,
    message_rounds: int = 3,
    press: str | None = "text",
    map_name: str = "standard",
    seats: str = "rotated",
    seed: int = 0,
    simultaneous: bool = True,
    lm_cache: str | None = LM_CACHE,
    **others: Any,
) -> Task:
    """Games of a profile, and as many for every coalition that deviates; the headline metric is the best one's gain.

    Args:
        deviator: one or more policies for a coalition's members: "dumbbot", "lm:attacker" (the model of that role),
            "lm:model,flavour=exploiter", "portfolio"; None for the paper's exploiter.
        coalitions: "singles", "pairs", "all-singles", "all-pairs", or a list: "FRANCE,ENGLAND+TURKEY".
        games: number of games per epoch and condition.
        policy and all others: as for `welfare_diplomacy`.

    Raises:
        EvaluationError: an unknown option.
    """
    _refuse(others, welfare_diplomacy_exploitability)
    rules = Rules(years=years, message_rounds=message_rounds, press=press)
    setting = Setting(seed=seed, rules=rules, map_name=map_name, seats=seats, simultaneous=simultaneous)
    # inspect may have split the policies at commas
    tried = deviator if deviator is None else [deviator] if isinstance(deviator, str) else listed(",".join(deviator))
    played = Games.of(_text(policy), games, setting, tried, _coalitions(coalitions))
    return _task(played, lm_cache, [gains(seed)])


def _refuse(others: dict[str, Any], made: Any) -> None:
    others.pop("model", None)  # inspect may pass it to any task
    known = [name for name in inspect.signature(made).parameters if name != "others"]
    for name in others:
        near = did_you_mean(name, known)
        raise EvaluationError(f"unknown option {name!r}{near}; the options for -T are {', '.join(known)}")


def _task(games: Games, lm_cache: str | None, metrics: Any) -> Task:
    samples = [
        Sample(
            f"Game {number + 1}: {games.policy}" + (f", but {' and '.join(who)}: {deviator}" if who else ""),
            id="-".join([*who, deviator, str(number + 1)] if who else [str(number + 1)]),
            metadata={"game": number, "deviator": deviator, "coalition": list(who)},
        )
        for number in range(games.games)
        for deviator, who in (each.attack for each in games.attacks)
    ]
    return Task(MemoryDataset(samples), solver=game(games, lm_cache), scorer=measures(), metrics=metrics)


def _text(policy: Texts) -> str:
    return policy if isinstance(policy, str) else ",".join(policy)


def _coalitions(given: Texts) -> Any:
    parts = given.split(",") if isinstance(given, str) else list(given)
    if len(parts) == 1 and not parts[0].isupper():
        return parts[0]
    return [part.strip().upper().split("+") for part in parts]
