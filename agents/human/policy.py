"""A person as a policy: "human:" in a profile ("FRANCE*human: + 6*marshal").

The person is asked in the terminal; `evaluation.web` asks in the browser instead. A game with a person is stored like
any other, but never reused for the same policies and seed: they do not determine what a person plays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agents.policy import Described, view_of
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from welfare_env.game.view import View

Answer = list[str] | list[tuple[str, str]]
"""Orders, or messages as (recipient, text) pairs, as the view asks."""


class HumanPolicy(Described):
    """Asks a person for all orders and messages.

    Args:
        ask: function from a view to the person's answer; None asks in the terminal.
    """

    reads_observations = False

    def __init__(self, ask: Callable[[View], Answer] | None = None) -> None:
        self._ask = ask
        self.agent = ""

    def reset(self, agent: str, seed: int = 0) -> None:
        """Take a seat; a person remembers what a person remembers."""
        self.agent = agent

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The person's orders or messages.

        Raises:
            ActionError: no view in `info`; see `agents.policy.view_of`.
            NoPersonError: nobody answers: there is no terminal, it was closed, or the person quits.
        """
        view = view_of(self, info, "agent")
        if self._ask is None:
            from agents.human.terminal import ask

            self._ask = ask
        answer: Any = self._ask(view)
        return view.encode_messages(answer) if view.asked == MESSAGES else view.encode_orders(answer)
