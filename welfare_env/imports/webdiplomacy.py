"""Games of webDiplomacy: the file history.json of a game, or the response of its older API call game/status.

The formats are defined in github.com/kestasjk/webDiplomacy: lib/gamefiles.php (history.json and messages.json), and
api/responses/game_state.php and order.php (game/status). Both have ``phases`` with ``turn``, ``phase``, ``units``,
``centers`` and ``orders``; game/status writes ``unitType`` for the type of a unit and "Yes" or "No" instead of true or
false, and has messages within the phases. Numbers of territories and countries are those of the variant Classic
(variants/Classic/install.php), the only supported variant.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from welfare_env.board.loading import load_board
from welfare_env.game.press import GLOBAL
from welfare_env.imports.foreign import ForeignGame, ForeignMessage, ForeignPhase
from welfare_env.imports.nodes import Node

CLASSIC = 1
FIRST_YEAR = 1901
COUNTRIES = (GLOBAL, "ENGLAND", "FRANCE", "ITALY", "GERMANY", "AUSTRIA", "TURKEY", "RUSSIA")
# Territories by the site's number, from 1; 0 is unused.
_NAMES = """
- CLY EDI LVP YOR WAL LON POR SPA NAF TUN NAP ROM TUS PIE VEN APU GRE ALB SER BUL RUM CON SMY ANK ARM SYR SEV UKR WAR
LVN MOS STP FIN SWE NWY DEN KIE BER PRU SIL MUN RUH HOL BEL PIC BRE PAR BUR MAR GAS BAR NWG NTH SKA HEL BAL BOT NAO IRI
ENG MAO WES LYO TYS ION ADR AEG EAS BLA TYR BOH VIE TRI BUD GAL SPA/NC SPA/SC STP/NC STP/SC BUL/EC BUL/SC
"""
TERRITORIES = tuple(_NAMES.split())
SEASONS = {"Diplomacy": ("S", "F", "M"), "Retreats": ("S", "F", "R"), "Builds": ("W", "W", "A")}
FINISHED = "Finished"
LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def read(saved: Node, spoken: Node | None = None) -> ForeignGame:
    """Read a game.

    Args:
        saved: history.json, or a response of game/status.
        spoken: messages.json, if given: the messages to all players.

    Raises:
        RecordError: a part is missing or malformed (the message says where), or a variant other than Classic.
    """
    if "variantID" in saved and saved["variantID"].number() != CLASSIC:
        raise saved["variantID"].wrong(f"{CLASSIC}: only games of the variant Classic can be read")
    messages: dict[str, list[ForeignMessage]] = {}
    for message in spoken["messages"].entries() if spoken else ():
        messages.setdefault(_name(message, message["turn"].number()), []).append(_message(message))
    over = saved["gameOver"].label() if "gameOver" in saved else ""
    return ForeignGame(
        program="webDiplomacy",
        id=str(saved["gameID"].number()) if "gameID" in saved else "",
        map_name="standard",
        phases=[_phase(phase, messages) for phase in saved["phases"].entries()],
        outcome="" if over == "No" else over,
        unread=()
        if spoken or _has_messages(saved)
        else ("no messages: history.json has none; those to all players are in messages.json",),
    )


def _has_messages(saved: Node) -> bool:
    return any("messages" in phase for phase in saved["phases"].entries())


def _phase(phase: Node, spoken: dict[str, list[ForeignMessage]]) -> ForeignPhase:
    turn = phase["turn"].number()
    name = _name(phase, turn)
    own = phase["messages"].entries() if "messages" in phase else []
    units: dict[str, list[str]] = {}
    for unit in phase["units"].entries():
        units.setdefault(_country(unit), []).append(_unit(unit))
    return ForeignPhase(
        name=name,
        place=phase.place,
        units=units,
        centers=_centers(phase),
        orders=_orders(phase, [text for texts in units.values() for text in texts]),
        messages=[*(_message(message) for message in own), *spoken.get(name, ())],
    )


def _name(phase: Node, turn: int) -> str:
    """The short name; "" after the end. Turn 0 is the Spring of 1901."""
    kind = phase["phase"]
    if kind.value == FINISHED:
        return ""
    if kind.value not in SEASONS or not 0 <= turn < 2000:
        raise kind.wrong(f"one of {', '.join([*SEASONS, FINISHED])}, in a turn from 0 to 1999")
    *seasons, letter = SEASONS[kind.value]
    return f"{seasons[turn % 2]}{FIRST_YEAR + turn // 2}{letter}"


def _country(part: Node) -> str:
    found = _named(part["countryID"])
    if found == GLOBAL:
        raise part["countryID"].wrong(f"a country from 1 to {len(COUNTRIES) - 1}")
    return found


def _territory(number: Node) -> str:
    if not 0 < number.number() < len(TERRITORIES):
        raise number.wrong(f"a territory from 1 to {len(TERRITORIES) - 1}")
    return TERRITORIES[number.number()]


def _unit(unit: Node) -> str:
    kind = unit["type" if "type" in unit else "unitType"]
    if kind.value not in ("Army", "Fleet"):
        raise kind.wrong("'Army' or 'Fleet'")
    star = "*" if "retreating" in unit and unit["retreating"].flag() else ""
    return f"{star}{kind.text()[0]} {_territory(unit['terrID'])}"


def _centers(phase: Node) -> dict[str, list[str]]:
    """Power -> supply centers; the site lists the owners of all territories, and of coasts."""
    known = set(load_board("standard").centers)
    found: dict[str, list[str]] = {}
    for center in phase["centers"].entries():
        place = _territory(center["terrID"])
        if place in known and center["countryID"].number():
            found.setdefault(_country(center), []).append(place)
    return found


def _orders(phase: Node, units: Iterable[str]) -> dict[str, list[str]]:
    types = {unit.lstrip("*")[2:5]: unit.lstrip("*")[0] for unit in units}
    found: dict[str, list[str]] = {}
    for order in phase["orders"].entries():
        text = _order(order, types)
        if text:
            found.setdefault(_country(order), []).append(text)
    return found


def _order(order: Node, types: dict[str, str]) -> str:
    """An order as text; "" for a waived build.

    Args:
        types: province -> type of the unit there; in a retreat phase, of the last of two.
    """
    kind = order["type"].text()
    if kind == "Wait":
        return ""
    if kind in ("Build Army", "Build Fleet", "Destroy"):
        place = _territory(order["terrID" if _is_given(order, "terrID") else "toTerrID"])
        return f"{types.get(place[:3], '')} {place} D".strip() if kind == "Destroy" else f"{kind[6]} {place} B"
    unit = _ordered_unit(order)
    if kind in ("Hold", "Disband"):
        return f"{unit} {kind[0]}"
    target = _territory(order["toTerrID"])
    if kind == "Move":
        return f"{unit} - {target}{' VIA' if 'viaConvoy' in order and order['viaConvoy'].flag() else ''}"
    if kind in ("Retreat", "Support hold"):
        return f"{unit} R {target}" if kind == "Retreat" else f"{unit} S {types.get(target[:3], '')} {target}"
    if kind not in ("Support move", "Convoy"):
        raise order["type"].wrong("an order such as 'Move', 'Support hold' or 'Build Army'")
    moved = _territory(order["fromTerrID"])
    return f"{unit} {kind[0]} {types.get(moved[:3], '')} {moved} - {target}"


def _ordered_unit(order: Node) -> str:
    kind = order["unitType"]
    if kind.value not in ("Army", "Fleet"):
        raise kind.wrong("'Army' or 'Fleet'")
    return f"{kind.text()[0]} {_territory(order['terrID'])}"


def _is_given(order: Node, name: str) -> bool:
    return name in order and order[name].value not in (0, "0", "")


def _message(message: Node) -> ForeignMessage:
    """A message; the site stores texts as HTML."""
    sender, recipient = (_named(message[end]) for end in ("fromCountryID", "toCountryID"))
    return ForeignMessage(sender, recipient, html.unescape(LINE_BREAK.sub("\n", message["message"].text())))


def _named(country: Node) -> str:
    """A country, or GLOBAL for number 0."""
    if not 0 <= country.number() < len(COUNTRIES):
        raise country.wrong(f"a country from 0 to {len(COUNTRIES) - 1}")
    return COUNTRIES[country.number()]
