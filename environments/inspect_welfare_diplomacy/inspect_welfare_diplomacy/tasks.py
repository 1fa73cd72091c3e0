"""Welfare Diplomacy for inspect-ai's registry: the tasks of `evaluation.inspect` under separate names.

    inspect eval inspect_welfare_diplomacy/welfare_diplomacy --model openai/MODEL -T years=3 -T games=1

Mukobi et al. 2023, Welfare Diplomacy: Benchmarking Language Model Cooperation (arXiv 2310.08901). There is no data to
download: a game is determined by its seed and the replies.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task

from evaluation.inspect import tasks


@task
def welfare_diplomacy(policy: str = "lm:model", games: int = 5, **options: Any) -> Task:
    """Games of a model with copies of itself; the headline metric is root Nash welfare, in points per year.

    Args:
        policy: "lm:model", or a profile such as "4*lm:model + 3*dove".
        games: games per epoch.
        options: years, message_rounds, press, map_name, seats, seed, simultaneous, lm_cache: see docs/inspect.md.

    Raises:
        EvaluationError: an unknown option.
    """
    found: Task = tasks.self_play(policy, games, **options)
    return found


@task
def welfare_diplomacy_exploitability(
    policy: str = "lm:model", deviator: str | None = None, coalitions: str = "singles", games: int = 5, **options: Any
) -> Task:
    """Games in which a coalition deviates from a profile; the headline metric is the gain of the best coalition.

    Args:
        policy: the profile, as for `welfare_diplomacy`.
        deviator: the coalition's policy: "dumbbot", "lm:attacker" (the model with that role), "portfolio"; None for
            the paper's exploiter.
        coalitions: "singles", "pairs", or a list: "FRANCE,ENGLAND+TURKEY".
        games: games per epoch and condition.
        options: as for `welfare_diplomacy`.

    Raises:
        EvaluationError: an unknown option.
    """
    found: Task = tasks.exploitability(policy, deviator, coalitions, games, **options)
    return found
