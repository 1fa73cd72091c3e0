"""Specs from texts, classes, factories and instances; all names of policies, and how the text after each is read.

Your own policy is "import:mymodule.MyPolicy", with options "import:mymodule.MyPolicy,k=3". Whole numbers have at most 9
digits, other numbers at most 40 characters, and a mix at most 100 programs; for other limits see
`agents.specs.spec`.
"""

from __future__ import annotations

import copyreg
import inspect
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.human.policy import HumanPolicy
from agents.policy import Policy
from agents.rl import files_of
from agents.scripted.deterrents.deterrent import DETERRENTS, DeterrentPolicy
from agents.scripted.deterrents.posse import PossePolicy
from agents.scripted.deterrents.punish import PunishPolicy
from agents.scripted.dove import DovePolicy
from agents.scripted.dumbbot import DumbBotPolicy
from agents.scripted.exploiter import ExploiterPolicy
from agents.scripted.hold import FortressPolicy, HoldPolicy
from agents.scripted.mixture import MixturePolicy
from agents.scripted.noisy import NoisyPolicy
from agents.scripted.pact import PactPolicy
from agents.scripted.prosocial import ProsocialPolicy
from agents.scripted.punisher import PunisherPolicy
from agents.scripted.random import RandomPolicy
from agents.scripted.tit_for_tat import TitForTatPolicy
from agents.specs.options import LM_OPTIONS, READERS, Reader, folder, model, policy
from agents.specs.own import IMPORT_PATH, file_of, import_path, imported_spec, unnamed_spec
from agents.specs.spec import (
    DEEPEST,
    Folder,
    Spec,
    SpecFault,
    checked_text,
    error_of,
    halves,
    is_wrapped,
    split,
    unwrapped,
)
from welfare_env.errors import UnknownAgentError, did_you_mean
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

PolicyLike = str | Spec | Policy | type[Policy] | Callable[[], Policy]
"""A spec's text, a spec, an instance (copied for each seat and game), a class, or a function that makes one."""

BEST_REPLY = "agents.modal.players:BestReplyPolicy"
WRITERS = ("program", "mix", "best-reply")
"""Policies that write programs of modal_env; a mix of policies of Diplomacy does not."""


@dataclass(frozen=True)
class Keyed:
    """Policies with ``key=value`` options, by default the constructor's parameters (`agents.specs.options.READERS`).

    Attributes:
        constructor: called with the options by name; raises ValueError for values that it refuses. If its module loads
            many others, its place: "MODULE:NAME".
        first: key, usage and reader of what comes before the options, without a key; None if nothing does.
        options: key -> reader, in place of the constructor's parameters; the constructor takes `models`, too.
    """

    constructor: Callable[..., Policy] | str
    first: tuple[str, str, Reader] | None = None
    options: Mapping[str, Reader] | None = None

    @cached_property
    def _maker(self) -> Callable[..., Policy]:
        if not isinstance(self.constructor, str):
            return self.constructor
        module, _, name = self.constructor.partition(":")
        found: Callable[..., Policy] = getattr(import_module(module), name)
        return found

    @cached_property
    def readers(self) -> Mapping[str, Reader]:
        """Key -> reader of its value."""
        if self.options is not None:
            return self.options
        first = self.first[0] if self.first else ""
        found = {each.name: READERS.get(each.annotation) for each in self._parameters}
        return {name: reader for name, reader in found.items() if reader is not None and name != first}

    @cached_property
    def required(self) -> list[str]:
        """The keys that must be given; of the `options`, none."""
        if self.options is not None:
            return []
        needed = {each.name for each in self._parameters if each.default is each.empty}
        return [key for key in self.readers if key in needed]

    @property
    def _parameters(self) -> Collection[inspect.Parameter]:
        return inspect.signature(self._maker).parameters.values()

    @property
    def usage(self) -> str:
        """The text required after the name."""
        words = [self.first[1]] if self.first else []
        words += [f"{key}={'SPEC' if self.readers[key] is policy else '1'}" for key in self.required]
        return f":{','.join(words)}" if words else ""

    def read(self, name: str, rest: str, names: Collection[str], depth: int) -> Spec:
        """The spec of `name` with the options in `rest`."""
        pieces, given, words = split(rest), dict[str, Any](), list[str]()
        if self.first:
            piece = pieces.pop(0) if pieces else ""
            given[self.first[0]] = _value(self.first[2], piece, piece)
            words.append(_written(given[self.first[0]]))
        given |= self._options(pieces, depth)
        if missing := [key for key in self.required if key not in given]:
            raise SpecFault(rest, f"{' and '.join(missing)} missing; it {self._takes}")
        words += [f"{key}={_written(given[key])}" for key in self.readers if key in given]
        return Spec(f"{name}:{','.join(words)}" if words else name, lambda models: self._make(given, models), given)

    @property
    def _takes(self) -> str:
        inner = next((key for key, reader in self.readers.items() if reader is policy), None)
        wrap = f"; a spec with options of its own stands in parentheses: {inner}=(dove:share=1)" if inner else ""
        return f"takes {', '.join(self.readers) or 'no options'}{wrap}"

    def _options(self, pieces: Collection[str], depth: int) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for piece in pieces:
            key, value = halves(piece, "=")
            if key not in self.readers or "=" not in piece:
                near = did_you_mean(key, self.readers)
                raise SpecFault(piece, f"no option{near}; give key=value; it {self._takes}")
            if key in given:
                raise SpecFault(piece, f"the option is given twice; it {self._takes}")
            if self.readers[key] is not policy:
                given[key] = _value(self.readers[key], value, piece)
                continue
            given[key] = part = read_part(value, (), depth + 1)
            if part.name in WRITERS and not part.parts and self.constructor != BEST_REPLY:
                told = "it writes programs of modal_env, not orders: programs play in `welfare-env modal`"
                raise SpecFault(part.text, told)
        return given

    def _make(self, given: Mapping[str, Any], models: SharedModels | None) -> Policy:
        made = {key: value.make(models) if isinstance(value, Spec) else value for key, value in given.items()}
        return self._maker(**made) if self.options is None else self._maker(models=models, **made)


def _value(reader: Reader, text: str, piece: str) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise SpecFault(piece, str(error)) from error


def _written(value: Any) -> str:
    """The text of a value in a canonical spec."""
    if isinstance(value, Spec):
        return f"({value.text})" if ":" in value.text else value.text
    if isinstance(value, Folder):
        return f"({value})" if "," in value or is_wrapped(value) else str(value)
    if value is None or isinstance(value, bool):
        return {None: "never", True: "yes", False: "no"}[value]
    return str(value) if isinstance(value, str) else repr(value)


def _make_learned(path: str, greedy: bool | None = None) -> Policy:
    """A learned player; its module is imported only here, since torch is an extra.

    Raises:
        ValueError: not a checkpoint, or torch is not installed.
    """
    try:
        from agents.rl.exported import player_of
    except ImportError as error:
        raise ValueError(f"{error}: a learned player needs {install_extra('rl')}") from error
    return player_of(path, greedy)


class Unkeyed(NamedTuple):
    """Policies with other texts after their names: `usage`, and `read` as `Keyed.read`."""

    usage: str
    read: Callable[[str, str, Collection[str], int], Spec]


def _program(name: str, rest: str, names: Collection[str], depth: int) -> Spec:
    """A player of `modal_env`: "program:FairBot", "program:[]X(me)"; parsed when the player is made."""
    if not rest:
        raise SpecFault(rest, "give a program: a name such as FairBot, or a formula such as []X(me)")
    return Spec(f"{name}:{rest}", lambda models: _make_mix([(rest, 1)]))


def _mix(name: str, rest: str, names: Collection[str], depth: int) -> Spec:
    """A mixed strategy.

    Programs of `modal_env`, drawn in every round: "mix:FairBot=17/20,CooperateBot=1/10,PrudentBot=1/20"; or policies of
    Diplomacy, drawn once per game: "mix:dove=1/3,(rl:PATH,greedy=yes)=2/3", in parentheses if they have options.
    """
    shares = [_share(piece) for piece in split(rest) or [""]]
    if not all(_is_player(text, names) for text, _ in shares):
        text = ",".join(f"{program}={share}" for program, share in shares)
        return Spec(f"{name}:{text}", lambda models: _make_mix(shares))
    parts = [(read_part(text, names, depth + 1), share) for text, share in shares]
    return Spec(
        f"{name}:{','.join(f'{_written(part)}={share}' for part, share in parts)}",
        lambda models: MixturePolicy([(part.make(models), share) for part, share in parts]),
        parts=tuple((part, float(share)) for part, share in parts),
    )


def _make_mix(shares: Sequence[tuple[str, Fraction | int]]) -> Policy:
    from agents.modal.players import MixPolicy  # imports modal_env

    return MixPolicy(shares)


def _share(piece: str) -> tuple[str, Fraction]:
    from agents.modal.players import read_share

    part, _, share = piece.rpartition("=")
    try:
        return part.strip(), read_share(share.strip())
    except ValueError as error:
        raise SpecFault(piece, f"give PROGRAM=SHARE: {error}") from None


def _is_player(text: str, names: Collection[str]) -> bool:
    """Whether a part of a mix is a policy of Diplomacy; otherwise it is a program of modal_env."""
    name = text.lstrip("(").partition(":")[0].strip(" )")
    return name in names or (name in AGENTS and name not in WRITERS)


def read_part(text: str, names: Collection[str] = (), depth: int = 0) -> Spec:
    """The spec of a text within a spec.

    Args:
        names: names of players that are not policies, which the text may be, or mix.
        depth: how many specs enclose it.

    Raises:
        SpecFault: as `agents.specs.read`.
    """
    if depth == DEEPEST:
        raise SpecFault(text, f"more than {DEEPEST} levels of nested specs: nest fewer")
    text = unwrapped(text)
    name, rest = halves(text, ":")
    if name in AGENTS:
        return AGENTS[name].read(name, rest, names, depth)
    if text in names:
        return Spec(text, lambda models: _no_policy(text))
    known = sorted({*AGENTS, *names})
    near = did_you_mean(name, known)
    if re.fullmatch(IMPORT_PATH, text.partition(",")[0]):
        near = f" (did you mean 'import:{text:.80}'?)"
    raise SpecFault(name, f"unknown agent{near}; known are {', '.join(known)}. Your own: import:mymodule.MyPolicy")


def _no_policy(name: str) -> Policy:
    raise SpecFault(name, "it is not a policy by itself")


AGENTS: dict[str, Keyed | Unkeyed] = {
    "random": Keyed(RandomPolicy),
    "hold": Keyed(HoldPolicy),
    "prosocial": Keyed(ProsocialPolicy),
    "dumbbot": Keyed(DumbBotPolicy),
    "punisher": Keyed(PunisherPolicy),
    "dove": Keyed(DovePolicy),
    "exploiter": Keyed(ExploiterPolicy),
    "deterrent": Keyed(DeterrentPolicy),
    **{name: Keyed(made) for name, made in DETERRENTS.items()},
    "noisy": Keyed(NoisyPolicy),
    "fortress": Keyed(FortressPolicy),
    "tit-for-tat": Keyed(TitForTatPolicy),
    "pact": Keyed(PactPolicy),
    "posse": Keyed(PossePolicy),
    "punish": Keyed(PunishPolicy),
    "human": Keyed(HumanPolicy),
    "lm": Keyed("agents.lm.player.policy:make_player", ("name", "PROVIDER/MODEL", model), LM_OPTIONS),
    "rl": Keyed(_make_learned, ("path", "PATH", folder)),
    "import": Unkeyed(":MODULE.CLASS,KEY=VALUE,...", lambda name, rest, *_: imported_spec(name, split(rest))),
    "program": Unkeyed(":PROGRAM", _program),
    "mix": Unkeyed(":PROGRAM=SHARE,...", _mix),
    "plan": Keyed("agents.scripted.planner.planner:PlannerPolicy"),
    "campaign": Keyed("agents.scripted.planner.campaign:CampaignPolicy"),
    "best-reply": Keyed(BEST_REPLY),
}


def read(policy: PolicyLike, names: Collection[str] = ()) -> Spec:
    """The spec of a policy.

    A class of an importable module is named "import:MODULE.CLASS". A factory, an instance and any other class (defined
    in the running script, or in a function) have no name, since they cannot be imported.

    Args:
        names: names of players that are not policies. A text may be one of them, or a mix with it; such a spec cannot
            make a policy.

    Raises:
        UnknownAgentError: an unknown name; a missing, unknown, repeated or bad option; unbalanced parentheses; more
            than the limits allow (see `agents.specs.spec`); or not a policy. The message quotes the piece that is
            wrong and says what is possible there.
    """
    if isinstance(policy, Spec):
        return policy
    if isinstance(policy, type) and (path := import_path(policy)):
        policy = f"import:{path}"
    if not isinstance(policy, str) and (callable(policy) or isinstance(policy, Policy)):
        return unnamed_spec(policy)
    text = checked_text(policy)
    try:
        return read_part(text, names)
    except SpecFault as fault:
        raise error_of(text, fault) from fault


def make(spec: PolicyLike, models: SharedModels | None = None) -> Policy:
    """A new policy; `reset` it before it plays.

    Args:
        spec: a text (see `agents.specs.reading`), or a class, a factory or an instance, which is copied.
        models: the source of language models, with their budget and cache; None for a default source without either.

    Raises:
        UnknownAgentError: as `read` and `Spec.make`.
    """
    return read(spec).make(models)


def canonical(spec: PolicyLike) -> str:
    """The canonical text of a spec: without blanks or needless parentheses, options in a fixed sequence.

    So "(dove)" is "dove". Options that are left out are not added, even if their defaults are known.

    Raises:
        UnknownAgentError: as `read`; or the policy has no name.
    """
    found = read(spec)
    if not found.is_named:
        raise UnknownAgentError(f"{found.text}: it has no name. Give a class of an importable module, or a spec")
    return found.text


def listed(text: str, mark: str = ",") -> list[str]:
    """The specs between the marks; a piece such as "effort=high" belongs to the one before it.

    Raises:
        UnknownAgentError: a parenthesis is not closed, or the text is too long.
    """
    found: list[str] = []
    try:
        for piece in split(checked_text(text), mark):
            if found and re.match(r"\w+\s*=", piece):
                found[-1] += f"{mark}{piece}"
            elif piece:
                found.append(unwrapped(piece))
    except SpecFault as fault:
        raise error_of(text, fault) from fault
    return found


def usages() -> list[str]:
    """Every policy's spec with its required options: "exploiter:nice=SPEC,attack=SPEC"."""
    return [name + kind.usage for name, kind in AGENTS.items()]


def named_files(policy: PolicyLike) -> list[Path]:
    """The files and folders that a spec names: checkpoints, options, and the source of the user's policies.

    Raises:
        UnknownAgentError: as `read`, or the package that the user's module is in cannot be imported.
    """
    spec = read(policy)
    try:
        own = [file_of(module) for module in spec.sources]
    except ValueError as error:
        raise error_of(spec.text, error) from error
    words = [word for each in spec.walk() if each.outside for word in each.options.values() if isinstance(word, str)]
    named = [Path(word) for word in words if os.path.exists(word)]
    return [file for files in (*own, named, *map(files_of, spec.checkpoints)) for file in files]


def _reduced(spec: Spec) -> tuple[Callable[[str, object], Spec], tuple[str, object]]:
    """For pickle: makers are local functions, which cannot be pickled."""
    return _again, (spec.text, spec.unnamed)


def _again(text: str, unnamed: Any) -> Spec:
    """A spec from its pickle."""
    return read(text) if unnamed is None else replace(unnamed_spec(unnamed), text=text)


copyreg.pickle(Spec, _reduced)
