"""A game with people, without a network: steps, answers, the journal, and what goes out of a view."""

import json
from threading import Event

import numpy as np
import pytest

pytest.importorskip("starlette")

import evaluation
from agents import HoldPolicy
from evaluation.play.playing import set_up_game
from evaluation.play.store import GameStore
from evaluation.web.journal import Journal
from evaluation.web.seen import state_of
from evaluation.web.settings import SPECTATOR, SeatedGameError, TableSettings, seated
from evaluation.web.table import SeatedGame
from tests.evaluation.conftest import PATIENCE
from tests.evaluation.web.conftest import begin, played_again, quick, table_settings
from welfare_env import Game, Rules
from welfare_env.errors import UnknownPowerError


class Broken(HoldPolicy):
    """A policy that fails in the middle of a game, in one of three ways; `end` ends what thinks for long."""

    def __init__(self, how, end):
        self.how, self.end = how, end

    def act(self, observation, info):
        if not info["view"].phase.startswith("F1901"):
            return super().act(observation, info)
        if self.how == "raises":
            raise RuntimeError(f"secret of {self.agent}")
        assert self.how == "answers nonsense" or self.end.wait(PATIENCE)
        return f"secret of {self.agent}"


def opened(settings, folder):
    return SeatedGame(settings, Journal(folder / "game.sqlite"))


def random_answer(table, seat, rng):
    """Legal orders, or messages, drawn at random."""
    view = table.view(seat)
    if view.asked == "messages":
        return {"messages": {to: f"{seat} to {to} in {table.step}" for to in view.recipients if rng.random() < 0.5}}
    if view.phase_type == "A":
        options = [order for orders in view.legal_orders.values() for order in orders]
        return {"orders": [str(rng.choice(options))] if options else []}
    return {"orders": [str(rng.choice(orders)) for orders in view.legal_orders.values()]}


def play_through(table, seed=0, on_step=lambda: None):
    rng = np.random.default_rng(seed)
    begin(table)
    while not table.is_done:
        on_step()
        for seat in table.awaited:
            assert table.accept(seat, {"step": table.step, "number": "n0", **random_answer(table, seat, rng)})
        table.advance(table.think())
    on_step()


@pytest.fixture(scope="module")
def settings():
    """Three people, two of whom talk a lot, on the standard board, with four policies that talk and move at random."""
    profile = "FRANCE*human: + ENGLAND*human: + GERMANY*human: + 4*random"
    return table_settings(profile, Rules(years=1, message_rounds=2), has_spectators=True)


@pytest.fixture(scope="module")
def played(settings, tmp_path_factory):
    table = opened(settings, tmp_path_factory.mktemp("table"))
    states = {}

    def note():
        states[table.position] = {seat: state_of(table, seat) for seat in (*table.people, SPECTATOR)}

    play_through(table, on_step=note)
    return table, states


def test_the_saved_game_is_the_one_that_game_plays(played):
    table, _ = played
    mine, again = table.record(), played_again(table.game)
    for part in ("phases", "map", "rules"):
        assert [without_void(one) for one in mine[part]] == [without_void(one) for one in again.record()[part]]
    assert mine["welfare_env"]["players"]["FRANCE"] == "human"
    assert Game.from_record(mine).welfare == again.welfare


def without_void(phase):
    return {name: part for name, part in phase.items() if name != "void"} if isinstance(phase, dict) else phase


def test_a_page_gets_what_its_view_shows_and_nothing_else(settings, tmp_path):
    """Every field that goes out, for every seat in every step."""
    table = opened(settings, tmp_path)
    steps, rng = [], np.random.default_rng(1)

    def check():
        steps.append(table.step)
        states = {seat: state_of(table, seat) for seat in (*table.people, SPECTATOR)}
        for seat, state in states.items():
            check_against_view(state, table.view(seat), table, seat)
        public = {json.dumps(what_all_may_see(state), sort_keys=True) for state in states.values()}
        assert len(public) == 1
        for seat in table.awaited[:1]:
            before = {other: state_of(table, other) for other in states if other != seat}
            table.accept(seat, {"step": table.step, "number": "1", **random_answer(table, seat, rng)})
            assert {other: state_of(table, other) for other in before} == before  # nobody learns who has answered

    play_through(table, seed=2, on_step=check)
    assert {step.split()[-1] for step in steps} == {"1", "2", "orders", "end"}


def what_all_may_see(state):
    """All but what `check_against_view` compares with the view of the seat."""
    lobby = {name: state[name] for name in ("position", "title", "people", "step")}
    looks = {name: state["game"][name] for name in ("since", "powers", "about", "places", "drawing")}
    own = ("messages", "refused")
    phases = [{name: part for name, part in phase.items() if name not in own} for phase in state["game"]["phases"]]
    return lobby | looks | {"phases": phases}


def check_against_view(state, view, table, seat):
    told = plain(state)
    shown, game = told.pop("view"), told.pop("game")
    assert told.keys() == {"position", "seat", "title", "people", "step", "answer"}
    assert (told["seat"], told["answer"]) == (seat, plain(table.answer(seat)))
    assert shown.pop("is_asked") == table.is_asked(seat)
    assert shown.pop("message_rounds") == 2
    assert shown.pop("asked") == ("end" if view.is_done else view.asked)
    for name in ("variant", "transfers", "build_and_disband"):
        assert shown.pop(name) == getattr(view.rules, name)
    other = {"recipients": ()} if seat == SPECTATOR else {}
    if view.is_done:
        other |= {"legal_orders": {}, "max_builds": 0, "must_disband": 0, "years_left": 0, "phase_type": ""}
    for name, value in shown.items():
        assert value == plain(other[name] if name in other else getattr(view, name)), name
    assert game.keys() == {"since", "powers", "phases", "about", "places", "drawing"}
    assert [phase["name"] for phase in game["phases"]] == [*(past.phase for past in view.history), view.phase]
    for phase, past in zip(game["phases"], [*view.history, None], strict=True):
        messages = view.messages if past is None else past.messages
        assert [tuple(message) for message in phase["messages"]] == [
            (each.round, each.sender, each.recipient, each.text) for each in messages
        ]
        assert all(seat in message[1:3] or message[2] == "GLOBAL" for message in phase["messages"])
        void = {} if past is None else past.void
        assert set(phase["refused"]) <= {seat}
        assert {power: len(lines) for power, lines in phase["refused"].items()} == {
            power: len(each) for power, each in void.items()
        }
        orders = {power: [order for order, _ in lines] for power, lines in phase["orders"].items()}
        assert orders == ({} if past is None else {power: list(texts) for power, texts in past.orders.items() if texts})
        position = view.position if past is None else past.position
        assert phase["centers"] == {power: list(each) for power, each in position.centers.items()}
        assert phase["welfare"] == list(position.welfare.values())
        assert phase["reasoning"] == []
        parts = "name title units centers welfare orders refused messages reasoning influence drawn"
        assert phase.keys() == set(parts.split())


def plain(value):
    """As it arrives in the page."""
    return json.loads(json.dumps(value))


def copied(table, count, folder):
    """A journal with the first entries of another one, as after a kill."""
    folder.mkdir()
    with Journal(folder / "game.sqlite").open() as entries:
        entries += table.journal.entries()[:count]
    return opened(table.settings, folder)


def test_a_table_opened_at_any_entry_shows_what_was_seen(played, tmp_path):
    table, states = played
    entries = table.journal.entries()
    for count in range(3, len(entries), 7):
        again = copied(table, count, tmp_path / str(count))
        answered = [each for each in entries[:count] if each["kind"] == "answer" and each["step"] == again.step]
        answers = {each["seat"]: each["given"] for each in answered}
        for seat in (*again.people, SPECTATOR):
            seen, now = states.get(again.position, {}).get(seat), state_of(again, seat)
            assert seen is None or now == seen | {"answer": answers.get(seat)}


def test_policies_go_on_after_a_restart_as_without(played, tmp_path):
    table, _ = played
    entries = table.journal.entries()
    steps = [number for number, each in enumerate(entries) if each["kind"] == "step"]
    half = steps[len(steps) // 2] + 1
    again = copied(table, half, tmp_path / "half")
    for entry in entries[half:]:
        if entry["kind"] == "answer":
            again.accept(entry["seat"], entry | entry["given"])
        else:
            again.advance(again.think())
    assert again.record() == table.record()


@pytest.fixture
def end():
    """The event for which a policy waits that thinks for long: it comes after the test."""
    event = Event()
    yield event
    event.set()


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("raises", "RuntimeError: secret of PLAYERC"),
        ("answers nonsense", "ActionError: "),
        ("thinks for long", "TimeoutError: "),
    ],
)
def test_a_policy_that_fails_holds_and_the_others_play_on(tmp_path, monkeypatch, end, how, error):
    make = set_up_game

    def broken(spec, models):
        seats = make(spec, models)
        seats.policies["PLAYERC"] = Broken(how, end)
        seats.policies["PLAYERC"].reset("PLAYERC")
        return seats

    monkeypatch.setattr("evaluation.web.table.set_up_game", broken)
    table = opened(quick("PLAYERA*human: + PLAYERB*human: + PLAYERC*hold"), tmp_path)

    def has_no_time():
        is_long = how == "thinks for long" and table.step.startswith("F1901")
        monkeypatch.setattr("evaluation.web.table.LONGEST_THOUGHT", 0 if is_long else PATIENCE)

    play_through(table, on_step=has_no_time)
    assert table.is_done
    failed = table.record()["welfare_env"]["failed"]
    assert (failed.keys(), failed["PLAYERC"][: len(error)]) == ({"PLAYERC"}, error)
    assert "secret" not in json.dumps(state_of(table, "PLAYERA"))
    again = opened(table.settings, tmp_path)
    assert again.record() == table.record()


def test_without_press_a_page_hears_of_no_message_rounds(tmp_path):
    table = opened(quick("PLAYERA*human: + 2*hold", rules=Rules(years=1, press=None)), tmp_path)
    begin(table)
    view = state_of(table, "PLAYERA")["view"]
    assert (table.step, view["asked"], view["message_rounds"]) == ("S1901M orders", "orders", 0)


def test_nobody_waits_for_messages_of_the_dead(tmp_path):
    table = opened(quick("PLAYERA*human: + PLAYERB*human: + PLAYERC*hold"), tmp_path)
    begin(table)
    table._env.game = Game.from_position("S1901M", {"PLAYERA": ["A HAX"]}, {"PLAYERA": ["HAX"]}, map_name="clique:3")
    assert (table.step, table.awaited) == ("S1901M 1", ["PLAYERA"])


def test_who_is_late_holds(tmp_path):
    table = opened(quick("PLAYERA*human: + PLAYERB*human: + PLAYERC*hold", minutes=1), tmp_path)
    begin(table)
    rng = np.random.default_rng(0)
    while not table.is_done:
        if "PLAYERA" in table.awaited:
            given = random_answer(table, "PLAYERA", rng)
            table.accept("PLAYERA", {"step": table.step, "number": "1", **given})
        table.advance(table.think())
    assert not any(phase.orders["PLAYERB"] for phase in table.game.history)
    again = opened(table.settings, tmp_path)
    assert again.record() == table.record()


def test_games_with_people_are_stored_and_never_found_again(tmp_path, monkeypatch):
    asked = []

    def ask(view):
        asked.append(view.phase)
        return []

    monkeypatch.setattr("agents.human.terminal.ask", ask)
    own = {"games": 1, "rules": Rules(years=1, message_rounds=1), "map_name": "clique:3", "workers": 2}
    with GameStore(tmp_path / "games.sqlite") as store:
        for count in (1, 2):
            evaluation.self_play("PLAYERA*human: + 2*dove", store=store, **own)
            assert len(store.keys()) == count
            assert asked.count("S1901M") == 2 * count  # messages and orders: the person was asked again


def test_settings_are_written_read_and_checked():
    spec = seated(["FRANCE"], "dove", Rules(years=3))
    settings = TableSettings(spec, minutes=1.5, has_spectators=True)
    assert (settings.people, settings.seats) == (("FRANCE",), ("FRANCE", SPECTATOR))
    assert settings.title == "France against dove"
    assert TableSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    for given, wrong in (
        ({"spec": seated([], "dove", Rules())}, "at least one person"),
        ({"minutes": -1}, "no limit"),
        ({"minutes": float("nan")}, "no limit"),
        ({"minutes": "soon"}, "no limit"),
    ):
        with pytest.raises(SeatedGameError, match=wrong):
            TableSettings(**{"spec": spec} | given)


def test_people_take_seats_of_a_profile():
    found = seated(["england", "FRANCE"], "dove", Rules()).written
    assert {power: policy for power, policy in found.items() if policy != "dove"} == {
        "ENGLAND": "human",
        "FRANCE": "human",
    }
    mixed = seated(["PLAYERA"], "PLAYERB*dove + PLAYERC*hold", Rules(), "clique:3").written
    assert mixed == {"PLAYERA": "human", "PLAYERB": "dove", "PLAYERC": "hold"}
    everybody = seated(["PLAYERA", "PLAYERB", "PLAYERC"], "dove", Rules(), "clique:3")
    assert set(everybody.written.values()) == {"human"}
    assert seated(["FRANCE"], "dove", Rules(mediator=True)).written["MEDIATOR"] == "hold"
    with pytest.raises(UnknownPowerError, match="did you mean 'FRANCE'"):
        seated(["ENGLAND", "FRANC"], "dove", Rules())
    with pytest.raises(SeatedGameError, match="FRANCE"):
        seated(["FRANCE", "france"], "dove", Rules())
