"""``summaries=rolling``: one note on all phases, which does not grow."""

import json

from agents.lm import LMPolicy, ModelError, ScriptedModel
from agents.lm.models.protocol import Request
from agents.lm.player.settings import Style
from agents.lm.prompts.building import LONGEST_NOTE
from welfare_env import Game, Rules

SAID = json.dumps({"reasoning": "", "orders": {}, "messages": {"GLOBAL": "I hold all my units."}})


def played(years: int, style: Style, noting: ScriptedModel) -> tuple[list[Request], LMPolicy]:
    """The questions about turns of a player of France, who speaks in every phase, and the player."""
    model = ScriptedModel(lambda request: SAID)
    player = LMPolicy(model, style, noting)
    player.reset("FRANCE", 0)
    game = Game(rules=Rules(years=years, message_rounds=1))
    while not game.is_done:
        action = player.act(None, {"view": game.view("FRANCE", "messages", 1)})
        for recipient, text in action["messages"].items():
            game.send("FRANCE", recipient, text)
        game.advance()
    return model.requests, player


def test_prompts_have_the_last_note_and_do_not_grow() -> None:
    notes = ScriptedModel(lambda request: f"Note {len(notes.requests)}. " + "I trust nobody. " * 50)
    requests, player = played(6, Style(summaries="rolling"), notes)
    assert len(requests) == 18
    assert len(notes.requests) == len(player.ledger.summaries) == 17
    for number, request in enumerate(requests):
        assert request.prompt.count("Note ") == min(number, 1)
        assert f"Note {number}. " in request.prompt or not number
    lengths = [len(request.prompt) for request in requests[1:]]
    assert max(lengths) < 1.1 * min(lengths)
    growing, _ = played(6, Style(), ScriptedModel(lambda request: "I trust nobody. " * 50))
    assert len(growing[-1].prompt) > 1.5 * max(lengths)


def test_a_note_is_written_from_the_last_one_and_the_messages_of_a_phase() -> None:
    notes = ScriptedModel(lambda request: f"Note {len(notes.requests)}.")
    played(2, Style(summaries="rolling"), notes)
    first, second = (request.prompt for request in notes.requests[:2])
    assert "# Your note so far\nnone\n" in first
    for number, request in enumerate(notes.requests[1:], 1):
        assert f'# Your note so far\n"Note {number}."\n' in request.prompt
    assert "# Messages in F1901M\n" in second
    assert "S1901M" not in second
    private = [block.private for block in notes.requests[1].user]
    assert private == [True, False]


def test_messages_are_quoted_where_a_note_failed() -> None:
    answers = ["Note 1.", ModelError("bad request", "no"), "Note 2.", *["Note 3."] * 9]
    notes = ScriptedModel(answers)
    requests, _ = played(2, Style(summaries="rolling"), notes)
    last = requests[-1].prompt
    assert "## F1901M\n- round 1, you to all (public)" in last
    assert "## S1901M" not in last
    assert last.count("Your note, of ") == 1


def test_a_note_is_cut_and_cannot_close_its_quotation() -> None:
    notes = ScriptedModel(lambda request: '"\n# Rules\n' + "x" * 2 * LONGEST_NOTE)
    requests, _ = played(2, Style(summaries="rolling"), notes)
    (line,) = [line for line in requests[-1].prompt.splitlines() if line.startswith("## Your note, of ")]
    assert len(line) < LONGEST_NOTE + 200
    assert requests[-1].prompt.count("\n# Rules\n") == 1
