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
    from agents.lm.player import LMPolicy

BYTES_A_TOKEN = 4
"""In English prompts, roughly."""


def least_usage(player: LMPolicy, rules: Rules, map_name: str = "standard") -> tuple[int, Usage]:
    """The questions of a game, and the least that they use: prompts as long as the first, and no replies.

    Later prompts are longer, replies and thinking come on top, and a provider's cache makes prompts cheaper.

    Args:
        player: a player that is not in a game; it is assumed to play all powers.

    Returns:
        The number of questions, as `welfare-env check-model` counts them, and their usage; its dollars are None if no
        price is known.

    Raises:
        PromptError: the player's flavour does not fit the rules.
    """
    game = Game(map_name, rules)
    power = game.powers[0]
    player.reset(power)
    view = game.view(power, "messages", 1) if rules.has_press else game.view(power, "orders")
    number = questions_of_a_game(rules, len(game.powers))
    tokens = len(player.question(view).prompt.encode()) // BYTES_A_TOKEN
    model = player.model.model if isinstance(player.model, CachedModel) else player.model
    price = model.price if isinstance(model, RemoteModel) else None
    one = Counts(tokens, 0, 0, 0).usage(price)
    dollars = None if one.dollars is None else number * one.dollars
    return number, Usage(number * tokens, 0, 0, dollars)


@dataclass(frozen=True)
class Projection:
    """A lower bound on the usage of a game of a model with itself.

    Attributes:
        model: the model's name.
        years: years of the game.
        questions: number of questions.
        usage: the usage of their prompts; dollars are None if no price is known.
    """

    model: str
    years: int
    questions: int
    usage: Usage

    @classmethod
    def of(cls, player: LMPolicy, rules: Rules, map_name: str = "standard") -> Projection:
        """`least_usage` of a player; arguments and errors as there."""
        return cls(player.model.name, rules.years, *least_usage(player, rules, map_name))

    def times(self, games: int) -> Projection:
        """The projection for so many games."""
        dollars = None if self.usage.dollars is None else games * self.usage.dollars
        usage = Usage(games * self.usage.input_tokens, 0, 0, dollars)
        return Projection(self.model, self.years, games * self.questions, usage)
