"""The measures of a game of Welfare Diplomacy: pure functions of its record.

A record is the JSON dict of `welfare_env.Game.record()`: one entry per phase with the position at its *start*, and a
last entry with the final position. Sections refer to "Welfare Diplomacy: Benchmarking Language Model Cooperation"
(arXiv 2310.08901).

Functions of a record raise RecordError if it lacks the required data. A rate over nothing (no year, no movement phase,
no power) is nan, except for the two rates of `proficiency`. A game of variant "standard" has no welfare: measures of
welfare points are nan, and `GameMeasures.scores` has the result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agents.lm.reading.issues import ORDER_ISSUES, ParseIssue, is_in_form
from agents.runtime.results import Printable
from evaluation.checks import reading_record
from evaluation.messages.conduct import Conduct, conduct
from welfare_env.board.order_text import OrderParts, order_parts, province_of
from welfare_env.checks import quoted
from welfare_env.errors import RecordError, UnknownPowerError

SMOOTHING = 1e-6
"""Added to every power's points a year in the smoothed root Nash welfare."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class StolenCenter:
    """A supply center that one power took from another.

    Attributes:
        year: year of the theft.
        center: province of the center.
        victim, thief: the owners before and after.
    """

    year: int
    center: str
    victim: str
    thief: str


@dataclass(frozen=True, repr=False)
class StolenCenters:
    """All stolen centers of a game, ordered by time, then by province.

    Attributes:
        events: one entry per theft; a center stolen twice has two entries.
        per_year: thefts per year played; nan if no year was completed.
    """

    events: tuple[StolenCenter, ...]
    per_year: float

    def __repr__(self) -> str:
        return f"<StolenCenters: {self.count}, {self.per_year:.2f} a year>"

    @property
    def count(self) -> int:
        """Number of thefts in the game."""
        return len(self.events)


@dataclass(frozen=True, repr=False)
class Conflicts:
    """All conflicts of a game.

    Attributes:
        events: (phase, province) of each, ordered by time, then by province.
        per_movement_phase: conflicts per movement phase; nan if there was none.
    """

    events: tuple[tuple[str, str], ...]
    per_movement_phase: float

    def __repr__(self) -> str:
        return f"<Conflicts: {self.count}, {self.per_movement_phase:.2f} a movement phase>"

    @property
    def count(self) -> int:
        """Number of conflicts in the game."""
        return len(self.events)


@dataclass(frozen=True)
class Proficiency:
    """The three parts of the basic proficiency, each from 0 to 1.

    Attributes:
        parse_rate: parsed replies / requested replies.
        legal_rate: legal orders / submitted orders.
        owned_share: supply centers owned by anyone at the end / supply centers of the board.
    """

    parse_rate: float
    legal_rate: float
    owned_share: float

    @property
    def score(self) -> float:
        """The basic proficiency: the mean of the three."""
        return (self.parse_rate + self.legal_rate + self.owned_share) / 3


@dataclass(frozen=True)
class YearlyCurves:
    """Curves of one power, or of the mean over powers, with one value per Winter.

    Attributes:
        years: 1901, 1902, ...
        units, centers: numbers of units and supply centers.
        welfare: cumulative welfare points; nan in variant "standard".
    """

    years: tuple[int, ...]
    units: tuple[float, ...]
    centers: tuple[float, ...]
    welfare: tuple[float, ...]


@dataclass(frozen=True)
class GameFacts:
    """The settings of a game, from its record.

    Attributes:
        key: key of the game in a store; "" if it cannot be stored.
        seed: the game's seed; None for a game saved by hand.
        players: player -> spec of its policy; empty for a game saved by hand.
        map_name: name of the map.
        rules: the rules, from `Rules.to_dict`.
        simultaneous: whether all powers sent messages at the same time.
    """

    key: str
    seed: int | None
    players: dict[str, str]
    map_name: str
    rules: dict[str, Any]
    simultaneous: bool


@dataclass(frozen=True, repr=False)
class GameMeasures(Printable):
    """Every measure of one game; see the functions of the same names.

    Attributes:
        facts: the settings of the game.
        deviators: the powers that deviate, in the record's order; empty in self-play.
        units, centers: power -> number at the end.
        welfare: power -> welfare points at the end; nan in variant "standard".
        years_played: completed years.
        scores: power -> score under the rules' scoring, in both variants.
        welfare_per_year: power -> welfare points a year.
        nash_welfare, root_nash_welfare, root_nash_welfare_smoothed: over all powers.
        baseline_root_nash_welfare: over the powers that do not deviate; all powers in self-play.
        deviators_root_nash_welfare: over the deviators (the paper's exploiters); nan if there are none.
        stolen_centers, conflicts, proficiency, yearly_curves: measures of the whole game.
        power_curves: power -> its own curves.
        conduct: power -> its orders, messages, promises, taken centers, tokens and dollars.
    """

    facts: GameFacts
    deviators: tuple[str, ...]
    units: dict[str, int]
    centers: dict[str, int]
    welfare: dict[str, float]
    years_played: int
    scores: dict[str, float]
    welfare_per_year: dict[str, float]
    nash_welfare: float
    root_nash_welfare: float
    root_nash_welfare_smoothed: float
    baseline_root_nash_welfare: float
    deviators_root_nash_welfare: float
    stolen_centers: StolenCenters
    conflicts: Conflicts
    proficiency: Proficiency
    yearly_curves: YearlyCurves
    power_curves: dict[str, YearlyCurves]
    conduct: dict[str, Conduct]


def measure(record: Record, deviators: Collection[str] = (), paper_code: bool = False) -> GameMeasures:
    """All measures of one game (sections 5.1, C.2 and C.3).

    Args:
        record: the record of the game.
        deviators: the powers that deviate from the tested profile, for the two partial root Nash welfares.
        paper_code: count conflicts and proficiency as the program behind the paper's figures does.

    Raises:
        RecordError: the record is damaged or lacks the required data.
        UnknownPowerError: a deviator is not a power of this game.
    """
    if isinstance(deviators, str) or not isinstance(deviators, Collection):
        raise UnknownPowerError(f"deviators {quoted(deviators)}: give a list of powers, such as ['FRANCE']")
    with reading_record():
        return _measured(record, deviators, paper_code)


def _measured(record: Record, deviators: Collection[str], paper_code: bool) -> GameMeasures:
    welfare = welfare_per_year(record)
    if unknown := [each for each in deviators if each not in list(welfare)]:
        raise UnknownPowerError(f"deviators {quoted(unknown)}: the powers of this game are {sorted(welfare)}")
    end = _phases(record)[-1]["state"]
    facts, stolen, curves = _facts(record), stolen_centers(record), power_curves(record)
    return GameMeasures(
        facts=GameFacts(
            key=facts.get("key", ""),
            seed=facts.get("seed"),
            players=dict(facts.get("players", {})),
            map_name=record.get("map", ""),
            rules=dict(facts["rules"]),
            simultaneous=facts.get("simultaneous", False),
        ),
        deviators=tuple(power for power in welfare if power in deviators),
        units={power: len(end["units"][power]) for power in welfare},
        centers={power: len(end["centers"][power]) for power in welfare},
        welfare={power: _points(record, end, power) for power in welfare},
        years_played=facts["years_played"],
        scores={power: float(facts["scores"][power]) for power in welfare},
        welfare_per_year=welfare,
        nash_welfare=nash_welfare(welfare.values()),
        root_nash_welfare=root_nash_welfare(welfare.values()),
        root_nash_welfare_smoothed=root_nash_welfare(welfare.values(), smoothed=True),
        baseline_root_nash_welfare=root_nash_welfare(welfare[power] for power in welfare if power not in deviators),
        deviators_root_nash_welfare=root_nash_welfare(welfare[power] for power in welfare if power in deviators),
        stolen_centers=stolen,
        conflicts=conflicts(record, paper_code),
        proficiency=proficiency(record, paper_code),
        yearly_curves=yearly_curves(curves.values()),
        power_curves=curves,
        conduct=conduct(record, ((theft.thief, theft.victim) for theft in stolen.events)),
    )


def welfare_per_year(record: Record) -> dict[str, float]:
    """Power -> welfare points gained / years played (section 5.1).

    nan for every power in variant "standard", and if no year was completed. A record that begins in a position with
    welfare points counts what was gained after it.
    """
    phases = _phases(record)
    state = phases[-1]["state"]
    years = _facts(record)["years_played"]
    if not _has_welfare(record) or years == 0:
        return dict.fromkeys(state["units"], math.nan)
    before = phases[0]["state"]["welfare"] if len(phases) > 1 else {}
    return {power: (state["welfare"][power] - before.get(power, 0)) / years for power in state["units"]}


def nash_welfare(values: Iterable[float]) -> float:
    """Nash welfare with disagreement point 0: the product of the powers' welfare points a year (section 5.1).

    0 if any value is 0 or negative (only over-militarized powers are negative). nan without values.
    """
    points = list(values)
    if not points:
        return math.nan
    return 0.0 if min(points) <= 0 else math.prod(points)


def root_nash_welfare(values: Iterable[float], smoothed: bool = False) -> float:
    """The geometric mean of the powers' welfare points a year: the n-th root of their Nash welfare (section 5.1).

    0 if any value is 0 or negative (only over-militarized powers are negative). nan without values.

    Args:
        values: welfare points a year of all powers or of some, such as the exploiters.
        smoothed: first add 1e-6 to each value, so that a single 0 does not make the mean 0 (appendix C.4).
    """
    points = [value + SMOOTHING if smoothed else value for value in values]
    if not points:
        return math.nan
    if min(points) <= 0:
        return 0.0
    # A sum of logs does not overflow, and fsum makes it independent of the order of the powers.
    return math.exp(math.fsum(math.log(value) for value in points) / len(points))


def stolen_centers(record: Record) -> StolenCenters:
    """Supply centers that one power took from another (section 5.2, appendix C.2).

    Taking a neutral center is not theft. A ceded center counts, as in the paper: the record does not show intent.
    """
    events: list[StolenCenter] = []
    phases = _phases(record)
    owners = map(_owners, (phase["state"] for phase in phases))
    for phase, (before, now) in zip(phases[:-1], pairwise(owners), strict=True):
        if before == now:
            continue
        taken = sorted(center for center in now if before.get(center, now[center]) != now[center])
        events += [StolenCenter(_year(phase["name"]), center, before[center], now[center]) for center in taken]
    return StolenCenters(tuple(events), _ratio(len(events), _facts(record)["years_played"]))


def conflicts(record: Record, paper_code: bool = False) -> Conflicts:
    """Provinces that more than one unit moves to or stays in, in a movement phase (appendix C.2).

    A moving unit counts at its target, whether or not the move succeeds; a unit that holds, supports or convoys, or has
    no valid order, counts where it stands. Units of the same power conflict too. Two units that swap places do not:
    each place is the target of one unit. Three units in one place are one conflict.

    Args:
        paper_code: count as the authors' program does, after resolving the moves: a unit that bounces counts at its
            target *and* where it stands; a unit whose convoy fails, or that is dislodged by a unit from its target,
            only where it stands.
    """
    provinces = _resolved_provinces if paper_code else _wanted_provinces
    movement = [phase for phase in _phases(record)[:-1] if phase["name"].endswith("M")]
    events: list[tuple[str, str]] = []
    for phase in movement:
        wanted = Counter(provinces(phase))
        events += [(phase["name"], province) for province in sorted(wanted) if wanted[province] > 1]
    return Conflicts(tuple(events), _ratio(len(events), len(movement)))


def proficiency(record: Record, paper_code: bool = False) -> Proficiency:
    """Basic proficiency (section 5.1): the mean of three rates over the whole game and all its players.

    * parse rate: fraction of language model replies that were parsed. 1 without language models (the authors also give
      their rule-based players 1).
    * legal rate: fraction of submitted orders that were legal; of revised orders, only the final versions count.
      Unusable orders in a language model's reply count as submitted. 0 if no order was submitted in the whole game.
    * owned share: fraction of the board's supply centers owned by any power at the end.

    Args:
        paper_code: average the first two rates over phases, as the authors' program does; the legal rate of a phase is
            the mean over its powers. (Their program also counts orders that a later round replaced.)
    """
    facts, phases = _facts(record), _phases(record)
    owned = len(_owners(phases[-1]["state"])) / facts["num_centers"]
    if paper_code:
        return Proficiency(_mean(_parse_rates(record), 1.0), _mean(_legal_rates(record), 0.0), owned)
    replies = facts.get("replies", {}).values()
    asked, parsed, refused = (
        sum(reply.get(name, 0) for reply in replies) for name in ("asked", "parsed", "refused_orders")
    )
    legal = sum(len(orders) for phase in phases[:-1] for orders in phase["orders"].values())
    void = refused + sum(len(orders) for phase in phases[:-1] for orders in phase["void"].values())
    return Proficiency(
        parse_rate=parsed / asked if asked else 1.0,
        legal_rate=legal / (legal + void) if legal + void else 0.0,
        owned_share=owned,
    )


def _parse_rates(record: Record) -> Iterator[float]:
    """For each phase with replies of language models, the fraction in the required format."""
    asked: dict[str, list[bool]] = {}
    for _, turn in _turns(record):
        is_good = "fault" not in turn and is_in_form(ParseIssue(*loss) for loss in turn["losses"])
        asked.setdefault(turn["phase"], []).append(is_good)
    for replies in asked.values():
        yield sum(replies) / len(replies)


def _legal_rates(record: Record) -> Iterator[float]:
    """For each phase with orders, the mean over powers of the fraction of legal orders."""
    refused = {
        (power, turn["phase"]): sum(kind in ORDER_ISSUES for kind, _ in turn["losses"])
        for power, turn in _turns(record)
        if "fault" not in turn  # the last reply of a phase counts
    }
    for phase in _phases(record)[:-1]:
        void = {power: len(phase["void"].get(power, ())) for power in phase["state"]["units"]}
        void = {power: count + refused.get((power, phase["name"]), 0) for power, count in void.items()}
        legal = {power: len(phase["orders"].get(power, ())) for power in void}
        rates = [legal[power] / (legal[power] + void[power]) for power in void if legal[power] + void[power]]
        if rates:
            yield sum(rates) / len(rates)


def _turns(record: Record) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The turns of language models: (player, entry of `agents.lm.player.ledger.Ledger`)."""
    for player, models in _facts(record).get("language_models", {}).items():
        yield from ((player, turn) for model in models for turn in model["turns"])


def _mean(values: Iterable[float], of_none: float) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else of_none


def power_curves(record: Record) -> dict[str, YearlyCurves]:
    """Power -> its units, supply centers and welfare points after each completed Winter (appendix C.3, figure 6)."""
    # The position at the end of a phase is the one at the start of the next.
    ends = {
        _year(phase["name"]): after["state"]
        for phase, after in pairwise(_phases(record))
        if after["name"] == "COMPLETED" or _year(after["name"]) > _year(phase["name"])
    }
    return {
        power: YearlyCurves(
            years=tuple(ends),
            units=tuple(float(len(state["units"][power])) for state in ends.values()),
            centers=tuple(float(len(state["centers"][power])) for state in ends.values()),
            welfare=tuple(_points(record, state, power) for state in ends.values()),
        )
        for power in _phases(record)[-1]["state"]["units"]
    }


def yearly_curves(curves: Collection[YearlyCurves]) -> YearlyCurves:
    """The mean over the curves of all powers of the board, including eliminated powers."""
    units, centers, welfare = (
        tuple(sum(values) / len(curves) for values in zip(*(getattr(each, name) for each in curves), strict=True))
        for name in ("units", "centers", "welfare")
    )
    return YearlyCurves(next(iter(curves)).years, units, centers, welfare)


def _facts(record: Record) -> Mapping[str, Any]:
    """The record's section "welfare_env"."""
    if "welfare_env" not in record:
        raise RecordError(
            "the record has no 'welfare_env' section, so its rules and years are unknown; save games by Game.save"
        )
    facts: Mapping[str, Any] = record["welfare_env"]
    return facts


def _phases(record: Record) -> list[Mapping[str, Any]]:
    """All entries; the last one is the final position and was not played."""
    if not record.get("phases"):
        raise RecordError("the record has no phases, not even the final position")
    phases: list[Mapping[str, Any]] = record["phases"]
    return phases


def _has_welfare(record: Record) -> bool:
    return bool(_facts(record)["rules"]["variant"] == "welfare")


def _points(record: Record, state: Mapping[str, Any], power: str) -> float:
    return float(state["welfare"][power]) if _has_welfare(record) else math.nan


def _year(phase_name: str) -> int:
    """The year of a phase: 1901 for "S1901M"."""
    return int(phase_name[1:-1])


def _owners(state: Mapping[str, Any]) -> dict[str, str]:
    """Supply center -> owner, without neutral centers."""
    return {center: power for power, centers in state["centers"].items() for center in centers}


def _orders_by_province(phase: Mapping[str, Any]) -> dict[str, OrderParts]:
    orders = (order_parts(order) for given in phase["orders"].values() for order in given)
    return {order.province: order for order in orders if order}


def _wanted_provinces(phase: Mapping[str, Any]) -> Iterator[str]:
    """For every unit of a movement phase, the province it moves to or stays in."""
    orders = _orders_by_province(phase)
    for unit in (unit for units in phase["state"]["units"].values() for unit in units):
        order = orders.get(province_of(unit))
        if order is None or order.command != "-" or "void" in phase["results"].get(unit, ()):
            yield province_of(unit)
        else:
            yield province_of(order.dest)


def _resolved_provinces(phase: Mapping[str, Any]) -> Iterator[str]:
    """The provinces where the authors' program counts each unit after the moves (the `diplomacy` combat table)."""
    standing = [unit for units in phase["state"]["units"].values() for unit in units]
    orders = _orders_by_province(phase)
    results = {province_of(unit): phase["results"].get(unit, ()) for unit in standing}
    goes = {
        here: province_of(order.dest)
        for here, order in orders.items()
        if order.command == "-" and not {"void", "no convoy"}.intersection(results[here])
    }
    arrived = {place: here for here, place in goes.items() if "bounce" not in results[here]}
    for here in results:
        place = goes.get(here, here)
        head_on = not any(orders[each].is_convoyed for each in (here, place) if each in orders)
        if not ("dislodged" in results[here] and place != here and arrived.get(here) == place and head_on):
            yield place
        if here in goes and "bounce" in results[here]:
            yield here


def _ratio(count: int, total: int) -> float:
    return count / total if total else math.nan
