"""A language-model player: the paper's agents (Mukobi et al. 2023, section 4 and appendix H).

In every message round one call returns private reasoning, messages and orders; the orders of a phase's last reply
count. Without messages, one call returns the orders. When the next phase begins, another call summarizes the messages
of the previous one, so that prompts stay short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agents.asking import AskingPolicy
from agents.lm.errors import ModelError
from agents.lm.models.cache import CachedModel
from agents.lm.models.prices import usual_tokens
from agents.lm.models.protocol import Model, Request
from agents.lm.models.remote import RemoteModel
from agents.lm.models.shared_models import SharedModels, default_models
from agents.lm.player.ledger import Ledger
from agents.lm.player.programs import ProgramWriter
from agents.lm.player.settings import SCHEMAS, Style
from agents.lm.prompts.building import LONGEST_JOURNAL, Draft, about, build, summarise
from agents.lm.prompts.parts import NOTHING, PLAIN, Ablation, Addition, parse_parts
from agents.lm.prompts.wording import Flavour
from agents.lm.reading.fields import is_cut_off
from agents.lm.reading.parsing import Parsed, parse, reply_schema
from agents.lm.reading.thinking import without_thinking
from agents.policy import check_reset, is_modal, view_of
from welfare_env.game.press import MEDIATOR
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from agents.asking import Asking
    from welfare_env.game.view import View

_SAMPLING = ("temperature", "top_p")
_STYLE = (*_SAMPLING, "max_tokens", "note_tokens", "schema", "summaries")


class LMPolicy(AskingPolicy):
    """A player that asks a language model: for messages and orders in `welfare_env`, for programs in `modal_env`.

    If a call fails for good, it is counted, and the player goes on without a reply: it sends nothing, and the orders of
    its last reply in this phase stand; if there are none, its units hold. The seed of a game is the sample number of
    its requests: games of different seeds get different replies to the same question, games of one seed the same.

    Args:
        model: the model to ask.
        style: see `Style`.
        summariser: model that summarizes the messages of a phase; None quotes the messages, shortened.

    Attributes:
        agent: the player's name, from `reset`.
        ledger: the account of this game's calls; empty before the first.
    """

    agent: str

    def __init__(self, model: Model, style: Style | None = None, summariser: Model | None = None) -> None:
        self.model, self.style, self.summariser = model, style or Style(), summariser
        self.ledger = Ledger()
        self._writer = ProgramWriter(model, self.style)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model.name!r})"

    reseed = None  # type: ignore[assignment]  # a model is never asked in simulated games

    def reset(self, agent: str, seed: int = 0) -> None:
        """Clears all state for a new game.

        Raises:
            ValueError: a negative seed.
        """
        check_reset(agent, seed)
        self.agent, self.seed = agent, seed
        self.ledger = Ledger()
        self._writer.reset(agent, seed, self.ledger)
        self._moment: tuple[str, int] = ("", 0)  # phase and round of the last turn
        self._turn = Parsed()
        self._drafts: list[Draft] = []  # own replies in this phase
        self._noted: set[str] = set()  # phases for whose messages a summary was requested

    def recall(self, phases: Iterable[str], summaries: Mapping[str, str], journal: Mapping[str, str]) -> None:
        """After `reset`, for a game that begins after these phases: the notes about them of an earlier player.

        Phases with messages but without a summary are not summarized: their messages are quoted, shortened.
        """
        self._noted |= {*phases}
        self.ledger.summaries |= summaries
        self.ledger.journal |= journal

    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """The messages and orders of this round, or the orders of this phase; in `modal_env` a program.

        Raises:
            ActionError: no view in `info`, or not reset; see `agents.policy.view_of`.
            PromptError: the flavour does not fit the player or the rules.
        """
        if is_modal(info):
            return (yield from self._writer.asking(observation, info))
        view = view_of(self, info, "_moment")
        turn = yield from self._turn_of(view)
        if view.asked == MESSAGES:
            return view.encode_messages(turn.messages) | {"orders": list(turn.orders)}
        return view.encode_orders(turn.orders)

    def to_dict(self) -> dict[str, Any]:
        """The player and its calls in this game as plain JSON types, for the game's record."""
        player = {
            "model": self.model.name,
            "settings": dict(self.model.settings),
            "style": self.style.to_dict(),
            "summariser": None if self.summariser is None else self.summariser.name,
        }
        return player | self.ledger.to_dict()

    def _turn_of(self, view: View) -> Asking[Parsed]:
        """The model's reply for this round, asked once; the orders of the last round are those of the phase."""
        phase, message_round = self._moment
        if view.phase == phase and view.asked != MESSAGES:
            return self._turn
        if (view.phase, view.message_round) != (phase, message_round):
            orders = self._turn.orders if view.phase == phase else []
            self._drafts = self._drafts if view.phase == phase else []
            self._moment = (view.phase, view.message_round)
            self._turn = (yield from self._asked(view, orders)) if is_asked(view) else Parsed()
        return self._turn

    def _asked(self, view: View, orders: list[str]) -> Asking[Parsed]:
        """The reply; the earlier `orders` if there is none, or if it is cut off before its orders."""
        yield from self._remember(view)
        where = {"phase": view.phase, "round": view.message_round}
        reply = yield from self.ledger.ask(self.model, self.question(view), {"kind": "turn"} | where)
        if isinstance(reply, ModelError):
            self.ledger.note_turn(where | {"fault": reply.kind}, "", (), is_valid=False)
            return Parsed(orders=orders)
        turn = parse(reply.text, view, is_cut_off(reply.finish), self.style.addition)
        if not turn.orders and (reply.finish != "stop" or not turn.is_valid):  # cut off, so not a change of mind
            turn.orders[:] = orders
        self.ledger.note_turn(where | {"finish": reply.finish}, turn.reasoning, turn.issues, turn.is_valid)
        self.ledger.refused[view.phase] = turn.refused_orders
        if turn.journal:
            self.ledger.journal[view.phase] = turn.journal[:LONGEST_JOURNAL]
        self._drafts.append(Draft(view.message_round, turn.reasoning, tuple(turn.orders)))
        return turn

    def question(self, view: View) -> Request:
        """The request to the model for a view."""
        style, contents = self.style, self.style.contents(view)
        drafts = self._drafts if Addition.DRAFTS in style.addition else []
        journal = {phase: text for phase, text in self.ledger.journal.items() if phase != view.phase}
        prompt = build(view, self.ledger.summaries, contents, journal, drafts, self.seed, style.summaries == "rolling")
        schema = None if style.schema == "none" else reply_schema(view, contents, SCHEMAS[style.schema], self.seed)
        return style.request(prompt, self.agent, self.seed, schema)

    def _remember(self, view: View) -> Asking[None]:
        """Summarizes the messages of earlier phases, each once."""
        style = self.style
        if self.summariser is None or not view.rules.has_press or Ablation.NO_SUMMARIES in style.ablation:
            return
        for record in view.history:
            if record.phase in self._noted or not record.messages:
                continue
            self._noted.add(record.phase)
            last = next(reversed(self.ledger.summaries.values()), "") if style.summaries == "rolling" else None
            prompt = summarise(record, self.agent, about(view, style.contents(view)), last)
            request = style.request(prompt, self.agent, self.seed, max_tokens=style.note_tokens)
            reply = yield from self.ledger.ask(self.summariser, request, {"kind": "summary", "phase": record.phase})
            if not isinstance(reply, ModelError):
                self.ledger.note_summary(record.phase, without_thinking(reply.text).text.strip())


def is_asked(view: View) -> bool:
    """Whether there is anything to say or to order."""
    if view.legal_orders:
        return True
    if view.asked == MESSAGES:  # eliminated powers are not asked, but a mediator is
        return view.power == MEDIATOR or bool(view.units[view.power] or view.centers[view.power])
    return view.points_to_give > 0


def language_models(policy: Any) -> Iterator[LMPolicy]:
    """The language-model players in a policy: itself, or those among its parts."""
    if isinstance(policy, LMPolicy):
        yield policy
    elif isinstance(policy, AskingPolicy):
        for part in policy.parts:
            yield from language_models(part)


def check_ready(policies: Iterable[Any]) -> None:
    """Checks that the language models in policies can be asked, without asking.

    Raises:
        ConfigError: a provider's SDK is not installed, or there is no key.
    """
    for player in (player for policy in policies for player in language_models(policy)):
        for model in (player.model, player.summariser):
            remote = model.model if isinstance(model, CachedModel) else model
            if isinstance(remote, RemoteModel):
                remote.check_ready()


def make_player(
    name: str,
    models: SharedModels | None = None,
    *,
    flavour: str | None = None,
    ablate: str | None = None,
    add: str | None = None,
    summariser: str = "self",
    **options: Any,
) -> LMPolicy:
    """Makes a player.

    Args:
        name: the model's name: "openai/NAME".
        models: the source of models.
        flavour, ablate, add: see `Style.flavour`, `agents.lm.prompts.parts.parse_parts`.
        summariser: "self" for the same model, "none", or another model's name; a model of the same provider gets the
            same settings.
        **options: those of `Style`, where "none" leaves a sampling parameter to the server; all others are settings
            of the model.

    Raises:
        ConfigError, PromptError: no such model, or an unknown or invalid option.
        CacheError: a file of cached replies cannot be read.
    """
    source = default_models() if models is None else models
    options = {key: None if key in _SAMPLING and value == "none" else value for key, value in options.items()}
    settings = {key: value for key, value in options.items() if key not in _STYLE}
    own: dict[str, Any] = {key: value for key, value in options.items() if key in _STYLE}
    own["flavour"] = None if flavour is None else Flavour(flavour)
    own["ablation"] = NOTHING if ablate is None else parse_parts(Ablation, ablate)
    own["addition"] = PLAIN if add is None else parse_parts(Addition, add)
    other = name if summariser == "self" else summariser
    other_settings = settings if other.partition("/")[0] == name.partition("/")[0] else {}
    own.setdefault("max_tokens", usual_tokens(name, settings.get("effort")))
    if other not in (name, "none") and "max_tokens" not in options:
        own.setdefault("note_tokens", usual_tokens(other, other_settings.get("effort")))
    model = source.get(name, **settings)
    return LMPolicy(model, Style(**own), None if other == "none" else source.get(other, **other_settings))
