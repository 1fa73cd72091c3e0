"""Deterrents: what provokes them, whom they fight, and that peace comes back."""

import itertools

import pytest

import agents
import evaluation
import welfare_env
from agents.scripted.center_partition import planned_owners
from agents.scripted.deterrents.ownership import RightfulOwners, fair_shares
from agents.scripted.deterrents.posse import PossePolicy
from agents.toy_boards.punishing import punishing_orders
from tests import playing
from tests.playing import orders_at, seated
from welfare_env import Game
from welfare_env.errors import WelfareEnvError

RULES = ("grim", "police", "sheriff", "marshal")
QUIET = welfare_env.Rules(press=None)
POWERS = welfare_env.load_board("standard").powers
ROBBER = "exploiter:nice=prosocial,attack=dumbbot,years=1,units=0,centers=18,last_years=0"


def play(profile, rules=QUIET, seed=0, map_name="standard"):
    """A game of a profile: the game at its end, and the policies."""
    players = {power: agents.make(spec) for power, spec in profile.items()}
    return playing.play(welfare_env.make(map_name, rules), players, seed).game, players


def with_one(policy, other, seat="RUSSIA"):
    return {power: other if power == seat else policy for power in POWERS}


ROBBED_OF_MARSEILLES = [{"FRANCE": ["PAR", "MAR"], "ITALY": ["ROM"]}, {"FRANCE": ["PAR"], "ITALY": ["ROM", "MAR"]}]
LOOTED = [{"ENGLAND": ["LON"], "FRANCE": ["PAR", "MAR"]}, {"FRANCE": ["PAR", "MAR", "LON"]}]
PASSED = {"FRANCE": ["PAR", "MAR"], "GERMANY": ["LON"]}
VIENNA = [
    {"AUSTRIA": ["VIE", "BUD"], "ITALY": ["ROM"], "RUSSIA": ["WAR"]},
    {"ITALY": ["ROM", "VIE"], "RUSSIA": ["WAR", "BUD"]},
]
TWO_LOOTED = [
    {"ENGLAND": ["LON"], "FRANCE": ["PAR", "MAR"], "AUSTRIA": ["VIE"], "RUSSIA": ["MOS"]},
    {"FRANCE": ["PAR", "MAR", "LON"], "AUSTRIA": ["VIE", "MOS"]},
    {"FRANCE": ["PAR", "MAR"], "GERMANY": ["LON"], "AUSTRIA": ["VIE", "MOS"]},
]
ITALY_HAS_IT = [
    {"FRANCE": ["MAR"], "ITALY": ["ROM"]},
    {"ITALY": ["ROM", "MAR"]},
    {"ITALY": ["ROM"], "GERMANY": ["MAR"]},
]
BACK = [*ITALY_HAS_IT, {"FRANCE": ["MAR"], "ITALY": ["ROM"]}]

SEEN: dict[str, tuple[list[dict[str, list[str]]], dict[str, tuple[str, ...]]]] = {
    "taken from its owner": (ROBBED_OF_MARSEILLES, {"ITALY": ("MAR",)}),
    "taken from a thief": ([*ROBBED_OF_MARSEILLES, {"FRANCE": ["PAR", "ROM"], "GERMANY": ["MAR"]}], {}),
    "a former thief is robbed, and a neutral center taken": (
        [*ROBBED_OF_MARSEILLES, ROBBED_OF_MARSEILLES[0], {"FRANCE": ["PAR", "MAR", "ROM", "SPA"]}],
        {"FRANCE": ("ROM",)},
    ),
    "thieves exchange their loot": (
        [*VIENNA, {"ITALY": ["ROM", "BUD"], "RUSSIA": ["WAR", "VIE"]}],
        {"ITALY": ("BUD",), "RUSSIA": ("VIE",)},
    ),
    "a center of the thief's own lost": (
        [*LOOTED, {"FRANCE": ["PAR", "LON"], "ITALY": ["MAR"]}],
        {"FRANCE": ("LON",)},
    ),
    # Germany could keep what France had stolen, and both together gained 0.7 points a year.
    "passed on": ([*LOOTED, PASSED], {"FRANCE": ("LON",)}),
    "and back with its owner": ([*LOOTED, PASSED, {"FRANCE": ["PAR", "MAR"], "ENGLAND": ["LON"]}], {}),
    "and one lost of its own": ([*LOOTED, PASSED, {"FRANCE": ["PAR"], "GERMANY": ["LON"], "ITALY": ["MAR"]}], {}),
    "and one lost to the partner": (
        [*LOOTED, PASSED, {"FRANCE": ["PAR"], "GERMANY": ["LON", "MAR"]}],
        {"FRANCE": ("LON",)},
    ),
    "and all lost": ([*LOOTED, PASSED, {"GERMANY": ["LON", "MAR"], "ITALY": ["PAR"]}], {}),
    "and the lost one taken back": (
        [*LOOTED, PASSED, {"FRANCE": ["PAR"], "GERMANY": ["LON"], "ITALY": ["MAR"]}, PASSED],
        {"FRANCE": ("LON",)},
    ),
    "and one lost to another thief": (
        [*TWO_LOOTED, {"FRANCE": ["PAR"], "GERMANY": ["LON"], "AUSTRIA": ["VIE", "MOS", "MAR"]}],
        {"AUSTRIA": ("MAR", "MOS"), "FRANCE": ("LON",)},
    ),
    "taken back from whoever has it": (BACK, {}),
    "and taken again": ([*BACK, {"GERMANY": ["MAR"], "ITALY": ["ROM"]}], {"GERMANY": ("MAR",)}),
    "taken by another one": ([*ITALY_HAS_IT, {"TURKEY": ["MAR"], "ITALY": ["ROM"]}], {"TURKEY": ("MAR",)}),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_is_stolen(name):
    positions, stolen = SEEN[name]
    law = RightfulOwners()
    for owned in positions:
        given = {power: owned.get(power, []) for power in POWERS}
        law.update(Game.from_position("S1902M", {}, given, rules=QUIET).view("FRANCE"))
    assert {power: law.stolen(power) for power in POWERS if law.stolen(power)} == stolen
    assert law.of("MAR") == ("FRANCE" if any("MAR" in owned.get("FRANCE", ()) for owned in positions) else None)


def after_the_opening(*years):
    """The rightful owners after these years of a game from the opening: of each, power -> the centers that it takes."""
    game = Game(rules=QUIET)
    law = RightfulOwners()
    law.begin(game.view("FRANCE"))
    owned = {power: set(centers) for power, centers in game.centers.items()}
    for taken in years:
        owned = {power: (owned[power] - set().union(*taken.values())) | set(taken.get(power, ())) for power in POWERS}
        law._take({power: tuple(sorted(centers)) for power, centers in owned.items()})
    return law


ROBBED_BACK = [{"RUSSIA": ["SWE", "BUD"]}, {"TURKEY": ["SEV"], "AUSTRIA": ["BUD"]}]
GRAB = {"GERMANY": ["BEL", "HOL", "SWE"], "ENGLAND": ["NWY"]}
FROM_THIEVES = {"ENGLAND": ["BEL", "HOL", "KIE"], "RUSSIA": ["SWE"]}


@pytest.mark.parametrize(
    ("power", "years", "stolen"),
    [
        # Russia kept Rumania neutral, was robbed on purpose, took Rumania, and then its own: a center more.
        ("RUSSIA", [{"RUSSIA": ["RUM"]}], ()),  # in exchange for Sweden
        ("RUSSIA", [{"RUSSIA": ["RUM"]}, {"RUSSIA": ["SWE"]}], ("SWE",)),
        ("RUSSIA", [*ROBBED_BACK, {"RUSSIA": ["RUM"]}, {"RUSSIA": ["SEV"]}], ("SEV",)),
        ("RUSSIA", [*ROBBED_BACK, {"RUSSIA": ["SEV"]}], ()),
        ("RUSSIA", [{"RUSSIA": ["BUD"]}, ROBBED_BACK[1], {"RUSSIA": ["RUM"]}, {"RUSSIA": ["SEV"]}], ()),  # for Sweden
        ("RUSSIA", [{"RUSSIA": ["SWE"]}, {"RUSSIA": ["RUM"]}], ("RUM",)),
        # What is kept from thieves does not count.
        ("ENGLAND", [GRAB, FROM_THIEVES, {"ENGLAND": ["DEN"]}], ()),
        ("ENGLAND", [{"ENGLAND": ["NWY", "BEL", "HOL"]}, {"ENGLAND": ["DEN"]}], ("DEN", "HOL")),
    ],
)
def test_nobody_has_more_due_to_it_than_its_share(power, years, stolen):
    """Whatever is neutral, and whoever holds what is its own."""
    assert after_the_opening(*years).stolen(power) == stolen


def test_the_posse_leaves_neutral_centers_to_those_to_whom_they_are_due():
    game = Game(rules=QUIET)
    policy = seated("posse", "ITALY")
    law = RightfulOwners()
    law.begin(game.view("ITALY"))
    policy.pursue(frozenset({"TURKEY"}), law, 0)
    closed = policy.closed(game.view("ITALY"))
    assert {"SER", "GRE", "SPA", "DEN"} <= closed
    assert not {"TUN", "BUL", "RUM"} & closed  # its own, and the enemy's


def test_nobody_is_robbed_by_the_position_in_which_a_game_begins():
    few = {"FRANCE": ["PAR", "MAR", "BRE"], "ITALY": ["ROM", "VEN", "NAP"]}
    for rule in RULES:
        assert not is_at_war(rule, ("S1905M", {}, few))


@pytest.mark.parametrize("rule", RULES)
def test_among_themselves_they_keep_the_peace_and_everything_stays_with_its_rightful_owner(rule):
    game, players = play(dict.fromkeys(POWERS, rule))
    assert not any(game.units.values())
    assert not any(player.is_at_war for player in players.values())
    law = players["FRANCE"].owners
    assert {center: law.of(center) for center in planned_owners(game.board)} == dict(planned_owners(game.board))
    assert not any(law.stolen(power) or law.lost(power) for power in POWERS)
    assert rule != "marshal" or law.first == fair_shares(game.board)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_robber_gains_nothing(rule):
    found = evaluation.exploitability(rule, games=1, deviator=[ROBBER, "dumbbot"], coalitions=["RUSSIA"], rules=QUIET)
    assert found.value.value <= 0


def test_deterrents_do_not_rob_each_other():
    for other, seat in (("dumbbot", "RUSSIA"), (ROBBER, "GERMANY")):
        game, _ = play(with_one("marshal", other, seat))
        winters = [record.centers for record in game.history if record.phase.startswith("W")]
        for before, after in itertools.pairwise(winters):
            was = {center: power for power, owned in before.items() for center in owned}
            taken = {c: power for power, owned in after.items() if power != seat for c in owned if was.get(c) != power}
            assert all(was.get(center) in (None, seat) for center in taken), (other, seat, taken)


def posse(power, enemies, seed=0):
    """A posse that plays a power against enemies."""
    policy = PossePolicy()
    policy.reset(power, seed)
    policy.pursue(frozenset(enemies), RightfulOwners())
    return policy


def hunted(phase, placed, owned, enemy, seed=0):
    """A game in which all others are posses against an enemy, and what they order."""
    game = Game.from_position(phase, units=placed, centers=owned, rules=QUIET)
    orders = {power: posse(power, {enemy}, seed).orders(game.view(power)) for power in placed if power != enemy}
    for power, given in orders.items():
        game.submit(power, given)
    return game, [order for given in orders.values() for order in given]


def test_in_fall_a_posse_takes_over_all_the_centers_that_it_can():
    """A planner robbed marshals in the last two years: a unit left an empty center to attack another one."""
    placed = {"AUSTRIA": ["A TRI"], "GERMANY": ["A TYR"], "FRANCE": ["A PIE"], "RUSSIA": ["A GAL"], "ITALY": ["A BUD"]}
    owned = {"AUSTRIA": ["SER", "GRE"], "GERMANY": ["MUN"], "FRANCE": ["MAR"], "ITALY": ["TRI", "VIE", "BUD", "VEN"]}
    game, _ = hunted("F1905M", placed, owned, "ITALY")
    game.submit("ITALY", ["A BUD H"])
    game.advance()
    assert game.view("ITALY").centers["ITALY"] == ("BUD",)


def test_a_posse_leaves_an_empty_center_to_the_friend_to_whom_it_is_due():
    for due, takes in [("ENGLAND", False), ("FRANCE", True)]:
        units = {"ENGLAND": ["F NTH"], "FRANCE": ["A BUR"]}
        centers = {"GERMANY": ["BEL"], "ENGLAND": ["LON"], "FRANCE": ["PAR"]}
        game = Game.from_position("F1903M", units=units, centers=centers, rules=QUIET)
        policy = seated("posse")
        before = Game.from_position("S1902M", units=units, centers={due: ["BEL"]}, rules=QUIET)
        owners = RightfulOwners()
        owners.begin(before.view("FRANCE"))
        policy.pursue(frozenset({"GERMANY"}), owners)
        orders = policy.act(None, {"view": game.view("FRANCE")})
        assert ("A BUR - BEL" in orders) == takes


AROUND = {"TURKEY": ["F BUL/EC"], "AUSTRIA": ["A BUD", "A SER"], "RUSSIA": ["F SEV"]}


def test_a_posse_attacks_together():
    """An army in Rumania stood for years between units of three powers, each of which was too weak alone."""
    owned = {"TURKEY": ["BUL"], "AUSTRIA": ["BUD", "SER"], "RUSSIA": ["SEV"], "ITALY": ["RUM"]}
    game, _ = hunted("F1905M", AROUND | {"ITALY": ["A RUM", "A GAL"]}, owned, "ITALY")
    game.submit("ITALY", ["A RUM H", "A GAL S A RUM"])
    game.advance()
    assert [unit[2:5] for unit in game.view("ITALY").units["ITALY"]] == ["GAL"]
    assert "RUM" in [unit[2:5] for units in (game.view("ITALY").units.values()) for unit in units]


def test_a_posse_supports_with_one_unit_more_than_the_enemy_can():
    for held, supports in [(["A RUM"], 1), (["A RUM", "A GAL"], 2)]:
        _, orders = hunted("S1905M", AROUND | {"ITALY": held}, {"ITALY": ["RUM"]}, "ITALY")
        assert sum(" S " in order and order.endswith(" - RUM") for order in orders) == supports


def test_a_posse_does_not_bounce_itself_or_its_friends():
    """Two fleets of Turkey bounced at Sevastopol, and two armies of Germany at Warsaw: Russia kept both."""
    placed = {"TURKEY": ["F BLA", "F ARM"], "GERMANY": ["A SIL", "A PRU"], "AUSTRIA": ["A GAL", "A BUD"]}
    owned = {"RUSSIA": ["SEV", "WAR", "MOS"], "TURKEY": ["ANK"], "GERMANY": ["BER"], "AUSTRIA": ["BUD"]}
    for seed in range(8):
        _, orders = hunted("F1903M", placed, owned, "RUSSIA", seed)
        entered = [order.split(" - ")[1][:3] for order in orders if order[5:8] == " - "]
        assert [entered.count(center) for center in ("SEV", "WAR")] == [1, 1]


def test_the_posse_leaves_the_way_to_one_friend():
    placed = {"GERMANY": ["A KIE"], "FRANCE": ["A BEL"], "ENGLAND": ["F NTH"], "RUSSIA": []}
    owned = {"GERMANY": ["KIE"], "FRANCE": ["BEL"], "ENGLAND": ["LON"], "RUSSIA": ["HOL"]}
    game = Game.from_position("S1905M", units=placed, centers=owned, rules=QUIET)
    closed = {power: posse(power, {"RUSSIA"}).closed(game.view(power)) for power in ("GERMANY", "FRANCE", "ENGLAND")}
    assert [power for power in closed if "HOL" not in closed[power]] == ["ENGLAND"]  # the first in the board's order


def test_the_posse_builds_no_more_than_it_says():
    for phase, force, more, years, built in [
        ("W1905A", 2, 0, 5, 2),
        ("W1905A", 1, 1, 1, 2),
        ("W1905A", 9, 0, 0, 3),
        ("W1910A", 9, 0, 0, 0),  # what cannot move any more
    ]:
        centers = {"FRANCE": ["PAR", "MAR", "BRE"], "ITALY": ["ROM"]}
        game = Game.from_position(phase, units={}, centers=centers, rules=QUIET)
        policy = PossePolicy(force, more)
        policy.reset("FRANCE", 0)
        policy.pursue(frozenset({"ITALY"}), RightfulOwners(), years)
        assert len(policy.winter(game.view("FRANCE"))) == built


def after(spec, *positions):
    """What a deterrent that plays France does last, after positions: (phase, units, centers); and the deterrent."""
    policy, action = seated(spec), None
    for phase, units, centers in positions:
        given = {power: list(centers.get(power, ())) for power in POWERS}
        action = policy.act(None, {"view": Game.from_position(phase, units, given, rules=QUIET).view("FRANCE")})
    return action, policy


def is_at_war(spec, *positions):
    return after(spec, *positions)[1].is_at_war


FAIR = {"FRANCE": ["PAR", "MAR", "BRE", "SPA", "POR"], "ITALY": ["ROM", "VEN", "NAP", "TUN"]}
ROBBED = {"FRANCE": ["PAR", "BRE", "SPA", "POR"], "ITALY": ["ROM", "VEN", "NAP", "TUN", "MAR"]}
GREEDY = {"FRANCE": FAIR["FRANCE"], "ITALY": ["ROM", "VEN", "NAP", "TUN", "GRE", "SER"]}
PEACE = ("W1901A", {}, FAIR)
FAR = {"TURKEY": ["CON"], "RUSSIA": ["SEV"], "FRANCE": ["PAR"]}
STOLEN = {"TURKEY": ["CON", "SEV"], "FRANCE": ["PAR"]}
WIDE = {"TURKEY": ["CON"], "RUSSIA": ["SEV"], "FRANCE": ["PAR", "MAR", "BRE"]}
WIDE_STOLEN = {"TURKEY": ["CON", "SEV"], "FRANCE": ["PAR", "MAR", "BRE"]}


OPENING, AT_MARSEILLES = ("S1901M", {}, FAIR), {"ITALY": ["A MAR"]}
ARMED, TAKEN, EXPANDED = ("S1903M", {"ITALY": ["A ROM"]}, FAIR), ("W1903A", {}, ROBBED), ("W1903A", {}, GREEDY)
PART = [("W1901A", {}, FAR), ("F1903M", {"TURKEY": ["A BUR"]}, STOLEN), ("W1903A", {}, STOLEN)]


@pytest.mark.parametrize(
    ("spec", "positions", "expected"),
    [
        ("grim", [PEACE, ARMED], True),
        ("grim:slack=1", [PEACE, ARMED], False),
        ("grim", [PEACE, ("S1903M", {}, ROBBED)], False),
        ("grim:last_years=2", [ARMED], True),
        ("grim:last_years=2", [ARMED, ("S1909M", {"ITALY": ["A ROM"]}, FAIR)], False),
        ("police", [PEACE, ("W1903A", AT_MARSEILLES, ROBBED)], True),
        ("police", [PEACE, EXPANDED], False),
        ("police:armed=no", [PEACE, EXPANDED], True),
        ("sheriff", [PEACE, EXPANDED], True),
        ("marshal", [PEACE, TAKEN], True),
        ("marshal:slack=1", [PEACE, TAKEN], False),
        ("marshal:armed=yes", [PEACE, TAKEN], False),
        ("marshal:armed=yes", [PEACE, ("W1903A", AT_MARSEILLES, ROBBED)], True),
        ("marshal:last_years=7", [PEACE, TAKEN], True),
        ("marshal:last_years=8", [PEACE, TAKEN], False),
        # The first Winter counts, and nothing before: Italy stands in Marseilles, and takes it in the Fall.
        ("marshal", [OPENING, ("F1901M", AT_MARSEILLES, FAIR)], False),
        ("marshal", [OPENING, ("W1901A", AT_MARSEILLES, ROBBED)], True),
        # Forgiving.
        ("marshal:forgive=0", [PEACE, ("F1903M", {}, ROBBED), ("W1903A", {}, FAIR)], False),
        ("marshal:forgive=1", [PEACE, ("F1903M", {}, ROBBED), ("W1903A", {}, FAIR)], True),
        ("marshal:forgive=1", [PEACE, TAKEN, ("S1908M", {}, FAIR)], False),
        ("marshal:forgive=never", [PEACE, TAKEN, ("S1908M", {}, FAIR)], True),
        # Only those concerned: Turkey steals far away, and is a war for France where it stands in Burgundy.
        ("marshal:fighters=concerned", [PART[0], PART[2]], True),
        ("marshal:fighters=concerned", PART, True),
    ],
)
def test_what_provokes(spec, positions, expected):
    assert is_at_war(spec, *positions) is expected


def test_only_those_concerned_build_and_a_unit_more_each_year_of_war():
    for near, builds in (({}, 0), ({"TURKEY": ["A BUR"]}, 1)):
        assert len(after("marshal:fighters=concerned", PART[0], ("W1903A", near, STOLEN))[0]) == builds
    assert after("marshal:fighters=concerned", *PART)[1]._since == 2  # who has come and gone is an enemy all the same
    wars = [("S1902M", {}, WIDE), ("W1902A", {}, WIDE_STOLEN), ("W1903A", {}, WIDE_STOLEN)]
    assert [len(after("marshal", *wars[: 1 + number])[0]) for number in (1, 2)] == [2, 3]


def test_who_is_robbed_by_nobody_in_particular_fights_everybody():
    few = {"FRANCE": ["PAR", "MAR", "BRE"], "ITALY": ["ROM", "VEN", "NAP"]}
    actions = after("sheriff:fight=posse", ("S1901M", {}, FAIR), ("W1903A", {}, few))
    assert len(actions[0]) == 2
    assert actions[1].enemies == set(POWERS) - {"FRANCE"}


@pytest.mark.parametrize("rule", ["grim", "marshal"])
def test_it_says_what_it_will_do_and_what_it_does(rule):
    rules = welfare_env.Rules(message_rounds=1, years=5)
    game, _ = play(with_one(rule, "dumbbot", "ITALY"), rules)
    said = [message for record in game.history for message in record.messages if message.sender == "FRANCE"]
    assert said[0].text.startswith("We disarm. If anybody ")
    war = "We fight Italy, and nobody else," if rule == "marshal" else "We arm and fight everybody"
    assert any(war in message.text for message in said[1:])
    assert all(message.recipient == "GLOBAL" for message in said)


def test_it_speaks_by_words():
    rules = welfare_env.Rules(message_rounds=1, years=4, press="tokens")
    game, _ = play(with_one("marshal", "dumbbot", "ITALY"), rules)
    sent = [message for record in game.history for message in record.messages if message.sender == "FRANCE"]
    said = {(message.recipient == "ITALY", message.text) for message in sent}
    peace = {(True, "propose demilitarisation"), (False, "propose demilitarisation")}
    assert said == {*peace, (True, "refuse"), (False, "ask for support")}


def test_a_mediator_with_a_rule_owns_nothing_and_is_never_concerned():
    players = dict.fromkeys(("PLAYERA", "PLAYERB", "PLAYERC"), "dumbbot") | {"MEDIATOR": "grim:fighters=concerned"}
    rules = welfare_env.Rules(years=3, message_rounds=1, mediator=True)
    _, policies = play(players, rules, map_name="clique:3")
    assert policies["MEDIATOR"].is_at_war


def test_faults():
    for options in [{"slack": True}, {"forgive": 0.5}, {"last_years": -1}]:
        with pytest.raises(ValueError, match=next(iter(options))):
            agents.DeterrentPolicy(**options)


def test_its_words_name_its_options():
    view = Game.from_position("S1902M", {}, {"FRANCE": ["PAR"]}).view("FRANCE", "messages", 1)
    said = str(seated("marshal:armed=yes,forgive=2,last_years=3,slack=2").act(None, {"view": view})["messages"])
    for words in ("and is armed", "gone for 2 years", "In the last 3 years", "more than 2 centers"):
        assert words in said


def test_noise():
    info = {"view": Game(rules=QUIET).view("FRANCE")}
    assert seated("prosocial").act(None, info) == seated("noisy:of=prosocial,error=0").act(None, info)
    games = [play(dict.fromkeys(POWERS, f"noisy:of=prosocial,error={error}"))[0] for error in (0, 0.2, 1)]
    first, second, third = (sum(game.welfare.values()) for game in games)
    assert first > second > third


def test_a_fortress_arms_and_stays_at_home():
    game, _ = play(dict.fromkeys(POWERS, "fortress"), welfare_env.Rules(press=None, years=3))
    assert [len(game.units[power]) for power in POWERS] == [len(game.board.start_units[power]) for power in POWERS]
    assert orders_at("fortress", phase="W1903A", units={}, centers={"FRANCE": ["PAR", "MAR"]}) == ["A MAR B", "A PAR B"]


def pact_orders(members, power):
    """What a pact orders for one of its members, of two armies side by side that could both enter a third's center."""
    placed = {"FRANCE": ["A BUR"], "GERMANY": ["A RUH"], "ENGLAND": ["F NTH"]}
    owned = {"FRANCE": ["PAR"], "GERMANY": ["KIE"], "ENGLAND": ["LON"], "ITALY": ["BEL"]}
    game = Game.from_position("F1905M", units=placed, centers=owned, rules=QUIET)
    policy = agents.make("pact:years=1")
    policy.reset_coalition(members, 0)
    return policy.act(None, {"view": game.view(power)})


def test_members_of_a_pact_keep_out_of_each_others_way():
    alone = [pact_orders([power], power) for power in ("FRANCE", "GERMANY")]
    assert [any("- BEL" in order for order in orders) for orders in alone] == [True, True]
    together = [pact_orders(["FRANCE", "GERMANY"], power) for power in ("FRANCE", "GERMANY")]
    assert sum("- BEL" in order for orders in together for order in orders) == 1


def punishing(power, owned, units, enemies=None):
    """What `punish` orders as a power on clique:3, and what the paper's punishers would against each other power."""
    game = Game.from_position(
        "S1902M", units=units, centers=owned, rules=welfare_env.Rules(press=None, years=3), map_name="clique:3"
    )
    policy = seated("punish", power)
    if enemies is not None:
        policy.pursue(frozenset(enemies))
    view = game.view(power)
    others = [other for other in game.board.powers if other != power]
    against = {other: punishing_orders(game.board, view.state, other)[power] for other in others}
    return policy.act(None, {"view": view}), against


ARMED = {"PLAYERA": ["A CAX"], "PLAYERB": ["A CBX"], "PLAYERC": ["A HCX"]}


def test_punish_fights_the_enemy_that_owns_most():
    for owned, enemies, fought in [
        ({"PLAYERA": ["HAX", "CAX"], "PLAYERB": ["HBX"], "PLAYERC": ["HCX"]}, {"PLAYERA", "PLAYERB"}, "PLAYERA"),
        ({"PLAYERA": ["HAX"], "PLAYERB": ["HBX", "CBX"], "PLAYERC": ["HCX"]}, None, "PLAYERB"),
        ({"PLAYERA": ["HAX"], "PLAYERB": ["HBX"], "PLAYERC": ["HCX"]}, None, "PLAYERA"),  # the board's order
    ]:
        given, against = punishing("PLAYERC", owned, ARMED, enemies)
        assert given == against[fought]


def test_punish_plays_on_toy_boards_only():
    policy = seated("punish")
    with pytest.raises(WelfareEnvError, match="clique:n"):
        policy.act(None, {"view": Game(rules=QUIET).view("FRANCE")})
