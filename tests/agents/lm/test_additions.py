"""Parts that a prompt can have beyond the paper's: off unless they are asked for; and one note on all phases."""

import json

import pytest

from agents.lm import LMPolicy, ModelError, Reply, Request, ScriptedModel
from agents.lm.player.settings import Style
from agents.lm.prompts import Contents, build
from agents.lm.prompts.building import Draft
from agents.lm.prompts.parts import EVERYTHING, PLAIN, Addition
from tests.agents.lm.test_prompts import war
from welfare_env import Game, Rules


class TestParts:
    @pytest.mark.parametrize("addition", [*Addition, EVERYTHING])
    def test_each_only_adds(self, addition: Addition) -> None:
        drafts = (Draft(1, "Thought.", ("A BUR H",)),) if Addition.DRAFTS in addition else ()
        view = war("S1905M").view("FRANCE", "messages", 2)
        plain = build(view).text.splitlines()
        more = build(view, contents=Contents(addition=addition), drafts=drafts).text.splitlines()
        left = iter(more)
        changed = [line for line in plain if not line.startswith("{") and line not in left]
        assert changed == []
        assert len(more) > len(plain)


def answering(journals: list[str]) -> ScriptedModel:
    """Replies with a journal of its own for each turn; "" for none."""
    left = iter(journals)

    def answer(request: Request) -> str:
        note = next(left)
        reply = {"reasoning": f"Thinking of {note}.", "orders": ["A PAR H"], "messages": {"ITALY": "Hi."}}
        return json.dumps(reply | ({"journal": note} if note else {}))

    return ScriptedModel(answer)


class TestNotes:
    def test_a_journal_is_read_in_later_phases_and_only_by_its_writer(self) -> None:
        model = answering([f"note {number}" for number in range(6)])
        policy = LMPolicy(model, Style(addition=Addition.JOURNAL))
        policy.reset("FRANCE")
        game = Game(rules=Rules(years=1, message_rounds=2))
        for _ in range(3):
            for number in (1, 2):
                policy.act(None, {"view": game.view("FRANCE", "messages", number)})
            game.advance()
        assert policy.ledger.journal == {"S1901M": "note 1", "F1901M": "note 3", "W1901A": "note 5"}
        assert "your journal" not in model.requests[1].prompt
        assert '## S1901M, your journal: "note 1"' in model.requests[2].prompt
        last = model.requests[4]
        assert [block.private for block in last.user if "your journal" in block.text] == [True, True]
        assert "note 0" not in last.prompt
        assert policy.to_dict()["journal"] == policy.ledger.journal

    @pytest.mark.parametrize("addition", [PLAIN, Addition.DRAFTS])
    def test_later_rounds_show_ones_own_reply(self, addition: Addition) -> None:
        model = answering(["1", "2", "3", "4"])
        policy = LMPolicy(model, Style(addition=addition))
        policy.reset("FRANCE")
        game = Game(rules=Rules(years=1, message_rounds=3))
        for number in (1, 2, 3):
            policy.act(None, {"view": game.view("FRANCE", "messages", number)})
            game.send("FRANCE", "ITALY", "Hi.", number)
        game.advance()
        policy.act(None, {"view": game.view("FRANCE", "messages", 1)})
        prompts = [request.prompt for request in model.requests]
        is_on = addition is Addition.DRAFTS
        told = '- round 1, your own reply (private): reasoning "Thinking of 1."; orders A PAR H'
        assert [told in prompt for prompt in prompts] == [False, is_on, is_on, False]
        assert [prompt.count("your own reply (private)") for prompt in prompts] == [0, is_on, 2 * is_on, 0]
        assert all("you to ITALY (private)" in prompt for prompt in prompts[1:3])  # what was said is always shown


SAID = json.dumps({"reasoning": "", "orders": {}, "messages": {"GLOBAL": "I hold all my units."}})


def played(years: int, style: Style, noting: ScriptedModel | None) -> tuple[list[Request], LMPolicy]:
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


def test_a_phase_is_condensed_once_when_the_next_begins() -> None:
    notes = ScriptedModel(lambda request: "<think>Hm.</think>\nWe talked.")
    requests, player = played(1, Style(note_tokens=77), notes)
    assert player.ledger.summaries == {"S1901M": "We talked.", "F1901M": "We talked."}  # without what was thought
    assert [(request.schema, request.max_tokens) for request in notes.requests] == [(None, 77)] * 2
    assert ["S1901M, your summary" in request.prompt for request in requests] == [False, True, True]
    assert requests[-1].prompt.count("We talked.") == 2
    assert "I hold all my units." not in requests[-1].prompt
    requests, player = played(1, Style(), None)  # nobody condenses them
    assert (requests[-1].prompt.count("I hold all my units."), player.ledger.summaries) == (2, {})


EMPTY = "empty note"


@pytest.mark.parametrize(
    ("summaries", "note", "losses", "faults"),
    [
        ("phases", " \n", {EMPTY: 2}, {}),
        ("phases", Reply("<think>Well, Italy", finish="length"), {EMPTY: 2}, {}),
        ("rolling", ModelError("bad request", "down"), {}, {"bad request": 2}),
    ],
)
def test_a_note_without_a_text_is_counted_and_not_asked_for_again(
    summaries: str, note: object, losses: dict, faults: dict
) -> None:
    """The messages are told in its place."""
    notes = ScriptedModel([note] * 3)
    requests, player = played(1, Style(summaries=summaries), notes)
    assert len(notes.requests) == 2
    assert (player.ledger.losses, player.ledger.faults, player.ledger.summaries) == (losses, faults, {})
    assert player.to_dict()["losses"] == losses
    assert requests[-1].prompt.count("I hold all my units.") == 2


def test_prompts_have_the_last_note_and_do_not_grow() -> None:
    """It is written from the one before and the messages of a phase."""
    notes = ScriptedModel(lambda request: f"Note {len(notes.requests)}. " + "I trust nobody. " * 50)
    requests, player = played(6, Style(summaries="rolling"), notes)
    assert len(requests) == 18
    assert len(notes.requests) == len(player.ledger.summaries) == 17
    for number, request in enumerate(requests):
        assert request.prompt.count("Note ") == min(number, 1)
        assert f"Note {number}. " in request.prompt or not number
    for number, request in enumerate(notes.requests):
        assert f"# Your note so far\n{f'{chr(34)}Note {number}. I trust' if number else 'none'}" in request.prompt
    assert "# Messages in F1901M\n" in notes.requests[1].prompt
    assert "S1901M" not in notes.requests[1].prompt
    assert [block.private for block in notes.requests[1].user] == [True, False]
    lengths = [len(request.prompt) for request in requests[1:]]
    assert max(lengths) < 1.1 * min(lengths)
    growing, _ = played(6, Style(), ScriptedModel(lambda request: "I trust nobody. " * 50))
    assert len(growing[-1].prompt) > 1.5 * max(lengths)


def test_messages_are_told_where_a_note_failed() -> None:
    notes = ScriptedModel(["Note 1.", ModelError("bad request", "no"), *["Note 2."] * 9])
    last = played(2, Style(summaries="rolling"), notes)[0][-1].prompt
    assert "## F1901M\n- round 1, you to all (public)" in last
    assert ("## S1901M" in last, last.count("Your note, of ")) == (False, 1)
