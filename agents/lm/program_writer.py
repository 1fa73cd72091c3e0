"""A language model as a player of `modal_env`: one call per round returns private reasoning and a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.lm.errors import ModelError
from agents.lm.ledger import Ledger
from agents.lm.models.protocol import Model, Request
from agents.lm.player_settings import Style
from agents.lm.program_prompts import ProgramReply, program_prompt, program_schema, read_program
from agents.lm.reading.fields import Loss, is_cut_off, is_in_form
from agents.modal.players import RoundWriter
from modal_env import Agent, DefectBot, ModalError, Setting
from modal_env.envs.action_modes import ContestTurn

if TYPE_CHECKING:
    from agents.asking import Asking


class ProgramWriter(RoundWriter):
    """Writes a program in whatever way the environment asks for; without one of its own it plays DefectBot.

    Args:
        model: the model to ask.
        style: how it is sampled; flavours and ablations do not apply here.
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
            self._actions = yield from self._written(info)
        return self.next_action(observation)

    def _written(self, info: Mapping[str, Any]) -> Asking[tuple[Any, ...]]:
        """The actions of the program that the model wants, or of the one in its place."""
        setting: Setting = info["setting"]
        where = {"round": len(info["history"]) + 1}
        reply = yield from self.ledger.ask(self.model, self._request(info), {"kind": "program"} | where)
        if isinstance(reply, ModelError):
            self.ledger.note_turn(where | {"fault": reply.kind}, "", (), is_valid=False)
            return _actions(setting, _instead(setting))
        read = read_program(reply.text, setting, is_cut_off(reply.finish))
        program, losses = _playable(read, setting)
        is_valid = is_in_form(losses) and not any(loss.kind == "program" for loss in losses)
        self.ledger.note_turn(where | {"finish": reply.finish}, read.reasoning, losses, is_valid)
        return _actions(setting, program)

    def _request(self, info: Mapping[str, Any]) -> Request:
        prompt = program_prompt(self.agent, info)
        schema = None if self.style.schema == "none" else program_schema(info["setting"])
        return self.style.request(prompt, self.agent, self.seed, schema, self.style.max_tokens)


def _playable(read: ProgramReply, setting: Setting) -> tuple[Agent, list[Loss]]:
    """The program, if it can be written in this environment, and what was lost."""
    if read.program is None:
        return _instead(setting), read.losses
    try:
        _actions(setting, read.program)
    except ModalError as error:
        return _instead(setting), [*read.losses, Loss("program", str(error))]
    return read.program, read.losses


def _actions(setting: Setting, program: Agent) -> tuple[Any, ...]:
    """The actions that write a program.

    Raises:
        ModalError: there are none, or the environment would reject them.
    """
    mode = setting.mode()
    actions = mode.actions(program)
    if setting.actions == "formula":
        mode.take(ContestTurn(), actions[0])
    return actions


def _instead(setting: Setting) -> Agent:
    """The fallback program: DefectBot, or the first that can be chosen if DefectBot cannot."""
    is_open = setting.actions != "library" or DefectBot in setting.agents
    return DefectBot if is_open else setting.agents[0]
