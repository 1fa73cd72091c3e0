"""The cost in tokens of each addition to the prompt.

    python -m research.language_models.prompt_additions

A game of seven stub players (`lm:scripted/raider`, who keep their units), with three message rounds per phase. At every
question the prompt is also built with each addition, at the same position. A token is counted as four characters;
notes and reasoning have the lengths below. "new" is the part after the common prefix with the same player's previous
prompt; providers read the prefix from their caches for a fraction of the price.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import typer

import welfare_env
from agents.asking import Asking
from agents.lm import LMPolicy, make_model
from agents.lm.prompts import Contents, build
from agents.lm.prompts.building import Draft
from agents.lm.prompts.parts import EVERYTHING, PLAIN, Addition, parts_text
from evaluation import self_play
from research.tables import Folder, show
from welfare_env.game.view import MESSAGES, View

CHARACTERS_A_TOKEN = 4
NOTE = "I promised to leave it; he may attack. " * 15  # about 100 words
THOUGHT = "He has disarmed, so I may do so, too. " * 20

MEASURED = (PLAIN, *Addition, EVERYTHING)


class Measuring(LMPolicy):
    """A stub player that also builds every prompt with each addition.

    Attributes:
        questions, whole, new: number of questions, and characters by addition, summed over all instances.
    """

    questions = 0
    whole: ClassVar[Counter[Addition]] = Counter()
    new: ClassVar[Counter[Addition]] = Counter()

    def __init__(self) -> None:
        super().__init__(make_model("scripted/raider"), summariser=None)

    def reset(self, agent: str, seed: int = 0) -> None:
        """Clear all state for a new game."""
        super().reset(agent, seed)
        self._seen: dict[Addition, str] = {}
        self._drafts_of: tuple[str, list[Draft]] = ("", [])

    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """Play, and measure the prompt."""
        view: View = info["view"]
        asked = len(self.ledger.turns)
        action = yield from super().asking(observation, info)
        if len(self.ledger.turns) > asked:
            self._measure(view)
        return action

    def _measure(self, view: View) -> None:
        if self._drafts_of[0] != view.phase:
            self._drafts_of = (view.phase, [])
        Measuring.questions += 1
        summaries = {record.phase: NOTE for record in view.history if record.messages}
        for addition in MEASURED:
            journal = {record.phase: NOTE for record in view.history} if Addition.JOURNAL in addition else {}
            drafts = self._drafts_of[1] if Addition.DRAFTS in addition else []
            text = build(view, summaries, Contents(addition=addition), journal, drafts).text
            Measuring.whole[addition] += len(text)
            known = os.path.commonprefix([text, self._seen.get(addition, "")])  # noqa: RUF071 (of texts)
            Measuring.new[addition] += len(text) - len(known)
            self._seen[addition] = text
        if view.asked == MESSAGES:
            orders = tuple(orders[0] for orders in view.legal_orders.values())
            self._drafts_of[1].append(Draft(view.message_round, THOUGHT, orders))


def main(
    years: Annotated[int, typer.Option(min=1)] = 5,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    to: Folder = None,
) -> None:
    """Measure all additions in one game; tokens a call."""
    self_play(Measuring, games=1, rules=welfare_env.Rules(years=years, message_rounds=rounds), simultaneous=True)
    print(f"{Measuring.questions} calls of a game of {years} years, {rounds} rounds; tokens a call")
    whole, new = (
        {addition: counts[addition] / CHARACTERS_A_TOKEN / Measuring.questions for addition in MEASURED}
        for counts in (Measuring.whole, Measuring.new)
    )
    rows = [
        [
            parts_text(addition) or "nothing",
            *(f"{value:,.0f}" for each in (whole, new) for value in (each[addition], each[addition] - each[PLAIN])),
        ]
        for addition in MEASURED
    ]
    show(to, "language-models-additions", ("add=", "prompt", "more", "new", "more"), rows)


if __name__ == "__main__":
    typer.run(main)
