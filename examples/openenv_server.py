"""An OpenEnv server for one seat of Welfare Diplomacy, which trainers on any machine play over WebSocket.

    python -m venv openenv && . openenv/bin/activate
    pip install -c constraints.txt -e . && pip install "openenv==0.10.0" "tomlkit<0.15"
    python examples/openenv_server.py --port 8000

and from any other process, without this package:

    from openenv.core import GenericEnvClient

    with GenericEnvClient(base_url="http://127.0.0.1:8000").sync() as seat:
        turn = seat.reset(seed=0, seat="FRANCE", others="dove", years=1)
        while not turn.done:
            turn = seat.step({"reply": answer(turn.observation["text"])})

A reply is any text, parsed leniently; `turn.reward` is its reward. At the end `observation["measures"]` has the game's
measures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer
import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app
from pydantic import Field

import evaluation
from agents import ProfileError, SeatGame, SeatTurn, read_profile
from welfare_env import UnknownMapError

MOST_GAMES = 64
"""Most games at the same time, each with its own connection."""


class SeatReply(Action):
    """A reply of the seat's player."""

    reply: str = Field(description="The JSON object that the text asks for, with orders and messages, as text.")


class SeatObservation(Observation):
    """What the seat's player observes."""

    text: str = Field(description="The turn: what has happened since the last reply, and what is asked now.")
    losses: list[str] = Field(default=[], description="Unusable parts of the last reply.")
    measures: dict[str, float] = Field(default={}, description="At the end: root Nash welfare, points a year.")


class SeatState(State):
    """The current game."""

    seat: str = ""


class WelfareSeat(Environment[SeatReply, SeatObservation, SeatState]):
    """One game at a time; `reset` takes the options of `agents.SeatGame`."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._game = SeatGame()
        self._state = SeatState()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> SeatObservation:
        """Begin a game.

        Raises:
            WelfareEnvError: an unknown option of `SeatGame`, an invalid value, or a policy or map that clients may not
                choose.
        """
        check_harmless(options)
        self._game = SeatGame(**options)
        self._state = SeatState(episode_id=episode_id, step_count=0, seat=self._game.seat)
        return self._observed(self._game.reset(seed or 0))

    def step(self, action: SeatReply, timeout_s: float | None = None, **options: Any) -> SeatObservation:
        """Give a reply."""
        turn = self._game.step(action.reply)
        self._state.step_count += 1
        return self._observed(turn)

    @property
    def state(self) -> SeatState:
        """The current game."""
        return self._state

    def _observed(self, turn: SeatTurn) -> SeatObservation:
        losses = [f"{issue.kind}: {issue.what}" for issue in turn.reply.issues] if turn.reply else []
        measures: dict[str, float] = {}
        if turn.is_done:
            measured = evaluation.measure(self._game.record())
            measures = {"root_nash_welfare": measured.root_nash_welfare, **measured.welfare_per_year}
        return SeatObservation(
            text=turn.text, losses=losses, measures=measures, reward=turn.reward, done=turn.is_done
        )  # fmt: skip


def check_harmless(options: Mapping[str, Any]) -> None:
    """Refuse what would spend the server's money, send its keys somewhere, or read its files.

    Raises:
        ProfileError: a policy that is or contains a language model, a checkpoint, or code from outside the package.
        UnknownMapError: a path in place of a map's name.
    """
    for name in {"others", "baseline"} & {name for name, value in options.items() if value is not None}:
        for spec in read_profile(options[name]).policies:
            if spec.models or spec.checkpoints or spec.sources:
                raise ProfileError(f"{name}={spec.text!r:.80}: clients of this server may choose scripted players only")
    map_name = options.get("map_name", "standard")
    if not isinstance(map_name, str) or not re.fullmatch(r"[A-Za-z0-9_:-]{1,40}", map_name):
        raise UnknownMapError(f"map_name={map_name!r:.80}: give the name of a map that comes with the package")


app = create_app(
    WelfareSeat, SeatReply, SeatObservation, env_name="welfare_seat", max_concurrent_envs=MOST_GAMES,
    state_cls=SeatState,
)  # fmt: skip


def main(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8000,
) -> None:
    """Serve games until interrupted."""
    uvicorn.run(app, host=host, port=port, log_level="warning")


if __name__ == "__main__":
    typer.run(main)
