"""A language model as a player of `modal_env`: one call per round returns private reasoning and a program.

A program is a formula of provability logic about the opponent (`modal_env.logic.notation`). The prompt begins with the
rules, which stay the same, goes on with the rounds played, which only grow, and ends with the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.lm.errors import ModelError
from agents.lm.models.protocol import Block, Model
from agents.lm.player.ledger import Ledger
from agents.lm.player.settings import Style
from agents.lm.prompts.building import Prompt
from agents.lm.reading.fields import is_cut_off, joined_texts, read_fields
from agents.lm.reading.issues import ParseIssue, is_in_form
from agents.lm.reading.schemas import object_schema
from agents.modal.players import RoundWriter
from modal_env import LIBRARY, Agent, DefectBot, ModalError, Setting
from modal_env.envs.action_modes import ContestTurn, find
from modal_env.games.costs import Cost
from modal_env.games.payoffs import PayoffTable

if TYPE_CHECKING:
    from agents.asking import Asking
    from modal_env.envs.rounds import Round

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


class ProgramReply(NamedTuple):
    """A parsed reply.

    Attributes:
        reasoning: private thoughts.
        program: None if the reply has no valid program.
        issues: what is not used, of kind "program" or of `agents.lm.reading.issues.FORM_ISSUES`.
    """

    reasoning: str
    program: Agent | None
    issues: list[ParseIssue]


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
    rules = "\n".join((_opening(setting), SYNTAX + _bounds(setting), _agents(setting), _REPLY))
    return Prompt((Block(rules, cache=True), Block(you)), (*earlier, Block(now)))


def _opening(setting: Setting) -> str:
    pairs = "The two players" if setting.players == 2 else f"{setting.players} players are paired at random and"
    game = "prisoner's dilemma" if setting.payoffs.is_dilemma else "game of two moves, cooperate and defect,"
    return f"""\
You are an expert in game theory and provability logic. You play a {game} by writing a program that plays \
it for you, and your aim is to be paid as much as you can over all rounds.

# Rules
- In each of {setting.rounds} rounds every player writes a program, without seeing those of the others. {pairs} then \
let their programs play once; each program knows the source of the other.
{_payments(setting.payoffs)}
- Modeling the opponent costs something: {setting.epsilon} times the cost of your program is taken from what you are \
paid. Its cost is {_cost(setting.cost)}.
- After each round all programs, moves and payments are shown to all.
- A program that cannot be read is replaced by DefectBot, which always defects.
"""


def _payments(table: PayoffTable) -> str:
    """The payoffs of the programs' moves."""
    if table.is_symmetric:
        return f"""\
- If both programs cooperate, each player is paid {table["CC"]}; if both defect, {table["DD"]}. If one defects and \
the other cooperates, the first is paid {table["DC"]} and the second {table["CD"]}."""
    words = {"C": "cooperates", "D": "defects"}
    lines = [
        f"- If the row player's program {words[row]} and the column player's {words[column]}, they are paid "
        f"{table[row + column]} and {table.turned[column + row]}."
        for row in "CD"
        for column in "CD"
    ]
    return "\n".join([*lines, "- The first player of a pair is the row player; of two players that is player_0."])


def _cost(cost: str | Cost) -> str:
    return COSTS[cost] if isinstance(cost, str) else f"computed from its source: {cost}"


def _bounds(setting: Setting) -> str:
    if setting.actions == "library":
        return "In this game you cannot write a formula of your own: choose one of the agents below by its name.\n"
    what = "tokens (each operator, constant, me and X(...) is one)" if setting.actions == "tokens" else "characters"
    return (
        f"Your formula may have at most {setting.budget} {what}. The name of an agent below stands for its formula.\n"
    )


def _agents(setting: Setting) -> str:
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
        if played.partners[index] == index:
            lines.append(f"- {name} wrote {shown}, sat out\n")
            continue
        move = {"C": "cooperated", "D": "defected"}[played.moves[index]]
        against = setting.names[played.partners[index]]
        lines.append(f"- {name} wrote {shown}, {move} against {against}, was paid {played.payoffs[index]:g}\n")
    return "".join(lines)


def program_schema(setting: Setting) -> dict[str, Any]:
    """JSON schema of a reply; with the names of the programs if they are chosen from a library."""
    names = {"enum": [agent.name for agent in setting.agents]} if setting.actions == "library" else {}
    return object_schema({"reasoning": {"type": "string"}, "program": {"type": "string", **names}})


def read_program(text: str, setting: Setting, is_cut: bool = False) -> ProgramReply:
    """Parses the program of a reply, and records what is not used. Never raises, whatever the text is.

    Args:
        text: the reply.
        setting: the setting of the game, in whose form the program can be written.
        is_cut: whether the reply is known to be cut off, e.g. by `max_tokens`.
    """
    fields = read_fields(text, ("reasoning", "program"), is_cut)
    issues, written = fields.issues, joined_texts(fields.values.get("program"), whole=True).strip()
    program = None
    if written:
        try:
            found = find(written, {agent.name: agent for agent in setting.agents})
            _actions(setting, found)
            program = found
        except ModalError as error:
            issues.append(ParseIssue.of("program", written, str(error)))
    elif fields.values:
        issues.append(ParseIssue.of("program", text, "there is none"))
    return ProgramReply(joined_texts(fields.values.get("reasoning")), program, issues)


class ProgramWriter(RoundWriter):
    """Writes programs in the action format of the environment; if a reply has none, it plays DefectBot.

    Args:
        model: the model to ask.
        style: the sampling of replies; flavours and ablations do not apply here.
    """

    def __init__(self, model: Model, style: Style) -> None:
        self.model, self.style = model, style

    def reset(self, agent: str, seed: int, ledger: Ledger) -> None:
        """Clears all state for a new game."""
        self.agent, self.seed, self.ledger = agent, seed, ledger
        self._round = -1

    def asking(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> Asking[Any]:
        """The next action that writes this round's program."""
        if self.begins_round(observation, info):
            self._actions = _actions(info["setting"], (yield from self._written(info)))
        return self.next_action(observation)

    def _written(self, info: Mapping[str, Any]) -> Asking[Agent]:
        """The model's program; if there is none, DefectBot, or the first agent of a library that lacks it."""
        setting: Setting = info["setting"]
        is_open = setting.actions != "library" or DefectBot in setting.agents
        fallback = DefectBot if is_open else setting.agents[0]
        where = {"round": len(info["history"]) + 1}
        schema = None if self.style.schema == "none" else program_schema(setting)
        request = self.style.request(program_prompt(self.agent, info), self.agent, self.seed, schema)
        reply = yield from self.ledger.ask(self.model, request, {"kind": "program"} | where)
        if isinstance(reply, ModelError):
            self.ledger.note_turn(where | {"fault": reply.kind}, "", (), is_valid=False)
            return fallback
        read = read_program(reply.text, setting, is_cut_off(reply.finish))
        is_valid = is_in_form(read.issues) and not any(issue.kind == "program" for issue in read.issues)
        self.ledger.note_turn(where | {"finish": reply.finish}, read.reasoning, read.issues, is_valid)
        return read.program or fallback


def _actions(setting: Setting, program: Agent) -> tuple[Any, ...]:
    """The actions that write a program.

    Raises:
        ModalError: the program cannot be written, or the environment would reject its actions.
    """
    mode = setting.mode()
    actions = mode.actions(program)
    if setting.actions == "formula":
        mode.take(ContestTurn(), actions[0])
    return actions
