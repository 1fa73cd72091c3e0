"""Modal combat for language models: the prompt that asks for a program, and the parsing of the reply.

A program is a formula of provability logic about the opponent (`modal_env.logic.notation`). The prompt begins with the
rules, which stay the same, goes on with the rounds played, which only grow, and ends with the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.lm.models.protocol import Block
from agents.lm.prompts.building import Prompt
from agents.lm.reading.fields import Loss, joined_texts, loss_of, read_fields
from agents.lm.reading.parsing import object_schema

if TYPE_CHECKING:
    from modal_env.envs.rounds import Round
    from modal_env.envs.setting import Setting
    from modal_env.logic.syntax import Agent

LONGEST_SHOWN = 300  # characters of a formula that was played

COSTS = {
    "depth": "the depth of its formula: how deep its [] and <> are nested, the formulas of the agents that it calls X "
    "on included",
    "size": "the size of its formula in symbols",
    "opponent": "the size of the opponent's formula if your own says X(...) at all, and otherwise 0",
    "sum": "the size of its formula, and of the opponent's too if it says X(...) at all",
    "worlds": "how many worlds have to be looked at until the play settles, if it has a [] or <>, and otherwise 0",
}
SYNTAX = """\
# Programs
A program is one formula. It cooperates if the formula is true of the opponent X, and defects if not:
- X(me): X cooperates with this very program. X(NAME): X cooperates with the agent NAME. me: this program cooperates.
- true, false; ~ not, & and, | or, -> if ... then, <-> if and only if; parentheses.
- []F: F is provable (in Peano arithmetic). <>F: F is consistent, which is ~[]~F.
- X(...) and me may stand only somewhere under a [] or <>: programs do not run each other, they look for proofs.
For example, []X(me) cooperates with whoever provably cooperates with it, and so with itself (by Löb's theorem).
"""


@dataclass(frozen=True)
class ProgramReply:
    """A parsed reply.

    Attributes:
        reasoning: private thoughts.
        program: None if there is none that can be played.
        losses: what could not be used: of kind "program", or of `agents.lm.reading.fields.FORM_LOSSES`.
    """

    reasoning: str
    program: Agent | None
    losses: list[Loss]


def program_prompt(player: str, info: Mapping[str, Any]) -> Prompt:
    """The prompt for a player's next program.

    Args:
        player: "player_0".
        info: the info of the environment: ``info["setting"]`` and ``info["history"]``, see `modal_env.envs.aec`.
    """
    setting: Setting = info["setting"]
    rounds = [_round(setting, number, played) for number, played in enumerate(info["history"], start=1)]
    texts = ["\n# Rounds played\n", *rounds]
    earlier = (Block(text, cache=0 < number == len(rounds)) for number, text in enumerate(texts))
    you = f"\n# You\nYou are {player}.\n"
    now = (
        f"\n# Now\nThis is round {len(rounds) + 1} of {setting.rounds}. Write {player}'s program as the JSON object.\n"
    )
    return Prompt((Block(_rules(setting), cache=True), Block(you)), (*earlier, Block(now)))


def _rules(setting: Setting) -> str:
    return "\n".join((_opening(setting), SYNTAX + _bounds(setting), _agents(setting), _REPLY))


def _opening(setting: Setting) -> str:
    from modal_env.games.game import PAYOFFS

    pays = {moves: f"{points}" for moves, points in PAYOFFS.items()}
    pairs = "The two players" if setting.players == 2 else f"{setting.players} players are paired at random and"
    return f"""\
You are an expert in game theory and provability logic. You play a prisoner's dilemma by writing a program that plays \
it for you, and your aim is to be paid as much as you can over all rounds.

# Rules
- In each of {setting.rounds} rounds every player writes a program, without seeing those of the others. {pairs} then \
let their programs play once; each program knows the source of the other.
- If both programs cooperate, each player is paid {pays["CC"]}; if both defect, {pays["DD"]}. If one defects and the \
other cooperates, the first is paid {pays["DC"]} and the second {pays["CD"]}.
- Modeling the opponent costs something: {setting.epsilon} times the cost of your program is taken from what you are \
paid. Its cost is {COSTS[setting.cost]}.
- After each round all programs, moves and payments are shown to all.
- A program that cannot be read is replaced by DefectBot, which always defects.
"""


def _bounds(setting: Setting) -> str:
    if setting.actions == "library":
        return "In this game you cannot write a formula of your own: choose one of the agents below by its name.\n"
    what = "tokens (each operator, constant, me and X(...) is one)" if setting.actions == "tokens" else "characters"
    return (
        f"Your formula may have at most {setting.budget} {what}. The name of an agent below stands for its formula.\n"
    )


def _agents(setting: Setting) -> str:
    from modal_env.logic.library import LIBRARY

    known = {agent.name: agent for agent in setting.agents}
    if setting.actions == "formula":
        known = {**LIBRARY, **known}
    what = "" if setting.actions == "library" else ", which can also stand in X(NAME)"
    lines = "".join(f"- {name}: {agent.text}\n" for name, agent in known.items())
    return f"# Agents{what}\n{lines}"


_REPLY = """\
# Your reply
Reply with one JSON object and nothing before or after it:
{"reasoning": "...", "program": "..."}
- reasoning: your private thoughts: what the others may write, and what does best against that.
- program: a formula or a name, in exactly the form above.
"""


def _round(setting: Setting, number: int, played: Round) -> str:
    """A round, public information. Programs are printed from their parsed form, not quoted from the players' texts."""
    lines = [f"## Round {number}\n"]
    for index, name in enumerate(setting.names):
        text = played.programs[index].text
        shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]} ... ({len(text)} characters)"
        move = {"C": "cooperated", "D": "defected"}[played.moves[index]]
        against = setting.names[played.partners[index]]
        lines.append(f"- {name} wrote {shown}, {move} against {against}, was paid {played.payoffs[index]:g}\n")
    return "".join(lines)


def program_schema(setting: Setting) -> dict[str, Any]:
    """JSON schema of a reply; with the names of the programs if they are chosen from a library."""
    names = {"enum": [agent.name for agent in setting.agents]} if setting.actions == "library" else {}
    return object_schema({"reasoning": {"type": "string"}, "program": {"type": "string", **names}})


def read_program(text: str, setting: Setting, is_cut: bool = False) -> ProgramReply:
    """Parses the program of a reply, and records what could not be used. Never raises, whatever the text is.

    Args:
        text: the reply.
        setting: the setting of the game.
        is_cut: whether the reply is known to be cut off, e.g. by `max_tokens`.
    """
    from modal_env.envs.action_modes import find
    from modal_env.errors import ModalError

    fields = read_fields(text, ("reasoning", "program"), is_cut)
    losses, written = fields.losses, joined_texts(fields.values.get("program"), whole=True).strip()
    program = None
    try:
        if written:
            program = find(written, {agent.name: agent for agent in setting.agents})
            setting.mode().actions(program)
    except ModalError as error:
        program = None
        losses = [*losses, loss_of("program", written, str(error))]
    else:
        if program is None and fields.values:
            losses = [*losses, loss_of("program", text, "there is none")]
    return ProgramReply(joined_texts(fields.values.get("reasoning")), program, losses)
