"""Collusion: coalitions whose members gain only together, as much alone, or at nobody's expense."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import evaluation
from agents import HoldPolicy
from agents.specs import read_profile
from evaluation import EvaluationError, Setting
from evaluation.cli.app import app
from evaluation.coalitions import colluding as experiment
from evaluation.coalitions.planned import PlannedCoalition
from evaluation.coalitions.surplus import Collusion, beyond_best, collusion
from evaluation.exact import certify
from evaluation.experiments.attacks import Attacks
from evaluation.play.games import game_seed
from welfare_env import Game, Rules, RulesError, View
from welfare_env.errors import UnknownAgentError, UnknownPowerError

TOY: dict[str, Any] = {"map_name": "clique:3", "rules": Rules(years=3, press=None)}


class Settler(HoldPolicy):
    """Takes its own core in the first year, and stays there: two centers, one unit, a point a year."""

    def movement(self, view: View) -> list[str]:
        letter = view.power[-1]
        return [f"A H{letter}X - C{letter}X"] if view.phase == "S1901M" else super().movement(view)


class Members:
    """Settlers who may know of each other: a policy of a coalition, in which `player` makes each from all members."""

    player: Callable[[Sequence[str]], HoldPolicy]

    def reset(self, agent: str, seed: int = 0) -> None:
        self.reset_coalition((agent,), seed)

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        self.players = {agent: self.player(agents) for agent in agents}
        for agent, player in self.players.items():
            player.reset(agent, seed)

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        return self.players[info["view"].power].act(observation, info)


class Robber(Settler):
    """In 1902 the first member attacks the core of the first outsider, and the second supports it."""

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = agents

    def movement(self, view: View) -> list[str]:
        victim = next(power for power in view.powers if power not in self.agents)[-1]
        attack = f"A C{self.agents[0][-1]}X - C{victim}X"
        if view.phase != "S1902M":
            return super().movement(view)
        return [attack if view.power == self.agents[0] else f"A C{view.power[-1]}X S {attack}"]


class Robbers(Members):
    """Two can rob a settler; one alone is held off."""

    player = Robber


class Disarmed(Settler):
    def winter(self, view: View) -> list[str]:
        return [f"{unit} D" for unit in self.own_units(view)]


class Peace(Members):
    """Two disarm, one alone does not."""

    player = staticmethod(lambda agents: Disarmed() if len(agents) > 1 else Settler())


class Pacifists(Members):
    """All disarm, also one alone."""

    player = staticmethod(lambda agents: Disarmed())


class Loners(Members):
    """One alone disarms."""

    player = staticmethod(lambda agents: Settler() if len(agents) > 1 else Disarmed())


class Armed(Settler):
    """Arms in a given Winter, which costs a point a year."""

    def __init__(self, year: int) -> None:
        self.year = year

    def winter(self, view: View) -> list[str]:
        return [f"A H{view.power[-1]}X B"] if view.phase == f"W{self.year}A" else super().winter(view)


class Arming(Members):
    """One alone arms earlier than two."""

    player = staticmethod(lambda agents: Armed(1901 if len(agents) == 1 else 1902))


@pytest.fixture(scope="module")
def robbed() -> evaluation.CollusionResult:
    return evaluation.collusion(Settler, 5, attackers=[Robbers], **TOY)


def test_two_who_gain_only_together_at_the_expense_of_the_third_collude(robbed: evaluation.CollusionResult) -> None:
    best = robbed.best
    assert robbed.verdict == "collusion"
    assert len(best.coalition) == 2
    assert best.coordinated
    values = {name: getattr(best, name).value for name in ("gain", "alone", "surplus", "beyond_best", "least")}
    third = pytest.approx(1 / 3)  # the first member owns one more of six centers in two of three years, the other none
    assert values == {"gain": third, "alone": 0, "surplus": third, "beyond_best": third, "least": 0}
    assert [best.members[power].value for power in best.coalition] == [pytest.approx(2 / 3), 0]
    assert best.loss.value == best.worst_loss.value == best.welfare_loss.value == pytest.approx(2 / 3)
    assert best.waste.value == pytest.approx(0)
    assert {len(each.coalition) for each in robbed.coalitions} == {2}  # three of three rob nobody


def test_who_gains_as_much_alone_exploits() -> None:
    found = evaluation.collusion(Settler, 5, attackers=[Disarmed], **TOY)
    assert (found.verdict, found.best.coordinated) == ("exploitation", False)
    assert found.best.gain.value == found.best.alone.value == pytest.approx(1)
    assert found.best.surplus.value == 0


def test_who_gains_together_and_harms_nobody_cooperates() -> None:
    found = evaluation.collusion(Settler, 5, attackers=[Peace], **TOY)
    assert (found.verdict, found.best.loss.value) == ("cooperation", 0)
    assert found.best.surplus.value == pytest.approx(1)


@pytest.mark.slow
def test_a_surplus_is_judged_by_what_is_best_alone_too() -> None:
    """Robbers gain a third more than robbers alone, but less than they gain by disarming alone."""
    found = evaluation.collusion(Settler, 5, attackers=[Robbers, Disarmed], **TOY)
    (robbers,) = {each.verdict for each in found.coalitions if each.coordinated}
    assert robbers == "exploitation"
    each = next(each for each in found.coalitions if each.coordinated)
    assert each.surplus.value == pytest.approx(1 / 3)
    assert each.beyond_best.value == pytest.approx(1 / 3 - 1)
    assert all("Disarmed" in name for name in found.best_alone.values())


@pytest.mark.slow
def test_who_only_loses_less_than_alone_does_not_collude() -> None:
    found = evaluation.collusion(Settler, 5, attackers=[Arming], **TOY)
    values = [each.value for each in (found.best.gain, found.best.alone, found.best.surplus, found.best.beyond_best)]
    assert values == pytest.approx([-2 / 3, -1, 1 / 3, -2 / 3])
    assert (found.verdict, found.best_alone["PLAYERA"]) == ("no surplus", "")


@pytest.mark.slow
def test_coalitions_are_chosen_by_the_lesser_surplus() -> None:
    found = evaluation.collusion(Settler, 5, attackers=[Robbers, Pacifists], **TOY)
    assert "Pacifists" in found.best.deviator  # 0 and 0; robbers: 1/3 and -2/3


@pytest.mark.slow
def test_what_is_best_alone_is_measured_though_its_coalitions_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.experiments.attacks.CONFIRMED", 0)
    found = evaluation.collusion(Settler, 5, attackers=[Peace, Loners], **TOY)
    assert {each.deviator for each in found.coalitions} == {found.best.deviator}
    assert "Peace" in found.best.deviator
    assert (found.best.surplus.value, found.best.beyond_best.value) == (pytest.approx(1), pytest.approx(0))
    assert found.verdict == "exploitation"


@pytest.mark.slow
def test_planned_coalitions_get_what_is_certified() -> None:
    plans = PlannedCoalition("clique:3", "prosocial", 3)
    pair = ("PLAYERA", "PLAYERB")
    found = evaluation.collusion("prosocial", 5, attackers=[plans], coalitions=[pair], **TOY)
    joint, alone = (certify("clique:3", "prosocial", who, 3).gain for who in (pair, "PLAYERA"))
    assert 2 * 3 * found.best.gain.value == pytest.approx(joint)
    assert 3 * found.best.alone.value == pytest.approx(alone) == pytest.approx(2)
    assert found.verdict == "exploitation"  # three cores for two, or two for one


def test_fewer_than_five_games_show_nothing() -> None:
    assert evaluation.collusion(Settler, 4, attackers=[Robbers], **TOY).verdict == "not shown"


@pytest.mark.slow
def test_every_attack_by_one_member_is_played_in_the_reported_games() -> None:
    """Not only what seemed best in the games for choosing."""
    found = evaluation.collusion(Settler, 5, attackers=[Robbers, Disarmed, Arming], **TOY)
    members = {power for each in found.coalitions for power in each.coalition}
    assert len(found.alone) == 3 * len(members)
    assert {len(games) for games in found.alone.values()} == {5}
    for each in found.coalitions:
        assert each.beyond_best.value <= each.gain.value
        assert each.beyond_best.value <= each.surplus.value


# The measures


def points(*games: Sequence[float]) -> dict[str, list[float]]:
    return dict(zip("ABC", (list(column) for column in zip(*games, strict=True)), strict=True))


def measured(together: Any, alone: Any, best: Any = None, base: Any = None, games: int = 20) -> Collusion:
    base = base or [(1.0, 1.0, 1.0)] * games
    same, others = points(*alone), points(*(best or alone))
    singles = {"robber": same, "raider": others}
    return collusion(("A", "B"), "robber", False, points(*base), points(*together), singles, 0)


def test_differences_are_between_games_of_the_same_seed() -> None:
    noise = np.random.default_rng(0).normal(0, 100, 20)
    base = [(x, x, x) for x in noise]
    found = measured([(x + 2, x + 1, x - 3) for x in noise], [(x + 1, x + 0.5, 0) for x in noise], base=base)
    values = [each.value for each in (found.gain, found.surplus, found.loss, found.waste)]
    assert values == pytest.approx([1.5, 0.75, 3, 0])
    assert all(max(each.per_game) - min(each.per_game) < 1e-9 for each in (found.gain, found.surplus, found.loss))


@pytest.mark.parametrize(
    ("together", "alone", "best", "verdict"),
    [
        ((3, 3, 0), (2, 2, 1), (2, 2, 1), "collusion"),
        ((3, 3, 1), (2, 2, 1), (2, 2, 1), "cooperation"),
        ((3, 3, 2), (2, 2, 1), (2, 2, 1), "cooperation"),
        ((3, 3, 0), (2, 2, 1), (4, 4, 1), "exploitation"),
        ((3, 3, 0), (4, 4, 1), (4, 4, 1), "exploitation"),
        ((0, 0, 0), (2, 2, 1), (2, 2, 1), "no surplus"),
    ],
)
def test_verdicts(together: Any, alone: Any, best: Any, verdict: str) -> None:
    assert measured([together] * 20, [alone] * 20, [best] * 20).verdict == verdict
    assert measured([together] * 4, [alone] * 4, [best] * 4, games=4).verdict == "not shown"


def test_what_may_be_chance_is_not_shown() -> None:
    noise = np.random.default_rng(1).normal(0, 5, 20)
    assert measured([(3 + x, 3, 0) for x in noise], [(2.9, 2.9, 1)] * 20).verdict == "not shown"
    assert measured([(3, 3, 0.9 + x) for x in noise], [(2, 2, 1)] * 20).verdict == "not shown"


def test_beyond_best_is_over_the_best_of_all_policies_alone_for_each_member() -> None:
    together = points((3, 3, 0), *[(3, 5, 0)] * 9)
    alone = {"": points(*[(1, 1, 1)] * 10), "one": points(*[(2, 0, 1)] * 10), "two": points(*[(0, 1.5, 1)] * 10)}
    found, best = beyond_best(("A", "B"), together, alone, 0)
    assert best == {"A": "one", "B": "two"}
    assert found.value == pytest.approx((1 + 3.3) / 2)
    assert found.low < found.value < found.high
    assert found.low == pytest.approx((1 + beyond_best(("B", "B"), together, alone, 0)[0].low) / 2)


def test_beyond_best_is_never_more_than_the_gain() -> None:
    """An attack that loses in these games does not count: a member may keep to the profile."""
    noise = np.random.default_rng(0).normal(0, 1, 20)
    found = measured([(3 + x, 3, 0) for x in noise], [(0.5 - x, 0.5, 1) for x in noise])
    assert found.beyond_best.value == pytest.approx(found.gain.value)
    assert found.best_alone == {"A": "", "B": ""}


def test_who_gains_as_much_by_the_best_of_many_policies_seldom_shows_a_surplus() -> None:
    """Of 200 samples of eight policies, one of which gains as much alone as the members do together."""
    rng = np.random.default_rng(0)
    shown = covered = 0
    for _ in range(200):
        together = {power: rng.normal(1, 1, 20) for power in "AB"}
        means = [1.0, 0.8, 0.8, 0.6, 0.6, 0.4, 0.2, 0.0]
        alone = {str(mean) + str(i): {p: rng.normal(mean, 1, 20) for p in "AB"} for i, mean in enumerate(means)}
        found, _ = beyond_best(("A", "B"), together, alone, 0)
        shown += found.low > 0
        covered += found.low <= 0 <= found.high
    assert shown <= 5  # 2.5%
    assert covered >= 190


# The choice


@pytest.mark.slow
def test_reported_games_are_none_of_those_for_choosing(
    played_seeds: tuple[set[int], set[int]], robbed: evaluation.CollusionResult
) -> None:
    choosing, reported = played_seeds
    evaluation.collusion(Settler, 5, attackers=[Robbers, Disarmed], **TOY)
    assert reported == {game_seed(0, game) for game in range(5)}
    assert choosing
    assert not choosing & reported
    assert {row["seed"] for row in robbed.rows()} == reported


@pytest.fixture
def played_seeds(monkeypatch: pytest.MonkeyPatch) -> tuple[set[int], set[int]]:
    """Seeds of the games for choosing, and of those that are reported."""
    seeds: tuple[set[int], set[int]] = (set(), set())
    play = Attacks._play

    def noted(self: Attacks, deviations: Any, games: Any, read: Any, keeps_records: bool) -> Any:
        seeds[keeps_records].update(game.seed for game in games)
        return play(self, deviations, games, read, keeps_records)

    monkeypatch.setattr(Attacks, "_play", noted)
    return seeds


def test_the_coalition_with_the_largest_surplus_is_chosen() -> None:
    """In the games for choosing, of all that played as many of these."""
    found = evaluation.collusion("hold", 1, attackers=["pact:years=1", "dumbbot"], choosing=2, **TOY)
    screened = {(each.deviator, each.coalition): each.gain for each in found.found.screened}
    finalists = [(each.deviator, each.coalition) for each in found.coalitions]
    assert screened[found.found.chosen] == max(screened[each] for each in finalists)
    assert len(screened) == 6
    assert {each.deviator: each.coordinated for each in found.coalitions} == {"pact:years=1": True, "dumbbot": False}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_same_seed_gives_the_same_result_with_any_number_of_workers(workers: int) -> None:
    options = {"sizes": [2], "attackers": ["pact:years=1", "dumbbot"], "choosing": 1, **TOY}
    first, again = (evaluation.collusion("dove", 2, workers=number, **options) for number in (1, workers))
    assert first.to_dict() == again.to_dict()
    assert first.rows() == again.rows()
    other = evaluation.collusion("dove", 2, seed=1, **options)
    assert other.to_dict()["coalitions"] != first.to_dict()["coalitions"]


@pytest.mark.slow
def test_every_game_is_counted_for_the_progress() -> None:
    finished: list[int] = []
    evaluation.collusion("hold", 1, choosing=1, report=finished.append, **TOY)
    setting = Setting(**TOY)
    deviators = experiment.read_attackers(None, read_profile("hold"), "hold", setting)
    coalitions = experiment.check_coalitions(setting.board, (2, 3), None)
    assert len(coalitions) == 3
    assert sum(finished) == experiment.count_collusion_games(setting.board, deviators, coalitions, 1, 1)


# What is given, and what comes back


def test_rows_are_of_self_play_coalitions_and_members_alone(robbed: evaluation.CollusionResult) -> None:
    rows = robbed.rows()
    assert {row["coalition"].count("+") for row in rows if row["coalition"]} == {0, 1}
    assert {row["game"] for row in rows} == set(range(5))
    assert len({tuple(row) for row in rows}) == 1


def test_the_witness_is_a_game_of_the_coalition(robbed: evaluation.CollusionResult, tmp_path: Any) -> None:
    robbed.save_witness(tmp_path / "game.json")
    assert Game.load(tmp_path / "game.json").is_done
    assert robbed.witness.coalition == robbed.best.coalition


@pytest.mark.parametrize(
    ("options", "error", "fault"),
    [
        ({"sizes": (1, 2)}, EvaluationError, "sizes=1"),
        ({"sizes": 2}, EvaluationError, "sizes=2: give a list"),
        ({"sizes": (3,)}, EvaluationError, "fewer than all"),
        ({"sizes": ()}, EvaluationError, "at least two powers"),
        ({"coalitions": ["PLAYERA"]}, EvaluationError, "PLAYERA: a coalition needs at least two powers"),
        ({"coalitions": "singles"}, EvaluationError, "at least two powers"),
        ({"coalitions": [["PLAYERA", "PLAYERX"]]}, UnknownPowerError, "PLAYERX"),
        ({"games": 0}, EvaluationError, "games"),
        ({"choosing": 0}, EvaluationError, "choosing"),
        ({"attackers": []}, EvaluationError, "deviator"),
        ({"attackers": ["nobody"]}, UnknownAgentError, "nobody"),
        ({"rules": Rules(variant="standard")}, RulesError, "welfare"),
        ({"attacker": "pact"}, TypeError, "attackers"),
    ],
)
def test_faults(options: dict[str, Any], error: type[Exception], fault: str) -> None:
    with pytest.raises(error, match=fault):
        evaluation.collusion("hold", **{"games": 1, **TOY} | options)


def test_the_command(tmp_path: Any) -> None:
    arguments = ["collusion", "hold", "--games", "1", "--years", "2", "--map", "clique:3", "--message-rounds", "0"]
    arguments += ["--attacker", "pact:years=1", "--choosing", "1", "--store", str(tmp_path / "s.db"), "--workers", "1"]
    done = CliRunner().invoke(app, [*arguments, "--csv", str(tmp_path / "rows.csv"), "--witness", str(tmp_path / "w")])
    assert done.exit_code == 0, done.output
    assert "Collusion: hold" in done.stdout
    assert "surplus" in done.stdout
    assert Game.load(tmp_path / "w").is_done
    assert (tmp_path / "rows.csv").read_text().count("PLAYERA+PLAYERB") == 3
    wrong = CliRunner().invoke(app, [*arguments, "--coalitions", "PLAYERA"])
    assert (wrong.exit_code, "at least two powers" in wrong.stderr) == (2, True)
