"""Policies from one line of text: "random", "dove:share=0.5", "exploiter:nice=prosocial,attack=dumbbot".

A spec is a name, then a colon and the policy's options. Options are ``key=value`` pairs between commas; a value that is
a spec itself may stand in parentheses, and must if it contains commas:
"exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot". Your own policy is "import:mymodule.MyPolicy", with
options "import:mymodule.MyPolicy,k=3": only classes with `reset` and `act` are called. Other distributions add names by
entry points (`agents.specs.entry_points`).

A spec has at most 10,000 characters (`agents.specs.text_span.LONGEST`), and at most 20 levels of nested specs
(`agents.specs.text_span.DEEPEST`).
Whole numbers have at most 9 digits, other numbers at most 40 characters, and a mix at most 100 programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.human.policy import HumanPolicy
from agents.modal.players import BestReplyPolicy, MixPolicy, RoundWriter, read_share
from agents.policy import Policy
from agents.scripted.deterrents.deterrent import FIGHTERS, DeterrentPolicy, grim, marshal, police, sheriff
from agents.scripted.deterrents.posse import PossePolicy
from agents.scripted.deterrents.provocation import RULES
from agents.scripted.deterrents.punish import PunishPolicy
from agents.scripted.dove import DovePolicy
from agents.scripted.dumbbot import DumbBotPolicy
from agents.scripted.exploiter import ExploiterPolicy
from agents.scripted.fortress import FortressPolicy
from agents.scripted.hold import HoldPolicy
from agents.scripted.mixture import MixturePolicy
from agents.scripted.noisy import NoisyPolicy
from agents.scripted.pact import PactPolicy
from agents.scripted.planner.campaign import PLANS, CampaignPolicy
from agents.scripted.planner.planner import PlannerPolicy
from agents.scripted.prosocial import ProsocialPolicy
from agents.scripted.punisher import PunisherPolicy
from agents.scripted.random import RandomPolicy
from agents.scripted.tit_for_tat import TitForTatPolicy
from agents.specs.entry_points import choose, installed, make_installed, source_of_installed
from agents.specs.imported import EXAMPLE, IMPORT_PATH, make_imported, named_in, read_values, source_of
from agents.specs.spec import Spec
from agents.specs.text_span import Part, is_wrapped
from agents.toy_boards.frontier import FrontierPolicy
from welfare_env.errors import did_you_mean
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

MODEL = r"\w+(?:/\S+)?"
"""A language model in a spec: PROVIDER/MODEL, or the name of one of the user's own."""

PROGRAM_WRITERS = (
    "program",
    "mix",
    "best-reply",
)  # not allowed in policies of Diplomacy; an imported class is checked once it is made


@dataclass(frozen=True)
class Keyed:
    """A kind of policy that takes ``key=value`` options.

    Attributes:
        constructor: called with the options by name; raises ValueError for values that it refuses.
        required: key -> function that reads its value. optional: the same for options that may be left out.
        home: the policy's module, if the constructor imports it only when called.
    """

    constructor: Callable[..., Policy]
    required: Mapping[str, Callable[[Part], Any]] = field(default_factory=dict)
    optional: Mapping[str, Callable[[Part], Any]] = field(default_factory=dict)
    home: str = ""

    @property
    def module(self) -> str:
        """The policy's module."""
        return self.home or self.constructor.__module__

    @property
    def usage(self) -> str:
        """The text required after the name."""
        words = [f"{key}={'SPEC' if reader is read_part else '1'}" for key, reader in self.required.items()]
        return f":{','.join(words)}" if words else ""

    def read(self, name: str, rest: Part) -> Spec:
        """The spec of `name` with the options in `rest`."""
        rest = replace(rest, names=())  # parts of a policy must be policies
        given = self._given(rest, rest.split() if rest.text else ())
        texts = self._texts(given)
        nested = [option.value for option in given.values() if isinstance(option.value, Spec)]
        return Spec(
            f"{name}:{','.join(texts)}" if texts else name,
            lambda models: self._make(given, rest, models, {}),
            tuple(model for inner in nested for model in inner.models),
            tuple(folder for inner in nested for folder in inner.checkpoints),
            tuple(source for inner in nested for source in inner.sources)
            + tuple(partial(list, [option.value]) for option in given.values() if isinstance(option.value, Path)),
            modules=(self.module, *(module for inner in nested for module in inner.modules)),
        )

    def _texts(self, given: Mapping[str, Option]) -> list[str]:
        return [f"{key}={_text(given[key].value)}" for key in (*self.required, *self.optional) if key in given]

    def _given(self, rest: Part, options: Iterable[Part]) -> dict[str, Option]:
        readers = {**self.required, **self.optional}
        takes = f"takes {', '.join(readers)}" if readers else "takes no options"
        given: dict[str, Option] = {}
        for option in options:
            key, value = option.halves("=") or (option, None)
            if key.text not in readers or value is None:
                near = did_you_mean(key.text, readers)
                raise option.fault(f"no option{near}; it {takes}, each as key=value{_hint(option, given)}")
            if key.text in given:
                raise option.fault(f"the option is given twice{_hint(option, given)}")
            given[key.text] = Option(option, value, self._orders(value, readers[key.text](value)))
        if missing := [key for key in self.required if key not in given]:
            is_cut = rest.source[rest.stop :].lstrip().startswith(",")
            wrap = ". If the comma after it belongs to it, put all of it in parentheses" if is_cut else ""
            raise rest.fault(f"{' and '.join(missing)} missing; it {takes}{wrap}")
        return given

    def _orders(self, written: Part, value: Any) -> Any:
        """Checks the value of an option: parts of policies of Diplomacy must be policies of Diplomacy, too.

        Raises:
            UnknownAgentError: the value writes programs of modal_env.
        """
        name = value.text.partition(":")[0] if isinstance(value, Spec) else ""
        is_mixture = isinstance(value, Spec) and bool(value.parts)
        is_writer = (name in PROGRAM_WRITERS and not is_mixture) or isinstance(value, RoundWriter)
        if is_writer and self.constructor is not BestReplyPolicy:
            raise written.fault("it writes programs of modal_env, not orders: programs play in `welfare-env modal`")
        return value

    def _make(
        self, given: Mapping[str, Option], rest: Part, models: SharedModels | None, fixed: Mapping[str, Any]
    ) -> Policy:
        made = {
            key: self._orders(
                option.written, option.value.make(models) if isinstance(option.value, Spec) else option.value
            )
            for key, option in given.items()
        }
        try:
            return self.constructor(**fixed, **made)
        except ValueError as error:
            option = next((option for key, option in given.items() if _is_about(str(error), key, option)), None)
            raise (option.whole if option else rest).fault(str(error)) from error


@dataclass(frozen=True)
class Option:
    """A parsed ``key=value`` option: its text, the text of its value, and the parsed value."""

    whole: Part
    written: Part
    value: Any


def _is_about(error: str, key: str, option: Option) -> bool:
    """Whether an error is about an option: it begins with its name, or with the file that is its value."""
    return bool(re.match(rf"(?:model .* has no setting ')?{key}\b", error)) or error.startswith(f"{option.value}: ")


def _hint(option: Part, given: Mapping[str, Option]) -> str:
    """A suggestion for an unknown or repeated option, given the options before it."""
    last = list(given)[-1] if given else None
    key = option.text.partition("=")[0].strip()
    if last in ("ablate", "add") and "=" not in option.text:
        what = {"ablate": "leave out several parts of the prompt", "add": "add several parts to the prompt"}[last]
        return f". To {what}, join them by +: {last}={given[last].written.text}+{key}"
    for outer, nested in given.items():
        text = nested.written.text
        inner = AGENTS.get(text.partition(":")[0].strip())
        is_its_own = isinstance(inner, Keyed) and key in {*inner.required, *inner.optional}
        if isinstance(nested.value, Spec) and (is_its_own or isinstance(inner, Imported)):
            mark = "," if ":" in text else ":"
            return f". Put an option of the spec in {outer} in parentheses with it: {outer}=({text}{mark}{key}=...)"
    return ""


class Imported:
    """A policy of the user's, with options: "import:mymodule.MyPolicy,k=3" is `MyPolicy(k=3)` of that module."""

    usage = ":MODULE.CLASS,KEY=VALUE,..."

    def read(self, name: str, rest: Part) -> Spec:
        """The spec of `name` with the path and the options in `rest`; the module is not imported yet."""
        path, *given = rest.split()
        if not re.fullmatch(IMPORT_PATH, path.text):
            raise path.fault(f"give a module and a class in it, such as {EXAMPLE}")
        options = read_values(given)
        text = ",".join([f"{name}:{path.text}", *(f"{key}={_text(value)}" for key, value in options.items())])
        sources = (lambda: source_of(path) + named_in(options),)
        return Spec(text, lambda models: make_imported(path, options), sources=sources, modules=())


class Program:
    """A player of `modal_env`: "program:FairBot", "program:[]X(me)"."""

    usage = ":PROGRAM"

    def read(self, name: str, rest: Part) -> Spec:
        """The spec of `name` with the program in `rest`, which is parsed when the player is made."""
        if not rest.text:
            raise rest.fault("give a program: a name such as FairBot, or a formula such as []X(me)")
        return Spec(f"{name}:{rest.text}", lambda models: _mix([(rest.text, Fraction(1))], rest))


class Mix:
    """A mixed strategy.

    Programs of `modal_env`, drawn in every round: "mix:FairBot=17/20,CooperateBot=1/10,PrudentBot=1/20"; or policies of
    Diplomacy, drawn once per game: "mix:dove=1/3,(rl:PATH,greedy=yes)=2/3", in parentheses if they have options.
    """

    usage = ":PROGRAM=SHARE,..."

    def read(self, name: str, rest: Part) -> Spec:
        """The spec of `name` with the shares in `rest`."""
        options = list(rest.split())
        if all(_is_policy(option) for option in options):
            return self._of_policies(name, rest, options)
        shares = [self._share(option) for option in options]
        text = ",".join(f"{program}={share}" for program, share in shares)
        return Spec(f"{name}:{text}", lambda models: _mix(shares, rest))

    def _of_policies(self, name: str, rest: Part, options: Iterable[Part]) -> Spec:
        """A mix of policies of Diplomacy."""
        parts = [(read_part(option.cut(0, option.text.rindex("="))), self._share(option)[1]) for option in options]
        text = ",".join(f"{_text(spec)}={share}" for spec, share in parts)
        return Spec(
            f"{name}:{text}",
            lambda models: _mixture([(spec.make(models), share) for spec, share in parts], rest),
            tuple(model for spec, _ in parts for model in spec.models),
            tuple(folder for spec, _ in parts for folder in spec.checkpoints),
            tuple(source for spec, _ in parts for source in spec.sources),
            modules=(MixturePolicy.__module__, *(module for spec, _ in parts for module in spec.modules)),
            parts=tuple((spec, float(share)) for spec, share in parts),
        )

    def _share(self, option: Part) -> tuple[str, Fraction]:
        program, _, share = option.text.rpartition("=")
        try:
            return program.strip(), read_share(share.strip())
        except ValueError as error:
            raise option.fault(f"give PROGRAM=SHARE: {error}") from None


class LanguageModel(Keyed):
    """A language model: "lm:openai/gpt-6-luna,temperature=0.7,flavour=sd,ablate=no_reasoning+no_examples"."""

    @property
    def usage(self) -> str:
        return ":PROVIDER/MODEL"

    def read(self, name: str, rest: Part) -> Spec:
        """The spec of `name` with the model and the options in `rest`."""
        model, *options = rest.split()
        if not re.fullmatch(MODEL, model.text):
            raise model.fault("give PROVIDER/MODEL, such as openai/gpt-6-luna, anthropic/NAME or scripted/stub")
        given = self._given(rest, options)
        text = ",".join([f"{name}:{model.text}", *self._texts(given)])
        server = given["base_url"].value if "base_url" in given else ""
        asked = [model.text, *([given["summariser"].value] if "summariser" in given else [])]
        return Spec(
            text,
            lambda models: self._make(given, rest, models, {"name": model.text, "models": models}),
            tuple(
                (each, server if _provider(each) == _provider(model.text) else "")
                for each in asked
                if each not in ("self", "none")
            ),
            modules=(self.module,),
        )


def _make_player(name: str, models: SharedModels | None, **options: Any) -> Policy:
    """Makes a language-model player; its module is imported only here."""
    from agents.lm.player import make_player

    return make_player(name, models, **options)


class Learned(Keyed):
    """A network that `training` wrote: "rl:PATH", "rl:PATH,greedy=no"."""

    @property
    def usage(self) -> str:
        return ":PATH"

    def read(self, name: str, rest: Part) -> Spec:
        """The spec of `name` with the path and the options in `rest`; the files are read when the player is made."""
        if not rest.text:
            raise rest.fault("give the folder of a checkpoint, such as rl:runs/welfare/checkpoint")
        first, *options = rest.split()
        folder, given = first.unwrapped().text, self._given(rest, options)
        path = f"({folder})" if "," in folder or is_wrapped(folder) else folder
        text = ",".join([f"{name}:{path}", *self._texts(given)])
        return Spec(
            text,
            lambda models: self._make(given, rest, models, {"path": folder}),
            checkpoints=(folder,),
            modules=(self.module,),
        )


def _make_learned(path: str, greedy: str | None = None) -> Policy:
    """Makes a learned player; its module is imported only here, since torch is an extra.

    Raises:
        ValueError: not a checkpoint, or torch is not installed.
    """
    try:
        from agents.rl.player import LearnedPolicy
    except ImportError as error:
        raise ValueError(f"{error}: a learned player needs {install_extra('rl')}") from error
    return LearnedPolicy(path, None if greedy is None else greedy == "yes")


def _provider(model: str) -> str:
    return model.partition("/")[0]


def _mix(shares: list[tuple[str, Fraction]], rest: Part) -> MixPolicy:
    try:
        return MixPolicy(shares)
    except ValueError as error:
        raise rest.fault(str(error)) from error


def _is_policy(option: Part) -> bool:
    """Whether a part of a mix is a policy of Diplomacy; otherwise it is a program of modal_env."""
    given, _, _ = option.text.rpartition("=")
    name = given.strip().lstrip("(").partition(":")[0].strip(" )")
    return (name in AGENTS and name not in PROGRAM_WRITERS) or name in installed() or name in option.names


def _mixture(parts: list[tuple[Policy, Fraction]], rest: Part) -> MixturePolicy:
    try:
        return MixturePolicy(parts)
    except ValueError as error:
        raise rest.fault(str(error)) from error


def _text(value: Spec | Path | str | float | None) -> str:
    """The text of a value; a spec with options stands in parentheses."""
    if isinstance(value, str | Path):
        return str(value)
    if value is None or isinstance(value, bool):
        return {None: "never", True: "yes", False: "no"}[value]
    if not isinstance(value, Spec):
        return repr(value)
    return f"({value.text})" if ":" in value.text else value.text


def read_part(part: Part) -> Spec:
    """The spec of a piece of text.

    Raises:
        UnknownAgentError: as `agents.specs.read`.
    """
    part = part.inside().cut(0, len(part.text)).unwrapped()
    name, rest = part.halves(":") or (part, part.cut(len(part.text), len(part.text)))
    if name.text in AGENTS:
        return AGENTS[name.text].read(name.text, rest)
    if part.text in part.names:
        return Spec(part.text, lambda models: _not_made(part))
    if name.text in installed():
        return _read_installed(name, rest)
    known = sorted({*AGENTS, *installed(), *part.names})
    near = did_you_mean(name.text, known)
    if re.fullmatch(IMPORT_PATH, part.text.partition(",")[0]):
        near = f" (did you mean 'import:{part.text:.80}'?)"
    raise name.fault(f"unknown agent{near}; known are {', '.join(known)}. Your own: import:mymodule.MyPolicy")


def _not_made(name: Part) -> Policy:
    raise name.fault("it is not a policy by itself")


def _read_installed(name: Part, rest: Part) -> Spec:
    """A policy of another distribution, which is not loaded yet: "outlaw", "outlaw:patience=3"."""
    point = choose(name)
    options = read_values(rest.split() if rest.text else ())
    written = ",".join(f"{key}={_text(value)}" for key, value in options.items())
    return Spec(
        f"{name.text}:{written}" if written else name.text,
        lambda models: make_installed(point, name, options),
        sources=(lambda: source_of_installed(point, name) + named_in(options),),
        modules=(),
    )


def _whole(part: Part) -> int:
    if not re.fullmatch("[0-9]{1,9}", part.text):
        raise part.fault("give a whole number from 0")
    return int(part.text)


def _share(part: Part) -> float:
    with suppress(ValueError):
        if re.fullmatch("[-+.0-9a-zA-Z]{1,40}", part.text):
            return float(part.text)
    raise part.fault("give a number")


def _number_or_none(part: Part) -> str | float:
    """A number, or "none" to leave the setting to the server."""
    return "none" if part.text == "none" else _share(part)


def _file(part: Part) -> Path:
    return Path(_word(part))


def _word(part: Part) -> str:
    if not part.text:
        raise part.fault("give a value")
    return part.text


def _address(part: Part) -> str:
    from agents.lm.models.settings import checked_url

    return _checked(part, checked_url)


def _json(part: Part) -> str:
    """A JSON object in parentheses, because of its commas."""
    from agents.lm.models.settings import checked_extra

    return _checked(part, lambda text: f"({json.dumps(checked_extra(text))})")


def _variable(part: Part) -> str:
    from agents.lm.models.settings import checked_variable

    return _checked(part, checked_variable)


def _checked(part: Part, check: Callable[[str], str]) -> str:
    try:
        return check(part.text)
    except ValueError as error:
        raise part.fault(str(error)) from error


def _one_of(*words: str) -> Callable[[Part], str]:
    return lambda part: part.one_of(words)


def _ablation(part: Part) -> str:
    from agents.lm.prompts.parts import Ablation, parse_parts, parts_text

    return _checked(part, lambda text: parts_text(parse_parts(Ablation, text)))


def _addition(part: Part) -> str:
    from agents.lm.prompts.parts import Addition, parse_parts, parts_text

    return _checked(part, lambda text: parts_text(parse_parts(Addition, text)))


def _summariser(part: Part) -> str:
    if not re.fullmatch(MODEL, part.text):
        raise part.fault("give self, none, or a model: PROVIDER/MODEL, or the name of your own")
    return part.text


def _whole_or_never(part: Part) -> int | None:
    if part.text != "never" and not re.fullmatch("[0-9]{1,9}", part.text):
        raise part.fault("give a whole number, or never")
    return None if part.text == "never" else int(part.text)


def _yes_or_no(part: Part) -> bool:
    return part.one_of(("yes", "no")) == "yes"


EXPLOITER_OPTIONS: dict[str, Callable[[Part], Any]] = {
    "units": _whole_or_never,
    **dict.fromkeys(("years", "centers", "last_years"), _whole),
}

RULE_OPTIONS: dict[str, Callable[[Part], Any]] = {
    "slack": _whole,
    "armed": _yes_or_no,
    "forgive": _whole_or_never,
    "fight": read_part,
    "fighters": _one_of(*FIGHTERS),
    "last_years": _whole,
    "nice": read_part,
}
DETERRENT_OPTIONS: dict[str, Callable[[Part], Any]] = {"provoked": _one_of(*RULES), **RULE_OPTIONS}

LM_OPTIONS: dict[str, Callable[[Part], Any]] = {
    "temperature": _number_or_none,
    "top_p": _number_or_none,
    "max_tokens": _whole,
    "note_tokens": _whole,
    "flavour": _one_of("wd", "sd", "exploiter", "mediator"),
    "ablate": _ablation,
    "add": _addition,
    "summariser": _summariser,
    "summaries": _one_of("phases", "rolling"),
    "schema": _one_of("orders", "all", "form", "none"),
    "api": _one_of("chat", "responses"),
    "grammar": _one_of("auto", "vllm", "llama.cpp", "sglang"),
    "base_url": _address,
    "key_variable": _variable,
    "effort": _word,
    "thinking": _whole,
    "seed": _whole,
    "extra": _json,
    "timeout": _share,
    "retries": _whole,
    "max_concurrent": _whole,
    "requests_per_minute": _whole,
    "tokens_per_minute": _whole,
    "prices": _word,
    "latency": _share,
}

AGENTS: dict[str, Keyed | Imported | Program | Mix] = {
    "random": Keyed(RandomPolicy),
    "hold": Keyed(HoldPolicy),
    "prosocial": Keyed(ProsocialPolicy),
    "dumbbot": Keyed(DumbBotPolicy),
    "punisher": Keyed(
        PunisherPolicy,
        required={"t": _whole},
        optional={"shared": _word, "deviator": _word, "remembers": _yes_or_no, "certificate": _file},
    ),
    "frontier": Keyed(FrontierPolicy, required={"point": _file}, optional={"secret": _whole}),
    "dove": Keyed(DovePolicy, optional={"share": _share}),
    "exploiter": Keyed(
        ExploiterPolicy,
        required={"nice": read_part, "attack": read_part},
        optional=EXPLOITER_OPTIONS,
    ),
    "deterrent": Keyed(DeterrentPolicy, optional=DETERRENT_OPTIONS),
    **{each.__name__: Keyed(each, optional=RULE_OPTIONS) for each in (grim, police, sheriff, marshal)},
    "noisy": Keyed(NoisyPolicy, required={"of": read_part}, optional={"error": _share}),
    "fortress": Keyed(FortressPolicy),
    "tit-for-tat": Keyed(TitForTatPolicy),
    "pact": Keyed(PactPolicy, optional=EXPLOITER_OPTIONS),
    "posse": Keyed(PossePolicy, optional={"force": _whole, "more": _whole}),
    "punish": Keyed(PunishPolicy),
    "human": Keyed(HumanPolicy),
    "lm": LanguageModel(_make_player, optional=LM_OPTIONS, home="agents.lm.player"),
    "rl": Learned(_make_learned, optional={"greedy": _one_of("yes", "no")}, home="agents.rl.player"),
    "import": Imported(),
    "program": Program(),
    "mix": Mix(),
    "plan": Keyed(PlannerPolicy, optional={"budget": _whole, "nice": read_part, "model": read_part}),
    "campaign": Keyed(
        CampaignPolicy, optional={"plan": _one_of(*PLANS), "victim": _whole, "begin": _whole, "taker": _whole}
    ),
    "best-reply": Keyed(BestReplyPolicy, required={"to": read_part}),
}
