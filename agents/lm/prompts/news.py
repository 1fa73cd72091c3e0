"""What is new since a player was asked last, for players who remember: a conversation instead of whole prompts.

`agents.lm.prompts.building.build` makes the first text; `news` the others. Together they say what whole prompts would
say, each thing once: the messages and orders of others, the position once a phase. What the player itself has written
is in its own replies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lm.prompts.ablation import NOTHING
from agents.lm.prompts.building import now, position_sections
from agents.lm.prompts.describe import orders_section
from agents.lm.prompts.quoting import transcript
from agents.lm.prompts.wording import Flavour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from welfare_env.game.press import Message
    from welfare_env.game.view import View


def news(view: View, last: View, flavour: Flavour = Flavour.WD) -> str:
    """What has happened since `last`, and what is asked now.

    Args:
        view: of a player, now.
        last: of the same player in the same game, when it was asked last.
    """
    ended = view.history[len(last.history) :]
    unread = {record.phase: record.messages for record in ended} | {view.phase: view.messages}
    unread[last.phase] = unread[last.phase][len(last.messages) :]
    said = [_said(phase, messages, view.power) for phase, messages in unread.items()]
    position = position_sections(view, flavour, NOTHING) if view.phase != last.phase else []
    return "\n".join(filter(None, [*said, orders_section(ended), *position])) + now(view)


def _said(phase: str, messages: Sequence[Message], reader: str) -> str:
    """The messages of others in a phase; "" for none."""
    lines = transcript((message for message in messages if message.sender != reader), reader)
    return f"# New messages in {phase}\n{lines}" if lines else ""
