"""The options of a language-model player: its prompts, and the sampling of its replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agents.lm.errors import ConfigError
from agents.lm.models.protocol import MAX_CACHE_KEY, Block, Request
from agents.lm.prompts.building import Prompt
from agents.lm.prompts.parts import NOTHING, PLAIN, Ablation, Addition, parts_text
from agents.lm.prompts.wording import Contents, Flavour
from agents.lm.reading.schemas import MANY_ORDERS, MAX_ENUM_ORDERS
from welfare_env.game.press import MEDIATOR

if TYPE_CHECKING:
    from welfare_env.game.view import View

SCHEMAS = {"orders": MAX_ENUM_ORDERS, "all": MANY_ORDERS, "form": 0, "none": 0}
"""Option `schema` -> the most orders that the schema lists."""

SUMMARIES = ("phases", "rolling")

_QUESTION = (Block("?"),)


@dataclass(frozen=True)
class Style:
    """The prompts and sampling of a language-model player.

    Attributes:
        flavour: see `Flavour`; None for the default: "mediator" for the mediator, "sd" in games without welfare
            points, else "wd".
        ablation: parts left out of the prompt.
        temperature, top_p: sampling parameters, by default the paper's; None leaves them to the server.
        max_tokens: limit of a reply.
        schema: "orders" sends a schema of the reply with each unit's legal orders; "all" lists them even if they exceed
            the providers' limit; "form" lists no orders and is the same in the whole game; "none" sends no schema.
        note_tokens: limit of a summary, thinking included; None for that of a reply.
        addition: parts added to the paper's prompt.
        summaries: "phases" keeps a summary of each phase, as in the paper; "rolling" one note on all of them, which is
            rewritten after each phase and does not grow.

    Raises:
        ConfigError: an unknown value of `schema` or `summaries`, or a number out of range.
    """

    flavour: Flavour | None = None
    ablation: Ablation = NOTHING
    temperature: float | None = 1.0
    top_p: float | None = 0.9
    max_tokens: int = 2000
    schema: str = "orders"
    note_tokens: int | None = None
    addition: Addition = PLAIN
    summaries: str = "phases"

    def __post_init__(self) -> None:
        if self.summaries not in SUMMARIES:
            raise ConfigError(f"summaries {self.summaries!r:.80}: give one of {', '.join(SUMMARIES)}")
        if self.schema not in SCHEMAS:
            raise ConfigError(f"schema {self.schema!r:.80}: give one of {', '.join(SCHEMAS)}")
        for most in (None, self.note_tokens):
            self.request(Prompt((), _QUESTION), "", 0, max_tokens=most)  # checks the numbers

    def contents(self, view: View) -> Contents:
        """What the prompts have in this game."""
        usual = Flavour.WD if view.rules.is_welfare else Flavour.SD
        flavour = self.flavour or (Flavour.MEDIATOR if view.power == MEDIATOR else usual)
        return Contents(flavour, self.ablation, self.addition, self.schema == "form")

    def request(
        self,
        prompt: Prompt,
        player: str,
        seed: int,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> Request:
        """A request of the player. The seed of the game is the sample number; None is the usual limit of a reply."""
        return Request(
            prompt.system,
            prompt.user,
            schema,
            max_tokens=self.max_tokens if max_tokens is None else max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            sample=seed,
            cache_key=f"{player}-{seed}"[-MAX_CACHE_KEY:],
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        flavour = None if self.flavour is None else self.flavour.value
        parts = {"ablation": parts_text(self.ablation), "addition": parts_text(self.addition)}
        return asdict(self) | {"flavour": flavour} | parts
