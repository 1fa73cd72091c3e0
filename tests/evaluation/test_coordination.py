"""Coordinated coalitions: one policy object for all members, which is told who they are."""

import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import agents
from agents import HoldPolicy, ProsocialPolicy
from evaluation import EvaluationError, GameSpec, GameStore, exploitability, play_game
from evaluation.play.stored_games import conditions
from welfare_env import Rules

QUICK = Rules(years=1, message_rounds=0)
PAIR = ("PLAYERA", "PLAYERC")


class Pact:
    """Plays as prosocial for every member, and keeps count of whose turn it was."""

    told: list[tuple[tuple[str, ...], int]] = []  # noqa: RUF012 (of all objects, for the tests)

    def reset(self, agent: str, seed: int = 0) -> None:
        raise AssertionError("it was told one power only")

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        self.told.append((tuple(agents), id(self)))
        self.members = {agent: ProsocialPolicy() for agent in agents}
        for agent, member in self.members.items():
            member.reset(agent, seed)

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        return self.members[info["view"].power].act(observation, info)


PACT = f"import:{__name__}.Pact"
COMMON: dict[str, Any] = {"coalitions": [PAIR, "PLAYERB"], "rules": QUICK, "map_name": "clique:3"}


@pytest.fixture(autouse=True)
def forget() -> None:
    Pact.told.clear()


def test_one_object_plays_all_members() -> None:
    result = exploitability("hold", 2, selection_games=1, deviator=Pact, coordinated=True, **COMMON)
    chosen_in, measured_in = [PAIR, ("PLAYERB",)], [PAIR, PAIR, ("PLAYERB",), ("PLAYERB",)]
    assert [who for who, _ in Pact.told] == chosen_in + measured_in
    alone = exploitability("hold", 2, selection_games=1, deviator="prosocial", **COMMON)
    assert [gain.gain for gain in result.gains] == [gain.gain for gain in alone.gains]
    assert isinstance(Pact(), agents.CoalitionPolicy)
    assert not isinstance(HoldPolicy(), agents.CoalitionPolicy)


def test_at_once_too() -> None:
    result = exploitability("hold", 1, selection_games=1, deviator=Pact, coordinated=True, simultaneous=True, **COMMON)
    assert len(Pact.told) == 2 * (1 + 1)  # coalitions, in a game for choosing and in a measured one
    assert result.witness.record["welfare_env"]["coalition"] == list(result.best)


def test_coordinated_games_are_stored_apart(
    kept: GameStore, store_path: Path, rows_of: Callable[[Path], list[Any]], played: list[GameSpec]
) -> None:
    exploitability("hold", 1, selection_games=1, deviator=PACT, coordinated=True, store=kept, **COMMON)
    again = exploitability("hold", 1, selection_games=1, deviator=PACT, coordinated=True, store=kept, **COMMON)
    assert len(played) == kept.count() == 2 * 3  # self-play and two coalitions, for choosing and measured
    assert [row.specification.get("coalition") for row in rows_of(store_path)].count(None) == 2
    assert any("coordinated: PLAYERA + PLAYERC" in group.rules for group in conditions(kept.games()))
    assert again.deviator == PACT


def test_a_coalition_goes_to_other_processes() -> None:
    players = (("PLAYERA", "hold"), ("PLAYERB", "hold"))
    spec = GameSpec(players, 0, QUICK, "clique:2", "fast", coalition=("PLAYERA", "PLAYERB"))  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 - our own
    assert spec.to_dict()["coalition"] == ["PLAYERA", "PLAYERB"]
    with pytest.raises(EvaluationError, match="hold: it does not play a coalition"):
        play_game(spec)
