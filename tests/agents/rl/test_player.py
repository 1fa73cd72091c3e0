"""A checkpoint as a player, in every environment; and the checkpoints that come with the package."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import agents
import evaluation
import welfare_env
from agents.rl import TRAINED, checkpoint
from agents.rl.checkpoint import CheckpointError
from agents.rl.inputs import InputEncoder
from agents.rl.player import _seen
from evaluation.play import runner
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import play_game
from tests import playing
from tests.agents.rl.conftest import checkpoint_of, decisions, play_aec, play_parallel
from tests.playing import seated
from training.board.playing import play_games
from training.board.runner import Play
from training.board.seats import LEARNER, Lineup
from welfare_env import Game, Rules


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """A random network for the standard map."""
    folder = tmp_path_factory.mktemp("rl")
    checkpoint.save(folder, checkpoint_of(welfare_env.load_board("standard"), Rules(press=None), seed=3))
    return f"rl:{folder}"


def moves(game):
    return [record.orders for record in game.history]


def test_it_gives_legal_orders_and_the_same_game_in_every_environment(spec):
    game = play_aec(spec, press=None)
    assert game.is_done
    assert moves(game) == moves(play_parallel(spec, press="text", message_rounds=1))
    assert moves(game) != moves(play_aec(spec, seed=1, press=None))


def test_it_plays_as_its_checkpoint_says_where_nobody_says_how(spec, tmp_path):
    assert agents.make(spec).greedy is False
    checkpoint.save(tmp_path, replace(checkpoint.load(spec.removeprefix("rl:")), greedy=True))
    assert agents.make(f"rl:{tmp_path}").greedy is True
    assert agents.make(f"rl:{tmp_path},greedy=no").greedy is False
    assert agents.make(f"{spec},greedy=yes").greedy is True
    usual, greedy, drawn = (
        moves(play_aec(text, press=None))
        for text in (f"rl:{tmp_path}", f"{spec},greedy=yes", f"rl:{tmp_path},greedy=no")
    )
    assert usual == greedy
    assert drawn == moves(play_aec(spec, press=None))
    assert usual != drawn


def test_how_it_plays_is_part_of_the_key_of_stored_games(spec, tmp_path):
    path = tmp_path / "c"
    given = checkpoint.load(spec.removeprefix("rl:"))
    keys = set()
    for greedy, text in ((True, f"rl:{path}"), (False, f"rl:{path}"), (False, f"rl:{path},greedy=yes")):
        checkpoint.save(path, replace(given, greedy=greedy))
        players = tuple((power, text) for power in welfare_env.load_board("standard").powers)
        keys.add(json.dumps(GameSpec(players, 0, Rules(press=None), "standard", "fast").to_dict()))
    assert len(keys) == 3


def test_another_game_is_refused_when_it_is_asked(spec):
    with pytest.raises(CheckpointError, match="standard"):
        play_aec(spec, press=None, variant="standard")


class TestStandardInWelfareGames:
    """A checkpoint of standard games plays welfare games as if they were standard (the paper's attackers)."""

    def view(self, rules, centers=5, welfare=0, phase="W1903A"):
        owned = {"FRANCE": ["PAR", "MAR", "BRE", "SPA", "POR"][:centers], "TURKEY": ["CON", "ANK"]}
        points = {"FRANCE": welfare, "TURKEY": 5 * welfare} if rules.is_welfare else None
        placed = {"FRANCE": ["A BUR", "A RUH"], "TURKEY": ["A CON"]}
        game = welfare_env.Game.from_position(phase, units=placed, centers=owned, welfare=points, rules=rules)
        return game.view("FRANCE")

    def orders(self, rules, **position):
        return seated("rl:attacker", "FRANCE", 1).act(None, {"view": self.view(rules, **position)})

    @pytest.mark.parametrize(("phase", "centers"), [("S1902M", 5), ("F1903M", 2), ("W1903A", 1), ("W1903A", 3)])
    def test_it_orders_what_it_would_in_the_standard_game(self, phase, centers):
        position = {"centers": centers, "welfare": 7, "phase": phase}
        welfare, standard = (self.orders(Rules(variant, press=None), **position) for variant in ("welfare", "standard"))
        assert welfare == standard

    def test_it_builds_what_it_may_and_disbands_what_it_must(self):
        kinds = [[order[-1] for order in self.orders(Rules(press=None), centers=centers)] for centers in (5, 2, 1)]
        assert kinds == [["B", "B", "B"], [], ["D"]]

    @pytest.mark.parametrize(
        "options",
        [
            {"rules": Rules(years=2, press="tokens", message_rounds=1)},
            {"rules": Rules.published(years=2, press=None)},
            {"rules": Rules(years=2, transfers=True, mediator=True, message_rounds=1)},
        ],
    )
    def test_it_plays_whole_welfare_games(self, options):
        """Strictly: every order is legal."""
        env = welfare_env.make(strict=True, **options)
        seats = dict.fromkeys(env.possible_agents, "dove") | {"FRANCE": "rl:attacker"}
        assert playing.play(env, {agent: agents.make(spec) for agent, spec in seats.items()}).game.is_done

    def test_the_papers_exploiter_conquers_doves(self):
        """Nice until Winter 1903, then the attacker: it builds in the Winter of the switch."""
        spec = "exploiter:nice=dove,attack=rl:attacker"
        others = dict.fromkeys(welfare_env.load_board().powers, "dove")
        players = tuple((others | {"FRANCE": spec}).items())
        record = play_game(GameSpec(players, 3, Rules(press=None), "standard", "fast"))
        last = record["phases"][-1]["state"]
        built = {
            phase["name"]
            for phase in record["phases"][:-1]
            if any(order.endswith(" B") for order in phase["orders"].get("FRANCE", ()))
        }
        assert "W1903A" in built
        assert min(built) >= "W1902A"
        assert len(last["centers"]["FRANCE"]) > 10
        assert last["units"]["FRANCE"] == []  # it has gone back to collecting


class TestRefusedBeforeTheFirstGame:
    """Nothing is played, nor paid for, with a checkpoint that does not fit."""

    @pytest.fixture(autouse=True)
    def _no_game(self, monkeypatch):
        def never(*_):
            raise AssertionError("a game was played")

        monkeypatch.setattr(runner, "play_game", never)

    def test_of_another_map(self):
        spec = "exploiter:nice=lm:scripted/stub,attack=rl:attacker"
        with pytest.raises(CheckpointError, match=r"policy 'exploiter:.*rl:attacker.*trained on the map 'standard'"):
            evaluation.self_play(spec, games=1, map_name="pure")

    def test_of_a_deviator(self):
        with pytest.raises(CheckpointError, match="clique:4"):
            evaluation.exploitability(
                "dove", deviator="rl:attacker", games=1, map_name="clique:4", coalitions=[["PLAYERA"]]
            )


@pytest.mark.parametrize("name", ["attacker", "best-response"])
def test_they_are_small_and_say_where_they_come_from(name):
    files = sorted((TRAINED / name).iterdir())
    assert [file.name for file in files] == ["checkpoint.json", "weights.safetensors"]
    assert sum(file.stat().st_size for file in files) < 5_000_000
    origin = checkpoint.load(name).origin
    assert origin["command"].startswith("python -m training ")
    policy = agents.make(f"rl:{name}")
    assert policy.path == name
    assert policy.greedy  # as the docs measure them


@pytest.mark.parametrize(("name", "wanted"), [("attacker", "81ff2d2cd5f5708f"), ("best-response", "5278af0eeb08ec5d")])
def test_they_play_as_they_did_when_they_were_made(name, wanted):
    """Most probable and drawn orders in some positions. The digest is that of the first version's network."""
    given = checkpoint.load(name)
    assert given.architecture == "board-by-power"
    env = welfare_env.vector_env(
        6, given.map_name, replace(given.rules, adjudication="package")
    )  # the rulings when it was made
    network, reader = given.network_for(env.board, given.rules), InputEncoder(env.board, given.rules)
    env.reset(1)
    digest, rng = hashlib.sha256(), np.random.default_rng(0)
    for _ in range(18):
        inputs = reader.select(env.rows, env.legal, *decisions(env))
        for chances in (np.full(inputs.num_rows, -1.0), rng.random(inputs.num_rows)):
            digest.update(network.answer(inputs, chances)[0].astype("<i8").tobytes())
        env.step(env.sample())
    assert digest.hexdigest()[:16] == wanted


@pytest.mark.slow
def test_the_attacker_plays_in_games_as_it_does_where_it_is_measured():
    """A game of agents, and the same one of the runner that the table of the docs is made with."""
    given = checkpoint.load("attacker")
    play = Play(given.map_name, given.rules, Lineup(((2,),), ("hold",), (1.0,)), given.size, num_games=1)
    measured = play_games(play, {LEARNER: given})[0].centers
    env = welfare_env.parallel_env(rules=given.rules)
    players = {power: agents.make("rl:attacker" if power == "FRANCE" else "hold") for power in env.possible_agents}
    playing.play_parallel(env, players, seed=5)
    assert [len(env.game.centers[power]) for power in env.possible_agents] == list(measured)


def test_a_network_of_standard_games_sees_no_welfare_points():
    seen = [
        _seen(Game.from_position("S1902M", {}, {}, welfare={"FRANCE": points}).view("FRANCE"), Rules("standard"))
        for points in (0, 9)
    ]
    assert (seen[0] == seen[1]).all()
