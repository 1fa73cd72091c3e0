"""Conflicts and proficiency as the program behind the paper's figures counts them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents.specs import read_profile
from evaluation import Setting
from evaluation.measures.metrics import conflicts, measure, proficiency
from evaluation.play.playing import play_game
from tools.equivalence.lively import lively
from welfare_env import Game, Rules, load_board
from welfare_env.engine.reference import ReferenceEngine

FIGHT = {"FRANCE": ["A PAR", "A MAR", "F BRE"], "GERMANY": ["A MUN", "A RUH"]}


def fought(units: Any = FIGHT, paper_code: bool = True, **orders: list[str]) -> list[str]:
    """The conflicts of one phase."""
    rules = Rules(press=None)
    game = Game.from_position("S1901M", units, {"FRANCE": ["PAR"], "GERMANY": ["MUN"]}, rules=rules)
    for power, texts in orders.items():
        game.submit(power, texts)
    game.advance()
    return [province for _, province in conflicts(game.record(), paper_code).events]


def test_a_unit_that_bounces_counts_where_it_stands_too() -> None:
    """Munich is a conflict for the authors: the army that bounces back, and the one that wanted to follow it."""
    bounced = {"FRANCE": ["A PAR - BUR"], "GERMANY": ["A MUN - BUR", "A RUH - MUN"]}
    assert fought(**bounced) == ["BUR", "MUN"]
    assert fought(**bounced, paper_code=False) == ["BUR"]


def test_a_unit_that_is_dislodged_head_on_counts_where_it_stands_only() -> None:
    supported = ["A PAR - BUR", "A MAR S A PAR - BUR"]
    units = {"FRANCE": ["A PAR", "A MAR"], "GERMANY": ["A BUR"]}
    assert fought(units, FRANCE=supported, GERMANY=["A BUR - PAR"]) == ["BUR"]
    assert fought(units, FRANCE=supported, GERMANY=["A BUR H"]) == ["BUR"]


def test_a_unit_that_is_dislodged_by_a_convoyed_swap_counts_at_its_target_too() -> None:
    """Belgium and Holland trade places, one by sea: no head-on fight, so Kiel and Belgium both fought over Holland."""
    units = {"FRANCE": ["A BEL", "A KIE"], "GERMANY": ["A HOL", "A RUH", "F NTH"]}
    by_sea = ["A HOL - BEL VIA", "A RUH S A HOL - BEL", "F NTH C A HOL - BEL"]
    assert fought(units, FRANCE=["A BEL - HOL", "A KIE - HOL"], GERMANY=by_sea) == ["BEL", "HOL"]


def combats(engine: ReferenceEngine) -> list[str]:
    """What the authors' program counts, from the table of combats of the `diplomacy` package."""
    table: dict[str, dict[int, list[Any]]] = engine._game.combat
    return sorted(place for place, strengths in table.items() if sum(map(len, strengths.values())) > 1)


def played(seed: int, phases: int) -> Iterator[tuple[Game, list[str]]]:
    """A lively game, phase by phase, with the conflicts of each movement phase as the package has them."""
    rng, board = np.random.default_rng(seed), load_board()
    game = Game("standard", Rules("standard", years=20, press=None), "reference")
    for _ in range(phases):
        engine, position = game._engine, game.position
        assert isinstance(engine, ReferenceEngine)
        texts = board.orders.texts
        for power, numbers in zip(board.powers, lively(engine, position.state, position.legal, rng), strict=True):
            game.submit(power, [texts[number] for number in numbers], strict=False)
        was_movement = game.phase.endswith("M")
        game.advance()
        if game.is_done:
            return
        if was_movement:
            yield game, combats(engine)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_conflicts_are_those_of_the_package(seed: int) -> None:
    """In games full of convoys, cut supports, dislodgements and chains of bounces."""
    counted = 0
    for game, expected in played(seed, 30):
        phase = game.history[-1].phase
        found = [province for name, province in conflicts(game.record(), paper_code=True).events if name == phase]
        assert found == expected, (phase, game.history[-1].orders, game.history[-1].results)
        counted += len(found)
    assert counted


def test_rates_are_means_over_phases() -> None:
    """One order of a Spring is void, and all thirty of a Fall are legal."""
    game = Game(rules=Rules(press=None))
    game.submit("FRANCE", ["A PAR - MOS"], strict=False)
    game.advance()
    for power in game.powers:
        game.submit(power, [orders[0] for orders in game.legal_orders(power).values()])
    game.advance()
    assert proficiency(game.record()).legal_rate == 22 / 23
    assert proficiency(game.record(), paper_code=True).legal_rate == (0 + 1) / 2


def test_the_legal_rate_of_a_phase_is_the_mean_of_its_powers() -> None:
    game = Game(rules=Rules(press=None))
    game.submit("FRANCE", ["A PAR - MOS"], strict=False)
    game.submit("RUSSIA", ["A MOS H", "A WAR H", "F SEV H"])
    game.advance()
    assert proficiency(game.record(), paper_code=True).legal_rate == 1 / 2


def test_replies_of_language_models_are_rated_by_phase() -> None:
    """The stub's games: what is refused in a reply counts in its phase."""
    rules = Rules(years=1, message_rounds=1)
    (spec,) = Setting(rules=rules, seed=3).games(read_profile("lm:scripted/stub"), 1)
    record = play_game(spec)
    rates = proficiency(record, paper_code=True)
    assert 0 < rates.parse_rate <= 1
    assert 0 < rates.legal_rate <= 1
    turns = record["welfare_env"]["language_models"]["FRANCE"][0]["turns"]
    turns[-1]["losses"] = [["no object", "prose"], ["order syntax", "go to Paris"]]
    assert proficiency(record, paper_code=True).parse_rate < rates.parse_rate
    assert proficiency(record, paper_code=True).legal_rate < rates.legal_rate


def test_all_measures_may_be_counted_so() -> None:
    game = Game(rules=Rules(press=None))
    game.submit("FRANCE", ["A PAR - BUR", "A MAR - BUR"])
    game.advance()
    found = measure(game.record(), paper_code=True)
    assert found.conflicts == conflicts(game.record(), paper_code=True)
    assert found.proficiency == proficiency(game.record(), paper_code=True)
