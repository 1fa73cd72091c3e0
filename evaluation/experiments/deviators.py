"""Who deviates: one policy or several, and the portfolio that comes with the package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agents import CoalitionPolicy, DumbBotPolicy, ExploiterPolicy
from agents.specs import PolicyLike, Profile, Spec, as_given, read
from evaluation.checks import EvaluationError
from evaluation.play.setting import Setting
from evaluation.play.turns import NO_COALITION
from welfare_env.checks import shown
from welfare_env.errors import WelfareEnvError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

PORTFOLIO = "portfolio"
"""What stands for all deviators that come with the package."""

LEARNED = ("rl:best-response",)  # best responses that come with the package
MOST = 100

Deviators = PolicyLike | Sequence[PolicyLike]


@dataclass(frozen=True)
class Deviator:
    """A way to leave a profile.

    Attributes:
        name: how results quote it.
        attackers: policy of the profile -> what plays in its seat instead.
    """

    name: str
    attackers: dict[Spec, Spec]

    @property
    def policies(self) -> tuple[Spec, ...]:
        """All that play."""
        return tuple(dict.fromkeys(self.attackers.values()))


def read_deviators(deviator: Deviators | None, profile: Profile, name: str, setting: Setting) -> tuple[Deviator, ...]:
    """The deviators that are meant, without repetition.

    Args:
        deviator: a policy, "portfolio" for those that come with the package, or a list in which both may stand; None
            for the paper's exploiter.
        profile, name: what they leave, and how results quote it.

    Raises:
        UnknownAgentError: a policy that does not exist.
        EvaluationError: an empty list, or one of more than 100.
    """
    if deviator is None:
        return (_exploiter(profile, name),)
    if not isinstance(deviator, list | tuple):
        given: Sequence[PolicyLike] = [deviator]  # type: ignore[list-item]
    elif 1 <= len(deviator) <= MOST:
        given = deviator
    else:
        raise EvaluationError(f"deviator={shown(deviator)}: give one policy at least, and {MOST} at most")
    found: list[Deviator] = []
    for each in given:
        found += (
            portfolio(profile, name, setting)
            if isinstance(each, str) and each == PORTFOLIO
            else [_everywhere(each, profile)]
        )
    return tuple(_distinct(found))


def portfolio(profile: Profile, name: str, setting: Setting) -> list[Deviator]:
    """The deviators that come with the package, but for one that is itself the whole profile.

    The paper's exploiter; the exploiter by a prompt, where a language model plays; best responses that were trained and
    fit the game (`left_out` says which do not); prosocial, which gains where others disarm too little; and dumbbot.
    """
    without = left_out(setting)
    learned = [text for text in LEARNED if text not in without]
    plain = [_everywhere(text, profile) for text in (*learned, "prosocial", "dumbbot")]
    found = [_exploiter(profile, name), *_prompted(profile), *plain]
    return [each for each in found if any(policy != attacker for policy, attacker in each.attackers.items())]


def left_out(setting: Setting) -> dict[str, str]:
    """The learned deviators that the portfolio is without, and why: torch is not installed, or they do not fit."""
    if not (find_spec("torch") and find_spec("safetensors")):
        return dict.fromkeys(LEARNED, "it needs the extra rl: in the clone, pip install -e '.[rl]'")
    return {text: "it does not play on this map by these rules" for text in LEARNED if not _fits(text, setting)}


def check_coordinated(deviators: Sequence[Deviator], models: SharedModels | None) -> None:
    """That each deviator can play a whole coalition as one object.

    Raises:
        EvaluationError: one cannot.
    """
    for each in deviators:
        if len(each.policies) > 1:
            raise EvaluationError(f"deviator {each.name}: it differs from seat to seat, so no one can play all of them")
        if not isinstance(each.policies[0].make(models), CoalitionPolicy):
            raise EvaluationError(f"deviator {each.name}: {NO_COALITION}")


def default_deviator(policy: str) -> str:
    """The paper's exploiter of a policy, by its text."""
    return f"exploiter:nice=({policy}),attack=dumbbot"


def exploiter_of(policy: Spec) -> Spec:
    """The paper's exploiter of a policy."""
    if policy.is_named:
        return read(default_deviator(policy.text))

    def make(models: SharedModels | None) -> ExploiterPolicy:
        return ExploiterPolicy(nice=policy.make(models), attack=DumbBotPolicy())

    return Spec(default_deviator(policy.text), make, unnamed=policy.unnamed)


def _exploiter(profile: Profile, name: str) -> Deviator:
    """The paper's exploiter, each of the policy in whose seat it sits."""
    attackers = {policy: exploiter_of(policy) for policy in profile.policies}
    return Deviator(default_deviator("POLICY" if profile.is_mixed else name), attackers)


def _prompted(profile: Profile) -> list[Deviator]:
    """The language models of a profile with the exploiter's prompt; the first of them where another policy plays."""
    models = [policy for policy in profile.policies if policy.text.startswith("lm:")]
    if not models:
        return []
    prompted = {policy: prompted_exploiter(policy) for policy in models}
    attackers = {policy: prompted.get(policy, prompted[models[0]]) for policy in profile.policies}
    return [Deviator(" or ".join(dict.fromkeys(spec.text for spec in prompted.values())), attackers)]


def prompted_exploiter(policy: Spec) -> Spec:
    """A language model as it is, but with the paper's exploiter's prompt."""
    parts = policy.text.split(",")
    return read(",".join([*(part for part in parts if not part.startswith("flavour=")), "flavour=exploiter"]))


def _fits(text: str, setting: Setting) -> bool:
    """Whether a learned player plays on this board by these rules."""
    policy: Any = read(text).make()
    try:
        policy.network_for(setting.board, setting.played)
    except WelfareEnvError:
        return False
    return True


def _everywhere(policy: PolicyLike, profile: Profile) -> Deviator:
    spec = read(policy)
    return Deviator(as_given(policy, spec), dict.fromkeys(profile.policies, spec))


def _distinct(deviators: Iterable[Deviator]) -> Iterator[Deviator]:
    """Without those that play the same; those that only have the same name get a number."""
    seen: list[dict[Spec, Spec]] = []
    names: dict[str, int] = {}
    for each in deviators:
        if each.attackers not in seen:
            seen.append(each.attackers)
            names[each.name] = count = names.get(each.name, 0) + 1
            yield Deviator(f"{each.name} #{count}", each.attackers) if count > 1 else each
