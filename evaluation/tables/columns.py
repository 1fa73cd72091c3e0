"""Descriptions of the columns of all tables: `evaluation.columns`."""

from __future__ import annotations

from typing import NamedTuple

from agents.runtime.table_files import TableError
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: capitals are placeholders: welfare_YEAR stands for welfare_1901, welfare_1902, ...
        dtype: "text", "int", "float" or "bool", or "any" for one of these. In a float or int, nan (in CSV an empty
            field) stands for a missing value.
        unit: "" for none.
        meaning: a short description.
    """

    name: str
    dtype: str
    unit: str
    meaning: str


def _read(text: str) -> tuple[Column, ...]:
    """Parse lines "name | dtype | unit | meaning"."""
    lines = ([part.strip() for part in line.split("|")] for line in text.strip().splitlines())
    return tuple(Column(name, dtype, unit, meaning) for name, dtype, unit, meaning in lines)


_EXPERIMENT = _read("""
experiment | text | | experiments only: name of the experiment
condition | int | | experiments only: number of the condition, from 0
coalitions | text | | experiments only: name of the set of coalitions; empty in self-play
measure | text | | experiments only: the measure that the game belongs to, such as self-play or cross-play
training_seed | int | | experiments only: training seed of the trained policies; nan if none plays
swept_NAME | any | | experiments only: the value of NAME in this condition; as text if the values have mixed types
""")
_CONDITION = _read("""
profile | text | | the profile as given
deviator | text | | the policy of the coalition; empty in self-play, including the self-play games of exploitability
coalition | text | | the powers that deviate, joined by +; empty in self-play
chosen | bool | | whether this is the attack selected by exploitability or red_team
evaluation_seed | int | | the seed given to the evaluation (--seed); nan if rows were made of single games
game | int | | number of the game in its condition, from 0
seed | int | | the game's own seed; games with the same seed are paired; nan for a game saved by hand
key | text | | the game's key in the store; empty for policies without a name
map | text | | the map
variant | text | | welfare or standard
scoring | text | | scoring rule
press | text | | text, tokens or none
message_rounds | int | rounds a phase | message rounds
years | int | years | longest game
simultaneous | bool | | whether all powers sent their messages at the same time
other_rules | text | | rules that differ from their default: "retreat_welfare: True"
""")
_SEAT = _read("""
power | text | | the power
policy | text | | the power's policy
deviates | bool | | whether the power belongs to the coalition
""")
_END = _read("""
years_played | int | years | completed years of the game
welfare | float | points | welfare points at the end; nan in variant standard
welfare_per_year | float | points a year | welfare points per year played
score | float | | score under the rules' scoring, in both variants
centers | int | centers | supply centers at the end
units | int | units | units at the end
centers_taken | int | centers | supply centers that the power took from other powers
centers_lost | int | centers | supply centers that other powers took from the power
orders | int | orders | orders that the power submitted, including illegal orders
illegal_orders | int | orders | of these, illegal, or unusable in a language model's reply
messages | int | messages | messages that the power sent
promises | float | promises | promises found in its messages; this and the next two are nan if the map is unknown
kept_promises | float | promises | kept promises
broken_promises | float | promises | broken promises; some promises cannot be judged kept or broken
tokens | int | tokens | input and output tokens of the power's language model; 0 for other policies
dollars | float | dollars | list price of these tokens; nan if a price is unknown
root_nash_welfare | float | points a year | of the game: geometric mean of the powers' welfare points a year
root_nash_welfare_smoothed | float | points a year | of the game: root Nash welfare with 1e-6 added to all points
nash_welfare | float | | of the game: product of the powers' welfare points a year
baseline_root_nash_welfare | float | points a year | of the game: root Nash welfare of the powers that do not deviate
deviators_root_nash_welfare | float | points a year | of the game: root Nash welfare of the deviators; nan for none
best_score | float | | of the game: the highest score of any power
stolen_centers | int | centers | of the game: supply centers that one power took from another
stolen_centers_per_year | float | centers a year | of the game: stolen centers per year played
conflicts | int | conflicts | of the game: provinces that more than one unit moves to or stays in, over its phases
conflicts_per_phase | float | conflicts a phase | of the game: conflicts per movement phase
proficiency | float | share | of the game: basic proficiency, the mean of the next three columns
parse_rate | float | share | of the game: fraction of language models' replies that were parsed; 1 without replies
legal_rate | float | share | of the game: fraction of submitted orders that were legal
owned_share | float | share | of the game: fraction of supply centers owned by any power at the end
""")
_YEARS = _read("""
welfare_YEAR | float | points | welfare points after the Winter of this year; nan after the end of a game
centers_YEAR | float | centers | supply centers after that Winter
units_YEAR | float | units | units after that Winter
""")

TABLES: dict[str, tuple[Column, ...]] = {
    "games": (*_EXPERIMENT, *_CONDITION, *_SEAT, *_END, *_YEARS),
    "years": (
        *_EXPERIMENT,
        *_CONDITION,
        *_SEAT,
        *_read("""
year | int | | the year
welfare | float | points | welfare points after the Winter of this year; nan in variant standard
centers | float | centers | supply centers after that Winter
units | float | units | units after that Winter
"""),
    ),
    "differences": _read("""
measure | text | | the measure
first | text | | the first condition (subtracted)
second | text | | the second condition
first_value | float | | the measure in the first condition
second_value | float | | the measure in the second condition
difference | float | | mean over games of second - first
low | float | | lower end of the interval of the difference (all intervals hold simultaneously); nan for none
high | float | | upper end of the interval
is_clear | bool | | whether 0 is outside the interval; if all games have the same difference, by the sign test
games | int | games | games per condition
evaluation_seed | int | | the seed given to the evaluation
comparisons | int | | number of differences
"""),
    "programs": _read("""
profile | text | | the tested policy
deviator | text | | the policy of the coalition; empty if nobody deviates
coalition | text | | the players that deviate, joined by +
chosen | bool | | whether this is the coalition that gains most
evaluation_seed | int | | the seed given to the evaluation
game | int | | number of the game in its condition, from 0
epsilon | text | | price of one unit of cost, as a fraction
cost | text | | the measure of a program's cost
actions | text | | how players choose programs
rounds | int | rounds | rounds of a game
exact | bool | | whether the payoff is a computed expectation, not the result of a game
player | text | | the player
deviates | bool | | whether the player belongs to the coalition
payoff | float | points a round | the player's mean payoff
"""),
    "tournament": _read("""
agent | text | | the agent
opponent | text | | the opponent
cooperates | float | probability | probability that the agent cooperates: 0, 1, or 0.5 if RandomBot's coin decides
world | int | | the world at which the play settles
"""),
    "payoffs": _read("""
agent | text | | the agent
opponent | text | | the opponent
cooperates | float | probability | probability that the agent cooperates: 0, 1, or 0.5 if RandomBot's coin decides
world | int | | the world at which the play settles
paid | float | payoff | the agent's payoff minus its cost
epsilon | text | | price of one unit of cost, as a fraction
cost | text | | the measure of a program's cost
"""),
    "shares": _read("""
time | float | | time of the replicator dynamics
agent | text | | the agent
share | float | share | the agent's share at that time; 0 below about 1e-308
log_share | float | | natural logarithm of the share
"""),
    "growth": _read("""
run | int | | number of the run; 0 is the start
steps | int | steps | agents added in the run
agent | text | | the agent
count | int | agents | number of copies of the agent after the run
"""),
    "basins": _read("""
end | text | | the agent that takes over, or elsewhere or undecided
starts | int | starts | number of starts that end there
share | float | share | fraction of all starts
low | float | share | lower end of the share's 95% interval
high | float | share | upper end of the interval
"""),
    "exact": _read("""
map | text | | the map
years | int | years | length of the game
profile | text | | the profile; empty if the result does not have it
coalition | text | | the deviating powers, joined by +; their points are summed
profile_value | float | points | welfare points of the whole game without deviation; nan if the profile lacks this seat
value | float | points | welfare points of the whole game with the best response
gain | float | points | value - profile_value
gain_per_year | float | points a year | gain divided by years
positions | int | positions | positions searched
"""),
    "theorems": _read("""
map | text | | the map
years | int | years | length of the game (T)
t | int | | all powers disband in the Winter of this year
role | text | | kind of deviator: player, sharer, excluded or other
deviator | text | | the power that deviates
punishers | text | | stated, ranked or best
profile_value | int | points | welfare points of the whole game if the deviator follows the profile
value | int | points | welfare points of the whole game with the best response
gain | int | points | value - profile_value
states | int | positions | positions searched so far
"""),
    "messages": _read("""
players | text | | the policies of the players; if the record does not have them, the game's name
rules | text | | the rules
game | text | | the game's key in the store, or its file
sender | text | | the sender
messages | int | messages | messages that the sender sent
public_messages | int | messages | of these, messages to GLOBAL
promises_KIND | int | promises | promises of this kind found in the messages
kept_KIND | int | promises | of these, kept promises
broken_KIND | int | promises | of these, broken promises
game_public_share | float | share | of the game: fraction of messages that are public
game_similarity_own | float | cosine | of the game: similarity of messages with the same sender
game_similarity_others | float | cosine | of the game: similarity of messages with different senders
"""),
    "curves": _read("""
folder | text | | the folder of the training
seed | int | | seed of the training
iteration | int | iterations | number of the iteration, from 1
METRIC | float | | logged value of this metric, such as play/return (docs/training.md); nan if not logged
"""),
    "best-response": _read("""
profile | text | | the profile that the coalition deviates from
coalition | text | | the powers that play the trained network, joined by +
seed | int | | seed of the training
games | int | games | number of games, with the coalition and in self-play each
gain | float | points a year | gain of the member who gains least
low | float | points a year | lower end of the gain's 95% interval
high | float | points a year | upper end of the interval
points | float | points a year | that member's points when the coalition deviates
profile_points | float | points a year | that member's points in self-play of the profile
"""),
    "population": _read("""
step | int | | number of best responses so far
seed | int | | seed of the training
policies | int | | number of policies so far
mix | text | | the mix, as a policy spec
payoff | float | points a year | mean payoff of a seat when all seats play the mix
regret | float | points a year | gain of the population's best policy against the mix, by the payoff table
gap | float | points a year | exact gain of a best response to the mix; nan if unknown
mean_gap | float | points a year | the gap averaged over seats
welfare | float | points a year | exact mean welfare of a power; nan if unknown
why | text | | why the gap is unknown
attack_gain | float | points a year | if the gap is unknown: gain of the portfolio's best attack
attack_low | float | points a year | lower end of the attack gain's 95% interval
attack_high | float | points a year | upper end of the interval
attack_games | int | games | number of games of the attack
"""),
}
"""Table -> columns, in this order. Columns of `_EXPERIMENT` are only in tables of experiments."""


def columns(table: str = "games") -> tuple[Column, ...]:
    """The columns of a table, with types, units and meanings; docs/results.md lists the tables of each result.

    Args:
        table: one of `TABLES`: "games", "years", "exact", ...

    Raises:
        TableError: an unknown table.
    """
    if not isinstance(table, str) or table not in TABLES:
        raise TableError(f"table={quoted(table)}{did_you_mean(table, TABLES)}: choose from {', '.join(TABLES)}")
    return TABLES[table]


def as_markdown(table: str) -> str:
    """The description of a table's columns as a Markdown table, for the docs."""
    lines = [f"| {each.name} | {each.dtype} | {each.unit} | {each.meaning} |" for each in columns(table)]
    return "\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *lines]) + "\n"
