"""Players of modal_env: the same program however the environment wants it written."""

from fractions import Fraction

import pytest

import agents
import modal_env
from modal_env.games.game import ProgramGame
from tests import playing
from tests.playing import seated

ACTIONS = ("library", "formula", "tokens")
SPECS = ("program:FairBot", "program:[](X(me) & (X(DB) -> []false))", "mix:FairBot=1/2,PrudentBot=0.3,DefectBot=1/5")


def play(env, specs, seed=0):
    """All rounds of one game."""
    policies = dict(zip(env.possible_agents, map(agents.make, specs), strict=True))
    return playing.play(env, policies, seed).contest.history


@pytest.mark.parametrize(("spec", "players"), [(SPECS[0], 2), (SPECS[1], 4), (SPECS[2], 2)])
def test_writes_the_same_programs_in_every_way(spec, players):
    games = []
    for actions in ACTIONS:
        history = play(modal_env.make(actions=actions, rounds=6, players=players), [spec] * players, seed=4)
        games.append([(played.programs, played.moves, played.payoffs) for played in history])
    assert games[0] == games[1] == games[2]
    assert len(games[0]) == 6


def test_players_of_one_mix_and_seed_draw_each_for_itself():
    drawn = []
    for name in ("player_0", "player_1"):
        policy = seated("mix:FairBot=1/2,CooperateBot=1/2", name, 3)
        drawn.append([policy.program(None).name for _ in range(40)])
    alike = sum(one == other for one, other in zip(*drawn, strict=True))
    assert 8 < alike < 32


@pytest.mark.parametrize(
    ("to", "reply"),
    [("CooperateBot", "DefectBot"), ("DefectBot", "DefectBot"), ("FairBot", "CooperateBot"), ("PrudentBot", "FairBot")],
)
def test_best_replies_are_the_posts(to, reply):
    (played,) = play(modal_env.make(epsilon=0.1, actions="tokens"), [f"best-reply:to=program:{to}", f"program:{to}"])
    assert played.programs[0] == modal_env.LIBRARY[reply]


@pytest.mark.parametrize(("epsilon", "cost"), [("1/100", "depth"), ("2/7", "size"), ("1/5", "worlds")])
def test_the_best_reply_to_a_mix_is_the_games(epsilon, cost):
    shares = {"CooperateBot": Fraction(1, 5), "FairBot": Fraction(3, 5), "PrudentBot": Fraction(1, 5)}
    mix = ",".join(f"{name}={share}" for name, share in shares.items())
    (played,) = play(modal_env.make(epsilon=epsilon, cost=cost), [f"best-reply:to=(mix:{mix})", f"mix:{mix}"])
    assert played.programs[0] == ProgramGame(modal_env.POST, epsilon, cost).best_replies(shares)[0]


def test_a_mix_takes_numbers_of_every_kind():
    agents.MixPolicy([("FairBot", 0.1)] * 10)
    agents.MixPolicy([("FairBot", "1/2"), ("[]false", Fraction(1, 2)), ("DefectBot", 0)])
    with pytest.raises(ValueError, match=r"FairBot=0\.3 add up to 3/10"):
        agents.MixPolicy([("FairBot", 0.3)])


def test_a_program_that_is_not_on_the_list():
    with pytest.raises(modal_env.ProgramActionError, match="TrollBot"):
        play(modal_env.make(), ["program:TrollBot"] * 2)
