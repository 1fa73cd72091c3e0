"""A person at the terminal."""

import io

import pytest

import agents
import evaluation
from agents.human.terminal import NoPersonError, QuitError, ask, show_messages
from modal_env.console import PlainConsole, plain
from welfare_env import Game, Rules


def console(**options):
    """A screen that can be read."""
    return PlainConsole(markup=False, file=io.StringIO(), width=200, **options)


def typed(view, *lines):
    """What a person gets and sees who types these lines, one after the other."""
    given, screen = iter(lines), console()

    def read():
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    return ask(view, read, screen), screen.file.getvalue()


def test_orders_are_typed_changed_and_refused_with_a_reason():
    wrong = ["", "paris to picardy", "A PAR - BUR", "A MAR - LON", "F KIE - HOL"]
    orders, seen = typed(Game().view("FRANCE"), *wrong, "A MAR H", "undo", "list mar", "done")
    assert orders == ["A PAR - BUR"]
    assert "'A MAR - LON' is not legal in S1901M" in seen
    assert "F KIE belongs to GERMANY" in seen
    assert "\nA MAR: A MAR" in seen
    assert "\nA PAR: A PAR" not in seen
    assert "one unit fewer, +1 a year" in seen


def winter(units=("A PAR",), centers=("PAR", "BRE", "MAR"), **rules):
    """The view of a power that may give points in Winter."""
    held, owned = {"FRANCE": units, "ENGLAND": ["F LON"]}, {"FRANCE": centers, "ENGLAND": ["LON"]}
    options, points = Rules(**{"transfers": True, "years": 5} | rules), {"FRANCE": 5, "ENGLAND": 3}
    return Game.from_position("W1901A", held, owned, welfare=points, rules=options).view("FRANCE")


MORE, TWICE = ["GIVE GERMANY", "A BRE B"], ["write it twice for two"]
BUILDS_ONLY = ["You may build 2, and must disband 0", "both builds and disbands"]
LETTERS = Game(rules=Rules(message_rounds=2)).view("FRANCE", "messages", 1)


@pytest.mark.parametrize(
    ("view", "lines", "given", "told"),
    [
        (winter(transfers=False), ["A MAR B", "A BRE B", "A PAR D"], ["A MAR B", "A BRE B"], BUILDS_ONLY),
        (winter(), ["GIVE ENGLAND", "give england", *MORE], ["GIVE ENGLAND", "GIVE ENGLAND", *MORE], TWICE),
        (winter(), ["GIVE ENGLAND", "GIVE ENGLAND", "undo"], ["GIVE ENGLAND"], []),
        (winter(units=[], centers=[]), ["GIVE ENGLAND"], ["GIVE ENGLAND"], []),  # nothing else to order
        (winter(), ["A BRE B", "A MAR B", "F BRE B"], ["A MAR B", "F BRE B"], []),  # for the same place
        (winter(), ["undo", "A BRE B", "A MAR B", "undo", "show"], ["A BRE B"], ["nothing yet", "taken back: A MAR B"]),
        (LETTERS, ["all: peace", "italy: x", "italy: y", "undo"], [("GLOBAL", "peace")], []),
        (
            LETTERS,
            ["england: hello", "all: peace", "mars: x", "germany: no", "undo"],
            [("ENGLAND", "hello"), ("GLOBAL", "peace")],
            ["cannot write to 'MARS'"],
        ),
    ],
)
def test_lines_are_added_up_replaced_and_taken_back(view, lines, given, told):
    found, seen = typed(view, *lines, "done")
    assert found == given
    assert all(words in seen for words in told)


def test_the_result_of_a_fleet_on_a_coast_is_shown():
    units = {"FRANCE": ["F SPA/SC"], "ENGLAND": ["F MAO", "F WES"]}
    game = Game.from_position("S1901M", units, {"FRANCE": ["PAR"], "ENGLAND": ["LON"]})
    game.submit("FRANCE", ["F SPA/SC - WES"])
    game.advance()
    assert "F SPA/SC - WES (bounce)" in typed(game.view("FRANCE"), "done")[1]


def test_what_others_write_does_not_touch_the_terminal():
    game, screen = Game(), console(force_terminal=True)
    game.send("ENGLAND", "FRANCE", "\x1b[2J\x1b]0;owned\x07 [bold]x[/bold] \u202eback\r\x9b31m")
    show_messages(game.view("FRANCE", "messages", 2), screen)
    seen = screen.file.getvalue()
    assert not any(sign in seen for sign in ("\x1b[2J", "\x1b]", "\x07", "\u202e", "\r", "\x9b"))
    assert "[bold]x[/bold]" in seen
    assert plain("a\nb") == "a\nb"


def test_a_person_may_quit():
    for view in (Game().view("FRANCE"), LETTERS):
        screen = console()
        with pytest.raises(NoPersonError, match="FRANCE in S1901M"):
            ask(view, lambda: "QUIT", screen)
        assert "quit" in screen.file.getvalue()


class ClosedTerminal(io.StringIO):
    """A terminal in which Ctrl-D was pressed."""

    def isatty(self):
        return True


def test_ctrl_d_quits_and_the_end_of_a_file_is_nobody(monkeypatch):
    for view, line in ((Game().view("FRANCE"), "A PAR H\n"), (LETTERS, "all: peace\n")):
        monkeypatch.setattr("sys.stdin", ClosedTerminal(line))
        with pytest.raises(QuitError, match="FRANCE in S1901M"):
            ask(view, console=console())
        monkeypatch.setattr("sys.stdin", io.StringIO(line))
        with pytest.raises(NoPersonError) as caught:
            ask(view, console=console())
        assert not isinstance(caught.value, QuitError)


def test_a_whole_game_is_played_at_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr("agents.human.terminal._typed", lambda: "done\n")
    rules = Rules(years=1, message_rounds=1)
    evaluation.self_play("PLAYERA*human: + 2*dove", games=1, rules=rules, map_name="clique:3")
    assert "S1901M: you are PLAYERA, 1 year left" in capsys.readouterr().out
    assert agents.make("human:").agent == ""
