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
from collections.abc import Iterable, Sequence
from typing import Any

from welfare_env.board.loading import load_board
from welfare_env.checks import quoted
from welfare_env.errors import RecordError
from welfare_env.game.press import GLOBAL
from welfare_env.imports.foreign import ForeignGame, ForeignMessage, ForeignPhase, label, read_each

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


def read(saved: dict[str, Any], spoken: dict[str, Any] | None = None) -> ForeignGame:
    """Read a game.

    Args:
        saved: history.json, or a response of game/status.
        spoken: messages.json, if given: the messages to all players.

    Raises:
        RecordError: a part is malformed (the message says where), or a variant other than Classic. Also Python's own
            errors.
    """
    if int(saved.get("variantID", CLASSIC)) != CLASSIC:
        raise RecordError(f"variantID {quoted(saved['variantID'])}: only games of the variant Classic can be read")
    messages: dict[str, list[ForeignMessage]] = {}
    for message in spoken["messages"] if spoken else ():
        messages.setdefault(_name(message), []).append(_message(message))
    over, phases = saved.get("gameOver") or "", saved["phases"]
    has_messages = spoken or any("messages" in phase for phase in phases)
    return ForeignGame(
        program="webDiplomacy",
        id=str(int(saved["gameID"])) if "gameID" in saved else "",
        map_name="standard",
        phases=read_each(phases, lambda phase: _phase(phase, messages)),
        outcome="" if over == "No" else label(over),
        unread=()
        if has_messages
        else ("no messages: history.json has none; those to all players are in messages.json",),
    )


def _phase(phase: dict[str, Any], spoken: dict[str, list[ForeignMessage]]) -> ForeignPhase:
    name = _name(phase)
    units: dict[str, list[str]] = {}
    for unit in phase["units"]:
        units.setdefault(_country(unit), []).append(_unit(unit))
    return ForeignPhase(
        name=name,
        units=units,
        centers=_centers(phase) if name else None,  # after the end the site repeats those before the last phase
        orders=_orders(phase, [text for texts in units.values() for text in texts]),
        messages=[*map(_message, phase.get("messages") or ()), *spoken.get(name, ())],
    )


def _name(phase: dict[str, Any]) -> str:
    """The short name; "" after the end. Turn 0 is the Spring of 1901."""
    kind, turn = phase["phase"], int(phase["turn"])
    if kind == FINISHED:
        return ""
    if kind not in SEASONS or not 0 <= turn < 2000:
        raise RecordError(f"phase {quoted(kind)}: expected one of {', '.join(SEASONS)}, in a turn from 0 to 1999")
    *seasons, letter = SEASONS[kind]
    return f"{seasons[turn % 2]}{FIRST_YEAR + turn // 2}{letter}"


def _country(part: dict[str, Any]) -> str:
    return _numbered(COUNTRIES, part["countryID"], 1)


def _territory(number: Any) -> str:
    return _numbered(TERRITORIES, number, 1)


def _numbered(names: Sequence[str], number: Any, lowest: int) -> str:
    """A name by its number; PHP programs write numbers as texts, too."""
    if not lowest <= int(number) < len(names):
        raise RecordError(f"{quoted(number)}: expected a number from {lowest} to {len(names) - 1}")
    return names[int(number)]


def _is_true(value: Any) -> bool:
    return value in (True, "Yes")


def _type(unit: dict[str, Any], *keys: str) -> str:
    """A or F."""
    kind = next((unit[key] for key in keys if unit.get(key)), None)
    if kind not in ("Army", "Fleet"):
        raise RecordError(f"{quoted(kind)}: expected 'Army' or 'Fleet'")
    return str(kind)[0]


def _unit(unit: dict[str, Any]) -> str:
    star = "*" if _is_true(unit.get("retreating")) else ""
    return f"{star}{_type(unit, 'type', 'unitType')} {_territory(unit['terrID'])}"


def _centers(phase: dict[str, Any]) -> dict[str, list[str]]:
    """Power -> supply centers; the site lists the owners of all territories, and of coasts."""
    known = set(load_board("standard").centers)
    found: dict[str, list[str]] = {}
    for center in phase["centers"]:
        place = _territory(center["terrID"])
        if place in known and int(center["countryID"]):
            found.setdefault(_country(center), []).append(place)
    return found


def _orders(phase: dict[str, Any], units: Iterable[str]) -> dict[str, list[str]]:
    types = {unit.lstrip("*")[2:5]: unit.lstrip("*")[0] for unit in units}
    found: dict[str, list[str]] = {}
    for order in phase["orders"]:
        text = _order(order, types)
        if text:
            found.setdefault(_country(order), []).append(text)
    return found


def _order(order: dict[str, Any], types: dict[str, str]) -> str:
    """An order as text; "" for a waived build.

    Args:
        types: province -> type of the unit there; in a retreat phase, of the last of two.
    """
    kind = order["type"]
    if kind == "Wait":
        return ""
    if kind in ("Build Army", "Build Fleet", "Destroy"):
        place = _territory(order["terrID"] if order.get("terrID") not in (None, 0, "0", "") else order["toTerrID"])
        return f"{types.get(place[:3], '')} {place} D".strip() if kind == "Destroy" else f"{kind[6]} {place} B"
    unit = f"{_type(order, 'unitType')} {_territory(order['terrID'])}"
    if kind in ("Hold", "Disband"):
        return f"{unit} {kind[0]}"
    target = _territory(order["toTerrID"])
    if kind == "Move":
        return f"{unit} - {target}{' VIA' if _is_true(order.get('viaConvoy')) else ''}"
    if kind in ("Retreat", "Support hold"):
        return f"{unit} R {target}" if kind == "Retreat" else f"{unit} S {types.get(target[:3], '')} {target}"
    if kind not in ("Support move", "Convoy"):
        raise RecordError(f"order {quoted(kind)}: expected one such as 'Move', 'Support hold' or 'Build Army'")
    moved = _territory(order["fromTerrID"])
    return f"{unit} {kind[0]} {types.get(moved[:3], '')} {moved} - {target}"


def _message(message: dict[str, Any]) -> ForeignMessage:
    """A message; the site stores texts as HTML."""
    sender, recipient = (_numbered(COUNTRIES, message[end], 0) for end in ("fromCountryID", "toCountryID"))
    return ForeignMessage(sender, recipient, html.unescape(LINE_BREAK.sub("\n", message["message"])))
