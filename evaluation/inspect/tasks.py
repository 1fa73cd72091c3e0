"""The tasks: ``evaluation/self_play`` and ``evaluation/exploitability``. See docs/inspect.md."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.util import registry_info

from agents.specs import listed
from evaluation.checks import EvaluationError
from evaluation.inspect.scoring import gains, high, low, mean, measures
from evaluation.inspect.solver import Games, check_roles, game
from evaluation.play.game_settings import GameSettings
from welfare_env import Rules
from welfare_env.errors import did_you_mean

LM_CACHE = "runs/replies.sqlite"
"""The same file as for the commands of `welfare-env`."""

Texts = str | Sequence[str]
"""A string; inspect splits command-line strings at commas."""


def _setting(
    years: int = 10,
    message_rounds: int = 3,
    press: str | None = "text",
    map_name: str = "standard",
    seats: str = "rotated",
    seed: int = 0,
    simultaneous: bool = True,
) -> GameSettings:
    rules = Rules(years=years, message_rounds=message_rounds, press=press)
    return GameSettings(seed=seed, rules=rules, map_name=map_name, seats=seats, simultaneous=simultaneous)


def _registered(make: Callable[..., Task]) -> Any:
    """Register a task with inspect as evaluation/NAME, also if this package is installed from its source tree.

    Its `**options` are those of `_setting`. Unknown options raise an error (inspect itself would only warn).
    """
    *own, options = inspect.signature(make).parameters.values()
    others = inspect.signature(_setting).parameters.values()
    parameters = [*own, *(each.replace(kind=each.KEYWORD_ONLY) for each in others)]
    known = [parameter.name for parameter in parameters]

    @functools.wraps(make)
    def checked(*first: Any, **given: Any) -> Task:
        given.pop("model", None)  # inspect may pass it to any task
        for name in given:
            if name not in known:
                near = did_you_mean(name, known)
                raise EvaluationError(f"unknown option {name!r}{near}; the options for -T are {', '.join(known)}")
        return make(*first, **given)

    vars(checked)["__signature__"] = inspect.Signature([*parameters, options])
    found = task(checked)
    if registry_info(found).name == make.__name__:  # inspect did not recognize the package
        found = task(name=f"evaluation/{make.__name__}")(checked)
    return found


@_registered
def self_play(policy: Texts = "lm:model", games: int = 5, lm_cache: str | None = LM_CACHE, **options: Any) -> Task:
    """Games of one policy in all seats, or of a profile, with the measures of `evaluation.self_play`.

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

    Raises:
        EvaluationError: an unknown option.
        ConfigError: a role is named "model".
    """
    setting = _setting(**options)
    played = Games.of_self_play(_text(policy), games, setting)
    return _task(played, lm_cache, {"*": [mean(setting.seed), low(setting.seed), high(setting.seed)]})


@_registered
def exploitability(
    policy: Texts = "lm:model",
    deviator: Texts | None = None,
    coalitions: Texts = "singles",
    games: int = 5,
    lm_cache: str | None = LM_CACHE,
    **options: Any,
) -> Task:
    """Games of self-play, and as many for every coalition that deviates, with gains as in `evaluation.exploitability`.

    Args:
        policy: the profile, as for `self_play`.
        deviator: one or more policies for a coalition's members: "dumbbot", "lm:attacker" (the model of that role),
            "lm:model,flavour=exploiter", "portfolio"; None for the paper's exploiter.
        coalitions: "singles", "pairs", "all-singles", "all-pairs", or a list: "FRANCE,ENGLAND+TURKEY".
        games: number of games per epoch and condition.
        years, message_rounds, press, map_name, seats, seed, simultaneous, lm_cache: as for `self_play`.

    Raises:
        EvaluationError, ConfigError: as for `self_play`.
    """
    setting = _setting(**options)
    tried = None if deviator is None else _specs(deviator)
    played = Games.of_exploitability(_text(policy), games, setting, tried, _coalitions(coalitions))
    return _task(played, lm_cache, [gains(setting.seed)])


def _task(games: Games, lm_cache: str | None, metrics: Any) -> Task:
    check_roles(games.policies)  # roles are known if the task was made from the command line, but not from Python
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


def _specs(given: Texts) -> list[str]:
    """The policies in a string that inspect may have split at commas."""
    return [given] if isinstance(given, str) else listed(",".join(given))


def _coalitions(given: Texts) -> Any:
    parts = given.split(",") if isinstance(given, str) else list(given)
    if len(parts) == 1 and not parts[0].isupper():
        return parts[0]
    return [part.strip().upper().split("+") for part in parts]
