"""Positions and random play: what the environment's tests begin with, and how they go on."""

from typing import Any

import numpy as np
import pytest

from tests.playing import ordered
from welfare_env import Board, Game, Rules
from welfare_env.game.press import TOKENS

MODES = [
    pytest.param({"press": press, "variant": variant}, id=f"{press}-{variant}")
    for press, variant in ((None, "welfare"), ("tokens", "standard"), ("text", "welfare"))
]


def _winter_slots(game: Game, power: str, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """The lists of orders of a random Winter: builds or disbands, not both, and not too many."""
    legal = game.legal_orders(power)
    builds, must = (int(limit[game.board.power_index[power]]) for limit in game.position.adjustments)
    disbanding = [orders for orders in legal.values() if orders[0].endswith(" D")]
    building = [orders for orders in legal.values() if orders[0].endswith(" B")]
    slots, most = building, builds
    if not building or rng.random() < 0.5:
        slots, most = disbanding, len(disbanding) if game.rules.is_welfare else must
    chosen = rng.permutation(len(slots))[: rng.integers(0, most + 1)]
    return [slots[index] for index in chosen]


def _attack(game: Game, power: str, rng: np.random.Generator) -> tuple[str, ...]:
    """A move by sea, or into a province that another power holds, and its supports and convoys: all that can help."""
    legal = game.legal_orders(power)
    held = {unit[2:5] for other, units in game.units.items() if other != power for unit in units}
    moves = [order for orders in legal.values() for order in orders if " S " not in order and " C " not in order]
    moves = [move for move in moves if move.endswith(" VIA") or move.partition(" - ")[2][:3] in held]
    if not moves:
        return ()
    move = moves[rng.integers(len(moves))]
    bare = move.removesuffix(" VIA")
    helping = (f" S {bare}", f" C {bare}")
    helps = ([order for order in orders if order.endswith(helping)] for orders in legal.values())
    return (move, *(options[0] for options in helps if options))


def draw_orders(game: Game, power: str, rng: np.random.Generator) -> list[str]:
    """Random legal orders; now and then a unit gets none.

    Half of the time a power throws all it can into one attack: orders drawn one by one hardly ever dislodge a unit.
    """
    if game.phase.endswith("A"):
        return [slot[rng.integers(len(slot))] for slot in _winter_slots(game, power, rng)]
    attack = _attack(game, power, rng) if game.phase.endswith("M") and rng.random() < 0.5 else ()
    busy = {" ".join(order.split()[:2]) for order in attack}
    legal = {unit: orders for unit, orders in game.legal_orders(power).items() if unit not in busy}
    drawn = [orders[rng.integers(len(orders))] for orders in legal.values() if rng.random() < 0.95]
    return [*attack, *drawn]


def scatter(board: Board, rng: np.random.Generator, number: int) -> tuple[dict, dict]:
    """Units of random powers in so many provinces, and owners of most centers."""
    units: dict[str, list[str]] = {power: [] for power in board.powers}
    centers: dict[str, list[str]] = {power: [] for power in board.powers}
    filled: set[str] = set()
    for index in rng.permutation(len(board.pieces)):
        piece = board.pieces[index]
        if piece[2:5] not in filled and len(filled) < number:
            filled.add(piece[2:5])
            units[board.powers[rng.integers(len(board.powers))]].append(piece)
    for center in board.centers:
        if rng.random() < 0.8:
            centers[board.powers[rng.integers(len(board.powers))]].append(center)
    return units, centers


def play_on(game: Game, rng: np.random.Generator, phases: int | None = None) -> Game:
    """Random legal play, to the end or for so many phases."""
    while not game.is_done and phases != 0:
        ordered(game, {power: draw_orders(game, power, rng) for power in game.powers})
        phases = None if phases is None else phases - 1
    return game


def winter(units: dict, centers: dict, rules: Rules | None = None, **more: Any) -> Game:
    """A Winter of 1901."""
    return Game.from_position("W1901A", units, centers, rules=rules, **more)


def dislodging(phase: str = "S1901M", rules: Rules | None = None) -> Game:
    """France has just thrown Germany out of Burgundy."""
    units = {"FRANCE": ["A PAR", "A MAR"], "GERMANY": ["A BUR"]}
    centers = {"FRANCE": ["PAR", "MAR", "BRE"], "GERMANY": ["MUN", "BER"]}
    game = Game.from_position(phase, units, centers, rules=rules)
    return ordered(game, {"FRANCE": ["A PAR - BUR", "A MAR S A PAR - BUR"]})


def speak_and_order(game: Game, rng: np.random.Generator) -> None:
    """Messages, random orders, some of them void, and gifts where there can be.

    The messages are odd where they are free text.
    """
    for message_round in range(1, 1 + game.rules.message_rounds * (game.phase[-1] != "R")):
        sender, other = (game.powers[index] for index in rng.permutation(len(game.powers))[:2])
        texts = f"{sender} to all 🕊\n\x00", "\u202e between us"
        if game.rules.has_tokens:
            texts = TOKENS[message_round - 1], TOKENS[rng.integers(len(TOKENS))]
        game.send(sender, "GLOBAL", texts[0], message_round)
        game.send(sender, other, texts[1], message_round)
    for power in game.powers:
        orders = draw_orders(game, power, rng)
        if game.rules.transfers and game.phase.endswith("A"):
            orders += [f"GIVE {other}" for other in game.powers if other != power][: game.welfare[power]]
        void = ["no order", "A LON - MOS"][: rng.integers(3)]
        game.submit(power, [*orders, *void], strict=False)


SAID = ("I will hold.", "I will not enter your centers. And you?", "Peace?", "Let us disarm in winter.")


def full_press(map_name: str = "standard", seed: int = 0, **rules: Any) -> Game:
    """A whole game in which all write to each other."""
    game, rng = Game(map_name, Rules(**rules)), np.random.default_rng(seed)
    while not game.is_done:
        for message_round in range(1, 1 + game.rules.message_rounds * (game.phase[-1] != "R")):
            for sender in game.powers:
                for recipient in (*game.powers, "GLOBAL"):
                    if recipient != sender and rng.random() < 0.6:
                        game.send(sender, recipient, SAID[rng.integers(len(SAID))], message_round)
        ordered(game, {power: draw_orders(game, power, rng) for power in game.powers})
    return game
