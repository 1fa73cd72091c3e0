"""Deviators: one or more policies, and the package's portfolio of deviators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from agents import DumbBotPolicy, ExploiterPolicy
from agents.specs import PolicyLike, Profile, Spec, as_given, read
from evaluation.checks import EvaluationError
from evaluation.play.game_spec import Setting
from welfare_env.checks import quoted
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

PORTFOLIO = "portfolio"
"""The name for all deviators of the package."""

POLICY = "{policy}"
"""In a deviator's spec: a placeholder for the replaced policy of the profile."""

TEMPLATE = f"exploiter:nice={POLICY},attack=dumbbot"
"""The paper's exploiter of the replaced policy."""

LEARNED = ("rl:best-response",)  # trained best responses shipped with the package
MAX = 100

Deviators = PolicyLike | Sequence[PolicyLike]


@dataclass(frozen=True)
class Deviator:
    """A deviation from a profile.

    Attributes:
        name: name in results.
        attackers: policy of the profile -> the policy that replaces it.
        template: a spec for all attackers if they differ; may contain {policy}.
    """

    name: str
    attackers: dict[Spec, Spec]
    template: str = PORTFOLIO

    @property
    def policies(self) -> tuple[Spec, ...]:
        """All policies of the deviator, without repetition."""
        return tuple(dict.fromkeys(self.attackers.values()))

    @property
    def given(self) -> str:
        """A spec that `read_deviators` parses to this deviator, or "portfolio" if no single spec does."""
        return self.policies[0].text if len(self.policies) == 1 else self.template


def read_deviators(deviator: Deviators | None, profile: Profile, name: str, setting: Setting) -> tuple[Deviator, ...]:
    """Parse the `deviator` argument, without repetition.

    Args:
        deviator: as for `evaluation.exploitability`. In a spec, {policy} stands for the replaced policy.
        profile, name: the profile to deviate from, and its name in results.

    Raises:
        UnknownAgentError: an unknown policy.
        EvaluationError: an empty list, or more than 100 deviators.
    """
    if deviator is None:
        return (_exploiter(profile, name),)
    if not isinstance(deviator, list | tuple):
        given: Sequence[PolicyLike] = [deviator]  # type: ignore[list-item]
    elif 1 <= len(deviator) <= MAX:
        given = deviator
    else:
        raise EvaluationError(f"deviator={quoted(deviator)}: give 1 to {MAX} policies")
    found: list[Deviator] = []
    for each in given:
        if isinstance(each, str) and each == PORTFOLIO:
            found += portfolio(profile, name, setting)
        elif isinstance(each, str) and POLICY in each:
            attackers = {policy: read(filled(each, policy.text)) for policy in profile.policies}
            found.append(Deviator(filled(each, "POLICY" if profile.is_mixed else name), attackers, each))
        else:
            found.append(_everywhere(each, profile))
    return tuple(_distinct(found))


def filled(deviator: str, policy: str) -> str:
    """A deviator's spec with {policy} replaced by the given policy."""
    return deviator.replace(POLICY, f"({policy})")


def portfolio(profile: Profile, name: str, setting: Setting) -> list[Deviator]:
    """The deviators of the package, except any that is identical to the profile.

    These are the paper's exploiter; the profile's language models with the exploiter's prompt; trained best responses
    that fit the game (`left_out` lists the others); prosocial, which gains if others disarm too little; and dumbbot.
    """
    without = left_out(setting)
    learned = [text for text in LEARNED if text not in without]
    plain = [_everywhere(text, profile) for text in (*learned, "prosocial", "dumbbot")]
    found = [_exploiter(profile, name), *_prompted(profile), *plain]
    return [each for each in found if any(policy != attacker for policy, attacker in each.attackers.items())]


def left_out(setting: Setting) -> dict[str, str]:
    """Learned deviator missing from the portfolio -> reason: torch is not installed, or it does not fit the game."""
    if not (find_spec("torch") and find_spec("safetensors")):
        return dict.fromkeys(LEARNED, f"it needs {install_extra('rl')}")
    return {text: "it was trained for another map or other rules" for text in LEARNED if not _fits(text, setting)}


def portfolio_notes(deviator: object, setting: Setting) -> tuple[str, ...]:
    """A note for each deviator missing from the portfolio, if it is among the given deviators."""
    given = deviator if isinstance(deviator, list | tuple) else [deviator]
    if not any(isinstance(each, str) and each == PORTFOLIO for each in given):
        return ()
    return tuple(f"the portfolio lacks {text}: {why}" for text, why in left_out(setting).items())


def default_deviator(policy: str) -> str:
    """The spec of the paper's exploiter of a policy."""
    return filled(TEMPLATE, policy)


def exploiter_of(policy: Spec) -> Spec:
    """The paper's exploiter of a policy."""
    if policy.is_named:
        return read(default_deviator(policy.text))

    def make(models: SharedModels | None) -> ExploiterPolicy:
        return ExploiterPolicy(nice=policy.make(models), attack=DumbBotPolicy())

    return Spec(default_deviator(policy.text), make, unnamed=policy.unnamed)


def _exploiter(profile: Profile, name: str) -> Deviator:
    """The paper's exploiter; in each seat it first plays the policy it replaces."""
    attackers = {policy: exploiter_of(policy) for policy in profile.policies}
    return Deviator(default_deviator("POLICY" if profile.is_mixed else name), attackers, TEMPLATE)


def _prompted(profile: Profile) -> list[Deviator]:
    """The profile's language models with the exploiter's prompt; the first of them also replaces other policies."""
    models = [policy for policy in profile.policies if policy.text.startswith("lm:")]
    if not models:
        return []
    prompted = {policy: prompted_exploiter(policy) for policy in models}
    attackers = {policy: prompted.get(policy, prompted[models[0]]) for policy in profile.policies}
    return [Deviator(" or ".join(dict.fromkeys(spec.text for spec in prompted.values())), attackers)]


def prompted_exploiter(policy: Spec) -> Spec:
    """The same language model with the prompt of the paper's exploiter."""
    parts = policy.text.split(",")
    return read(",".join([*(part for part in parts if not part.startswith("flavour=")), "flavour=exploiter"]))


def _fits(text: str, setting: Setting) -> bool:
    """Whether a learned player fits this board and these rules."""
    from agents.rl import checkpoint

    try:
        for folder in read(text).checkpoints:
            checkpoint.load(folder).rules_of_play(setting.board, setting.played)
    except checkpoint.CheckpointError:
        return False
    return True


def _everywhere(policy: PolicyLike, profile: Profile) -> Deviator:
    spec = read(policy)
    return Deviator(as_given(policy, spec), dict.fromkeys(profile.policies, spec))


def _distinct(deviators: Iterable[Deviator]) -> Iterator[Deviator]:
    """Drop duplicate deviators, and number different deviators with the same name."""
    seen: list[dict[Spec, Spec]] = []
    names: dict[str, int] = {}
    for each in deviators:
        if each.attackers not in seen:
            seen.append(each.attackers)
            names[each.name] = count = names.get(each.name, 0) + 1
            yield replace(each, name=f"{each.name} #{count}") if count > 1 else each
