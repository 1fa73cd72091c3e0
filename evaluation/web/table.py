"""A game with people, without network: the current step, accepted answers, and the journal on disk.

A game proceeds in steps, as in `welfare_env.parallel_env`: each round of messages is a step, and so are the orders of a
phase. In a step, all players act simultaneously. A person's answer is final once it is accepted; it is in the journal
before `accept` returns. When all have answered, `advance` plays the step and writes all actions.

The journal has an entry for each arrival of a person ("enter"), each answer ("answer") and each step ("step"), with its
time. Opening a table replays the journal: policies act again to restore their memory, but the recorded actions are
played.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agents import Policy
from agents.lm.models.shared_models import SharedModels
from evaluation.play.playing import set_up_game
from evaluation.web.journal import Journal
from evaluation.web.serving import Refused
from evaluation.web.settings import SPECTATOR, SeatedGameError, TableSettings
from welfare_env import Game
from welfare_env.errors import ActionError, OrderError, PressError
from welfare_env.game.view import MESSAGES, ORDERS, View

_log = logging.getLogger(__name__)
BEFORE, END = "lobby", "end"
KINDS = ("enter", "answer", "step")
_THINKING = ThreadPoolExecutor(16, "thinking")  # one thread acts; the others are of policies that took too long
LONGEST_THOUGHT = 1800.0  # time limit for an action, in seconds; slower policies hold from then on
LONGEST_NUMBER = 64  # characters of the number of an answer


class SeatedGame:
    """A game with people and its journal.

    Args:
        models: cache, budget and models for language-model players; with a cache, opening a table again costs nothing.

    Attributes:
        entered: the people who have arrived; the game begins when all have.
        position: number of public changes so far, by which a page notices that it has to ask for the state.
        since: start of the current step, in seconds since 1970.
        failed: power -> error of its policy; its units hold from then on.

    Raises:
        SeatedGameError: the journal is damaged.
        WelfareEnvError: a policy cannot be made.
    """

    def __init__(self, settings: TableSettings, journal: Journal, models: SharedModels | None = None) -> None:
        self.settings, self.people, self.journal = settings, settings.people, journal
        self.entered: set[str] = set()
        self.failed: dict[str, str] = {}
        self.position, self.since = 0, time.time()
        self._answers: dict[str, dict[str, Any]] = {}  # of this step
        self._accepted: dict[tuple[str, str, str], str] = {}  # (seat, step, number) -> digest, of all steps
        seats = set_up_game(settings.spec, models)
        self._policies, self._env = seats.policies, seats.env.unwrapped
        self._observations, self._infos = self._env.reset(seed=settings.spec.seed)
        for number, entry in enumerate(journal.entries(), 1):
            try:
                if entry["kind"] in KINDS:
                    self._replay(entry)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                raise SeatedGameError(f"{journal.path}: entry {number} is damaged: {error!r:.200}") from error

    @property
    def game(self) -> Game:
        """The game in its current state."""
        game: Game = self._env.game
        return game

    # The current step.

    @property
    def has_begun(self) -> bool:
        """Whether everybody has arrived."""
        return self.entered >= set(self.people)

    @property
    def is_done(self) -> bool:
        """Whether the game is over."""
        return self.game.is_done

    @property
    def step(self) -> str:
        """The current step: "S1901M 1" (a message round) or "S1901M orders"; "lobby" before the game, "end" after."""
        if not self.has_begun:
            return BEFORE
        if self.is_done:
            return END
        view = self._any_view
        return f"{view.phase} {view.message_round if view.asked == MESSAGES else ORDERS}"

    @property
    def _any_view(self) -> View:
        view: View = self._infos[self._env.agents[0]]["view"]
        return view

    def view(self, seat: str) -> View:
        """The current view of a power or a spectator."""
        if seat == SPECTATOR:
            return View(self.game.position, SPECTATOR, self.game.messages, self.game.history)
        if self.is_done:
            return self.game.view(seat)
        return self.game.view(seat, self._any_view.asked, self._any_view.message_round)

    def is_asked(self, seat: str) -> bool:
        """Whether a person has something to decide in this step."""
        if seat not in self.people or not self.has_begun or self.is_done:
            return False
        view = self.view(seat)
        if view.asked == MESSAGES:
            return view.position.is_alive(seat)
        return bool(view.legal_orders or view.points_to_give)

    @property
    def awaited(self) -> list[str]:
        """The people who have not answered yet."""
        return [seat for seat in self.people if self.is_asked(seat) and seat not in self._answers]

    def answer(self, seat: str) -> dict[str, Any] | None:
        """A person's answer in this step: {"orders": [...]} or {"messages": {...}}; None if there is none yet."""
        return self._answers.get(seat)

    # Changes of the game, which are on disk when the method returns.

    def enter(self, seat: str) -> None:
        """Record a person's arrival, if it is new."""
        if seat in self.people and seat not in self.entered:
            self._write({"kind": "enter", "seat": seat})

    def accept(self, seat: str, given: Mapping[str, Any]) -> bool:
        """Accept a person's answer: {"step", "number", "orders": [...]} or {"step", "number", "messages": {...}}.

        Args:
            given: `number` is chosen by the page. The same answer with the same number is confirmed again without
                effect; a different answer with the same number is refused.

        Returns:
            Whether the answer is new.

        Raises:
            Refused: the answer is for another step, given before, not asked for, malformed or illegal; nothing has
                changed.
        """
        step, number = given.get("step"), given.get("number")
        if not isinstance(step, str) or not isinstance(number, str) or not 0 < len(number) <= LONGEST_NUMBER:
            raise Refused(400, "malformed", "give step and number as strings")
        digest, known = _digest(given), self._accepted.get((seat, step, number))
        if known is not None and known != digest:
            raise Refused(409, "answered", f"your first answer for {step!r} was already accepted, and is final")
        if known is not None:
            return False
        if step != self.step:
            late = f"this answer is for {step[:40]!r}, but the game is at {self.step!r}: nothing was changed"
            raise Refused(409, "late", late)
        if seat in self._answers:
            raise Refused(409, "answered", f"{seat} has already answered for {step!r}; answers are final")
        if not self.is_asked(seat):
            raise Refused(409, "not asked", f"{seat} has nothing to decide in {step!r}")
        checked = self.checked(seat, given)
        self._write(
            {"kind": "answer", "seat": seat, "step": step, "number": number, "digest": digest, "given": checked}
        )
        return True

    def checked(self, seat: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """A checked answer: orders in our notation, or messages by recipient.

        Raises:
            Refused: the answer is malformed or illegal.
        """
        view = self.view(seat)
        try:
            if view.asked == MESSAGES:
                return {MESSAGES: _checked_messages(self.game, seat, given.get(MESSAGES), view.message_round)}
            orders = given.get(ORDERS)
            if not isinstance(orders, list) or not all(isinstance(order, str) for order in orders):
                raise Refused(400, "malformed", "give orders: a list of strings")
            trial = self.game.branch()
            trial.submit(seat, orders)
            return {ORDERS: list(trial.orders(seat))}
        except (OrderError, PressError) as error:
            raise Refused(422, "illegal", str(error)) from error

    def think(self) -> dict[str, Any]:
        """The policies' actions in this step; may take long. Does not change the game."""
        actions = {}
        for player in self._env.agents:
            if player in self.people or player in self.failed:
                continue
            found, error = _acted(self._policies[player], self._observations[player], self._infos[player])
            try:
                if error is None:
                    self._env.check_action(player, found)
                    actions[player] = found
            except ActionError as wrong:
                error = wrong
            if error is not None:
                self.failed[player] = f"{type(error).__name__}: {error}"[:500]
                _log.warning("%s holds from now on: %r", player, self.failed[player])
        return actions

    def advance(self, actions: Mapping[str, Any]) -> None:
        """Play the step with the policies' actions (from `think`) and people's answers; whoever is late holds.

        Raises:
            SeatedGameError: the step cannot be written: then the table must be opened anew.
        """
        answers = {
            seat: given.get(ORDERS) or list(given.get(MESSAGES, {}).items()) for seat, given in self._answers.items()
        }
        entry = {"kind": "step", "step": self.step, "late": self.awaited, "failed": dict(self.failed)}
        self._write(entry | {"actions": self._played({**actions, **self._encoded(answers)})})

    def _encoded(self, texts: Mapping[str, Any]) -> dict[str, Any]:
        """Player -> action, from orders or (recipient, text) pairs."""
        asked = self._any_view.asked
        return {
            player: self.view(player).encode_messages([(to, text) for to, text in said])
            if asked == MESSAGES
            else self.view(player).encode_orders(said)
            for player, said in texts.items()
        }

    def _played(self, actions: Mapping[str, Any]) -> dict[str, Any]:
        """Play the step; return all actions for the journal: orders, or messages as [recipient, text]."""
        asked, before, players = self._any_view.asked, len(self.game.messages), list(self._env.agents)
        self._observations, _, _, _, self._infos = self._env.step(dict(actions))
        if asked == MESSAGES:
            sent = self.game.messages[before:]
            return {who: [[each.recipient, each.text] for each in sent if each.sender == who] for who in players}
        done = self.game.history[-1]
        return {who: [*done.orders.get(who, ()), *(void.order for void in done.void.get(who, ()))] for who in players}

    # The journal.

    def _write(self, entry: dict[str, Any]) -> None:
        entry = {**entry, "time": round(time.time(), 3)}
        self.journal.append(entry)
        self._apply(entry)

    def _apply(self, entry: Mapping[str, Any]) -> None:
        """The effect of an entry, but for the game's step, which is played before."""
        if entry["kind"] == "answer":  # without a new position, since others must not learn who has answered
            self._answers[entry["seat"]] = entry["given"]
            self._accepted[entry["seat"], entry["step"], entry["number"]] = entry["digest"]
            return
        if entry["kind"] == "step":
            self._answers.clear()
        else:
            self.entered.add(entry["seat"])
        self.position, self.since = self.position + 1, entry["time"]

    def _replay(self, entry: Mapping[str, Any]) -> None:
        """Replay an entry of the journal."""
        if not math.isfinite(entry["time"]):
            raise ValueError(f"time {entry['time']!r}")
        if entry["kind"] == "step":
            if entry["step"] != self.step:
                raise ValueError(f"step {entry['step']!r} does not follow; the game is at {self.step!r}")
            self.failed = dict(entry["failed"])  # these policies do not act
            self.think()  # restores the policies' memory
            self.failed = dict(entry["failed"])
            self._played(self._encoded({who: said for who, said in entry["actions"].items() if said}))
        self._apply(entry)

    def record(self) -> dict[str, Any]:
        """The game's record, as stored by evaluations."""
        record: dict[str, Any] = self.game.record()
        spec = self.settings.spec
        record["welfare_env"] |= {"seed": spec.seed, "players": spec.written, "simultaneous": True}
        if self.failed:
            record["welfare_env"]["failed"] = dict(self.failed)
        return record


def _acted(policy: Policy, observation: Any, info: Mapping[str, Any]) -> tuple[Any, BaseException | None]:
    """A policy's action, or the error it raised, so that a faulty policy does not end the game for the others."""
    future = _THINKING.submit(policy.act, observation, info)
    try:
        error = future.exception(LONGEST_THOUGHT)
    except TimeoutError:
        return None, TimeoutError(f"no action within {LONGEST_THOUGHT:.0f} seconds")
    return (future.result(), None) if error is None else (None, error)


def _digest(given: Mapping[str, Any]) -> str:
    """A digest of an answer's contents."""
    said = json.dumps([given.get(ORDERS), given.get(MESSAGES)], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _checked_messages(game: Game, seat: str, given: object, message_round: int) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
        raise Refused(400, "malformed", "give messages: an object, recipient -> text")
    written = {recipient: text for recipient, text in given.items() if text.strip()}
    for recipient, text in written.items():
        game.check_send(seat, recipient, text, message_round)
    return written
