"""A lower bound on the cost of a language model's game, computed before it starts and without asking the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.lm.checking import questions_of_a_game
from agents.lm.models.cache import CachedModel
from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Usage
from agents.lm.models.providers.remote_model import RemoteModel
from welfare_env import Game, Rules

if TYPE_CHECKING:
    from agents.lm.player.policy import LMPolicy

BYTES_A_TOKEN = 4
"""In English prompts, roughly."""


@dataclass(frozen=True)
class Projection:
    """A lower bound on the usage of a game of a model with itself: prompts as long as the first, and no replies.

    Later prompts are longer, replies and thinking come on top, and a provider's cache makes prompts cheaper.

    Attributes:
        model: the model's name.
        years: years of the game.
        questions: number of questions, as `welfare-env check-model` counts them.
        usage: the usage of their prompts; dollars are None if no price is known.
    """

    model: str
    years: int
    questions: int
    usage: Usage

    @classmethod
    def of(cls, player: LMPolicy, rules: Rules, map_name: str = "standard") -> Projection:
        """The projection for one game of a player that is not in a game, and plays all powers.

        Raises:
            PromptError: the player's flavour does not fit the rules.
        """
        game = Game(map_name, rules)
        power = game.powers[0]
        player.reset(power)
        view = game.view(power, "messages", 1) if rules.has_press else game.view(power, "orders")
        tokens = len(player.question(view).prompt.encode()) // BYTES_A_TOKEN
        model = player.model.model if isinstance(player.model, CachedModel) else player.model
        one = Counts(tokens, 0, 0, 0).usage(model.price if isinstance(model, RemoteModel) else None)
        return cls(player.model.name, rules.years, 1, one).times(questions_of_a_game(rules, len(game.powers)))

    def times(self, number: int) -> Projection:
        """The projection for so many times as much."""
        dollars = None if self.usage.dollars is None else number * self.usage.dollars
        usage = Usage(number * self.usage.input_tokens, 0, 0, dollars)
        return Projection(self.model, self.years, number * self.questions, usage)
