"""A game with people, without network: the current step, accepted answers, and the journal on disk.

A game proceeds in steps, as in `welfare_env.parallel_env`: each round of messages is a step, and so are the orders of a
phase. In a step, all players act simultaneously. A person's answer is final once it is accepted; it is in the journal
before `accept` returns. When all have answered, `advance` writes the policies' actions and plays the step.

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
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from agents import Policy
from agents.lm.models.shared_models import SharedModels
from evaluation.play.playing import set_up_game
from evaluation.web.journal import Journal
from evaluation.web.settings import SPECTATOR, SeatedGameError, TableSettings
from welfare_env import Game, WelfareEnvError
from welfare_env.errors import ActionError
from welfare_env.game.view import MESSAGES, ORDERS, View

_log = logging.getLogger(__name__)
BEFORE, END = "lobby", "end"
_THINKING = ThreadPoolExecutor(16, "thinking")  # one thread acts; the others are of policies that took too long
LONGEST_THOUGHT = 1800.0  # time limit for an action, in seconds; slower policies hold from then on
LONGEST_NUMBER = 64  # characters of the number of an answer


class AnswerRefused(WelfareEnvError, ValueError):
    """A refused answer: for another step, already given, not requested, or malformed.

    Attributes:
        code: "late", "answered", "not asked" or "malformed".
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SeatedGame:
    """A game with people and its journal.

    Args:
        folder: folder of the journal.
        models: cache, budget and models for language-model players; with a cache, opening a table again costs nothing.

    Attributes:
        entered: the people who have arrived; the game begins when all have.
        position: number of public changes so far; the ids of the game's events.
        since: start of the current step, in seconds since 1970.
        failed: power -> error of its policy; its units hold from then on.

    Raises:
        JournalError: the journal is damaged, or open in another process.
        SeatedGameError: an entry of the journal is invalid.
        WelfareEnvError: a policy cannot be made.
    """

    def __init__(self, settings: TableSettings, folder: Path, models: SharedModels | None = None) -> None:
        self.settings, self.people = settings, settings.people
        self.entered: set[str] = set()
        self.failed: dict[str, str] = {}
        self.position, self.since = 0, time.time()
        self._answers: dict[str, dict[str, Any]] = {}
        seats = set_up_game(settings.spec, models)
        self._policies, self._env = seats.policies, seats.env.unwrapped
        self._observations, self._infos = self._env.reset(seed=settings.seed)
        self._journal = Journal(folder / "journal.jsonl")
        with ExitStack() as opened:
            opened.callback(self.stop)
            for number, entry in enumerate(self._journal.entries, 1):
                self._replay(entry, number)
            opened.pop_all()

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
        asked = self._any_view
        return self.game.view(seat, asked.asked, asked.message_round)

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
        found = self._answers.get(seat)
        return None if found is None else {name: found[name] for name in (ORDERS, MESSAGES) if name in found}

    # Changes of the game, which are on disk when the method returns.

    def enter(self, seat: str) -> bool:
        """Record a person's arrival; return whether it is new."""
        if seat in self.entered or seat not in self.people:
            return False
        self._apply(self._journaled({"kind": "enter", "seat": seat}))
        return True

    def accept(self, seat: str, given: Mapping[str, Any]) -> bool:
        """Accept a person's answer: {"step", "number", "orders": [...]} or {"step", "number", "messages": {...}}.

        Args:
            given: `number` is chosen by the page. The same answer with the same number is confirmed again without
                effect; a different answer with the same number is refused.

        Returns:
            Whether the answer is new.

        Raises:
            AnswerRefused, OrderError, PressError: the answer is invalid; nothing has changed.
        """
        step, number = given.get("step"), given.get("number")
        if not isinstance(step, str) or not isinstance(number, str) or not 0 < len(number) <= LONGEST_NUMBER:
            raise AnswerRefused("malformed", "give step and number as strings")
        digest = _digest(given)
        known = self._known(seat, step, number)
        if known is not None:
            if known["digest"] != digest:
                raise AnswerRefused("answered", f"your first answer for {step!r} was already accepted, and is final")
            return False
        if step != self.step:
            raise AnswerRefused(
                "late", f"this answer is for {step[:40]!r}, but the game is at {self.step!r}: nothing was changed"
            )
        if seat in self._answers:
            raise AnswerRefused("answered", f"{seat} has already answered for {step!r}; answers are final")
        if not self.is_asked(seat):
            raise AnswerRefused("not asked", f"{seat} has nothing to decide in {step!r}")
        entry = {"kind": "answer", "seat": seat, "step": step, "number": number, "digest": digest}
        self._apply(self._journaled(entry | self.checked(seat, given)))
        return True

    def _known(self, seat: str, step: str, number: str) -> Mapping[str, Any] | None:
        """The accepted answer with this number, in this step or an earlier one."""
        answers = (entry for entry in self._journal.entries if entry["kind"] == "answer")
        return next((one for one in answers if (one["number"], one["seat"], one["step"]) == (number, seat, step)), None)

    def checked(self, seat: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """A checked answer: orders in our notation, or messages by recipient.

        Raises:
            AnswerRefused: the answer is malformed.
            OrderError, PressError: as `Game.submit` and `Game.send`.
        """
        view = self.view(seat)
        if view.asked == MESSAGES:
            return {MESSAGES: _checked_messages(self.game, seat, given.get(MESSAGES), view.message_round)}
        orders = given.get(ORDERS)
        if not isinstance(orders, list) or not all(isinstance(order, str) for order in orders):
            raise AnswerRefused("malformed", "give orders: a list of strings")
        trial = self.game.branch()
        trial.submit(seat, orders)
        return {ORDERS: list(trial.orders(seat))}

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
        """Play the step with the policies' actions (from `think`) and people's answers; whoever is late holds."""
        late, played = self.awaited, self._played({**actions, **self._persons_actions()})
        entry = {"kind": "step", "step": played.pop("step"), "late": late, "failed": dict(self.failed), **played}
        self._after_step(self._journaled(entry))

    def _persons_actions(self) -> dict[str, Any]:
        return {
            seat: self.view(seat).encode_messages(list(answer[MESSAGES].items()))
            if MESSAGES in answer
            else self.view(seat).encode_orders(answer[ORDERS])
            for seat, answer in self._answers.items()
        }

    def _played(self, actions: Mapping[str, Any]) -> dict[str, Any]:
        """Play the step; return the actions of all players other than people who answered, for the journal."""
        step, asked, before = self.step, self._any_view.asked, len(self.game.messages)
        own = [player for player in self._env.agents if player not in self._answers]
        self._observations, _, _, _, self._infos = self._env.step(dict(actions))
        if asked == MESSAGES:
            sent = [
                [each.sender, each.recipient, each.text] for each in self.game.messages[before:] if each.sender in own
            ]
            return {"step": step, MESSAGES: sent}
        done = self.game.history[-1]
        given = {
            player: [*done.orders.get(player, ()), *(void.order for void in done.void.get(player, ()))]
            for player in own
        }
        return {"step": step, ORDERS: {player: orders for player, orders in given.items() if orders}}

    # The journal.

    def _journaled(self, entry: dict[str, Any]) -> dict[str, Any]:
        entry = {**entry, "time": round(time.time(), 3)}
        self._journal.append(entry)
        return entry

    def _apply(self, entry: Mapping[str, Any]) -> None:
        """The effect of an arrival or an answer."""
        if entry["kind"] == "answer":
            self._answers[entry["seat"]] = dict(entry)
            return  # without a new position, since others must not learn who has answered
        self.entered.add(entry["seat"])
        self.position, self.since = self.position + 1, entry["time"]

    def _after_step(self, entry: Mapping[str, Any]) -> None:
        self._answers.clear()
        self.position, self.since = self.position + 1, entry["time"]

    def _replay(self, entry: Mapping[str, Any], line: int) -> None:
        """Replay an entry of the journal."""
        where = f"{self._journal.path}: line {line}"
        try:
            if not math.isfinite(entry["time"]):
                raise TypeError(f"time {entry['time']!r}")
            if entry["kind"] != "step":
                self._apply(entry)
                return
            if entry["step"] != self.step:
                raise SeatedGameError(f"{where}: step {entry['step']!r} does not follow; the game is at {self.step!r}")
            self.failed = dict(entry["failed"])  # these policies do not act
            self.think()  # restores the policies' memory
            self.failed = dict(entry["failed"])
            self._played(self._recorded_actions(entry) | self._persons_actions())
            self._after_step(entry)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise SeatedGameError(f"{where}: damaged: {error!r:.200}") from error

    def _recorded_actions(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        view = self._any_view
        if view.asked == ORDERS:
            return {player: view.encode_orders(orders) for player, orders in entry[ORDERS].items()}
        sent: dict[str, list[tuple[str, str]]] = {}
        for sender, recipient, text in entry[MESSAGES]:
            sent.setdefault(sender, []).append((recipient, text))
        return {sender: view.encode_messages(messages) for sender, messages in sent.items()}

    def record(self) -> dict[str, Any]:
        """The game's record, as stored by evaluations."""
        record: dict[str, Any] = self.game.record()
        spec = self.settings.spec
        record["welfare_env"] |= {"seed": spec.seed, "players": spec.written, "simultaneous": True}
        if self.failed:
            record["welfare_env"]["failed"] = dict(self.failed)
        return record

    def stop(self) -> None:
        """Close the journal, so that another process can continue the game."""
        self._journal.close()


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
        raise AnswerRefused("malformed", "give messages: an object, recipient -> text")
    written = {recipient: text for recipient, text in given.items() if text.strip()}
    for recipient, text in written.items():
        game.check_send(seat, recipient, text, message_round)
    return written
