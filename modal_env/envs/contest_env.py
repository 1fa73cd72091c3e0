"""The common part of the AEC and the parallel environment: players, spaces and rendering."""

from __future__ import annotations

import copy
from typing import Self

from gymnasium import spaces

from modal_env.envs.rounds import Contest
from modal_env.envs.setting import Setting, number_of
from modal_env.errors import ActionError


class ContestEnv:
    """Base class of both environments, next to PettingZoo's base classes."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.render_mode = setting, setting.render_mode
        self.contest = Contest(setting)
        self.possible_agents = setting.names
        self.agents: list[str] = []
        self._begun = False
        self.observation_spaces = {agent: self.contest.observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: self.contest.mode.action_space() for agent in self.possible_agents}

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a shallow copy would share the game

    def observation_space(self, agent: str) -> spaces.Space:
        """The observation space of a player.

        Raises:
            ActionError: no player of this name.
        """
        return self.observation_spaces[self.possible_agents[number_of(agent, self.possible_agents)]]

    def action_space(self, agent: str) -> spaces.Space:
        """The action space of a player.

        Raises:
            ActionError: no player of this name.
        """
        return self.action_spaces[self.possible_agents[number_of(agent, self.possible_agents)]]

    def _check_begun(self) -> None:
        if not self._begun:
            raise ActionError("the game has not begun: call reset() first")

    def _check_running(self) -> None:
        self._check_begun()
        if not self.agents:
            raise ActionError("the game is over: call reset() for another")

    def render(self) -> str | None:
        """A table of the programs and payoffs of the last round: returned ("ansi") or printed ("human").

        Raises:
            ActionError: before `reset`.
        """
        self._check_begun()
        return render(self.contest)

    def close(self) -> None:
        """Does nothing: no resources are open."""


def render(contest: Contest) -> str | None:
    """The table of the last round: returned under render_mode "ansi", printed under "human"."""
    if contest.setting.render_mode is None:
        return None
    text = round_text(contest)
    if contest.setting.render_mode == "ansi":
        return text
    print(text)
    return None


def round_text(contest: Contest) -> str:
    """The table of the last round as plain text."""
    from modal_env.text_tables import add_row, as_text, new_table, with_legend  # loads rich

    setting, history = contest.setting, contest.history
    title = f"Round {len(history)} of {setting.rounds}, epsilon {setting.epsilon}, cost: {setting.cost}"
    table = new_table(title, "player", "against", "program", "formula", "move", ">paid")
    if not history:
        return as_text(with_legend(table, "nobody has played yet"))
    played = history[-1]
    for name, partner, program, move, paid in zip(
        setting.names, played.partners, played.programs, played.moves, played.payoffs, strict=True
    ):
        known = program.name if program.name != program.text else ""
        add_row(table, name, setting.names[partner], known, program.text, move, f"{paid:.4g}")
    return as_text(with_legend(table))
