"""The columns of all tables, as data: `evaluation.columns`."""

from __future__ import annotations

from typing import NamedTuple

from agents.runtime.table_files import TableError
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: capitals stand for a part that varies: welfare_YEAR is welfare_1901, welfare_1902, ...
        dtype: "text", "int", "float" or "bool", or "any" for one of these. In a float or int, nan (in CSV an empty
            field) means that there is no such value.
        unit: "" if it has none.
        meaning: in a sentence or less.
    """

    name: str
    dtype: str
    unit: str
    meaning: str


def _read(text: str) -> tuple[Column, ...]:
    """Columns of lines "name | dtype | unit | meaning"."""
    lines = ([part.strip() for part in line.split("|")] for line in text.strip().splitlines())
    return tuple(Column(name, dtype, unit, meaning) for name, dtype, unit, meaning in lines)


_EXPERIMENT = _read("""
experiment | text | | experiments only: its name
condition | int | | experiments only: number of the condition, from 0
coalitions | text | | experiments only: name of the set of coalitions; empty in self-play
measure | text | | experiments only: what the game was played for, such as self-play or cross-play
training_seed | int | | experiments only: of the trained policies that play; nan if none does
swept_NAME | any | | experiments only: the value of NAME in this condition; a text if its values differ in kind
""")
_CONDITION = _read("""
profile | text | | the profile as given
deviator | text | | the policy of the coalition; empty in self-play, also in that of exploitability
coalition | text | | the powers that deviate, joined by +; empty in self-play
chosen | bool | | whether this is the attack that exploitability and red_team chose and report
evaluation_seed | int | | the seed given to the evaluation (--seed); nan if rows were made of single games
game | int | | number of the game in its condition, from 0
seed | int | | the game's own seed; games with the same seed are paired; nan for a game saved by hand
key | text | | the game's key in the store; empty for policies without a name
older_code | bool | | whether the game came from the store and an older version of the code played it
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
policy | text | | what plays it
deviates | bool | | whether it belongs to the coalition
""")
_END = _read("""
years_played | int | years | completed years of the game
welfare | float | points | welfare points at the end; nan in variant standard
welfare_per_year | float | points a year | welfare points per year played
score | float | | score under the rules' scoring, in both variants
centers | int | centers | supply centers at the end
units | int | units | units at the end
centers_taken | int | centers | supply centers that the power took from another
centers_lost | int | centers | supply centers that another power took from it
orders | int | orders | orders that the power submitted, illegal ones included
illegal_orders | int | orders | of these, illegal, or unusable in a language model's reply
messages | int | messages | messages that the power sent
promises | float | promises | promises found in them; this and the next two are nan if the map is not known here
kept_promises | float | promises | promises that were kept
broken_promises | float | promises | promises that were broken; some can be judged neither kept nor broken
tokens | int | tokens | tokens of its language model, input and output; 0 for other players
dollars | float | dollars | list price of these tokens; nan if a price is unknown
root_nash_welfare | float | points a year | of the game: geometric mean of the powers' welfare points a year
root_nash_welfare_smoothed | float | points a year | of the game: the same with 1e-6 added to each power's points
nash_welfare | float | | of the game: product of the powers' welfare points a year
baseline_root_nash_welfare | float | points a year | of the game: root Nash welfare of the powers that do not deviate
deviators_root_nash_welfare | float | points a year | of the game: that of the deviators; nan without any
best_score | float | | of the game: the highest score of a power
stolen_centers | int | centers | of the game: supply centers that one power took from another
stolen_centers_per_year | float | centers a year | of the game: the same per year played
conflicts | int | conflicts | of the game: provinces that more than one unit moves to or stays in, over its phases
conflicts_per_phase | float | conflicts a phase | of the game: the same per movement phase
proficiency | float | share | of the game: basic proficiency, the mean of the next three
parse_rate | float | share | of the game: replies of language models that could be parsed; 1 without any
legal_rate | float | share | of the game: legal orders among those submitted
owned_share | float | share | of the game: supply centers that any power owns at the end
""")
_YEARS = _read("""
welfare_YEAR | float | points | welfare points after the Winter of this year; nan after the end of a game
centers_YEAR | float | centers | supply centers then
units_YEAR | float | units | units then
""")

TABLES: dict[str, tuple[Column, ...]] = {
    "games": (*_EXPERIMENT, *_CONDITION, *_SEAT, *_END, *_YEARS),
    "years": (
        *_EXPERIMENT,
        *_CONDITION,
        *_SEAT,
        *_read("""
year | int | | the year
welfare | float | points | welfare points after its Winter; nan in variant standard
centers | float | centers | supply centers then
units | float | units | units then
"""),
    ),
    "differences": _read("""
measure | text | | the measure
first | text | | the condition that is subtracted
second | text | | the condition that it is subtracted from
first_value | float | | the measure in the first condition
second_value | float | | in the second
difference | float | | mean over games of second - first
low | float | | lower end of its interval; all intervals of a comparison hold simultaneously; nan if there is none
high | float | | upper end
is_clear | bool | | whether 0 is outside the interval; if all games have the same difference, by the sign test
games | int | games | games per condition
evaluation_seed | int | | the seed given to the evaluation
comparisons | int | | number of differences
"""),
    "programs": _read("""
profile | text | | the policy under test
deviator | text | | the policy of the coalition; empty where nobody deviates
coalition | text | | the players that deviate, joined by +
chosen | bool | | whether it is the coalition that gains most
evaluation_seed | int | | the seed given to the evaluation
game | int | | number of the game in its condition, from 0
epsilon | text | | price of one unit of cost, as a fraction
cost | text | | what modeling costs
actions | text | | how players choose programs
rounds | int | rounds | rounds of a game
exact | bool | | whether the payoff was computed, not played
player | text | | the player
deviates | bool | | whether it belongs to the coalition
payoff | float | points a round | its mean payoff
"""),
    "tournament": _read("""
agent | text | | the agent
opponent | text | | what it plays against
cooperates | float | probability | with which the agent cooperates: 0, 1, or 0.5 if RandomBot's coin decides
world | int | | the world at which the play settles
"""),
    "payoffs": _read("""
agent | text | | the agent
opponent | text | | what it plays against
cooperates | float | probability | with which the agent cooperates: 0, 1, or 0.5 if RandomBot's coin decides
world | int | | the world at which the play settles
paid | float | payoff | what the agent is paid, cost deducted
epsilon | text | | price of one unit of cost, as a fraction
cost | text | | what modeling costs
"""),
    "shares": _read("""
time | float | | time of the replicator dynamics
agent | text | | the agent
share | float | share | its share then; 0 below 1e-308 or so
log_share | float | | natural logarithm of the share
"""),
    "growth": _read("""
run | int | | number of the run; 0 is the start
steps | int | steps | agents added in the run
agent | text | | the agent
count | int | agents | how many of it there are after the run
"""),
    "basins": _read("""
end | text | | the agent that takes over, elsewhere or undecided
starts | int | starts | how many starts end there
share | float | share | of all starts
low | float | share | lower end of its 95% interval
high | float | share | upper end
"""),
    "exact": _read("""
map | text | | the map
years | int | years | length of the game
profile | text | | the profile; empty where the result does not know it
coalition | text | | who deviates, joined by +; the points of several are added up
profile_value | float | points | welfare points of the whole game with the profile; nan if it has none for the deviator
value | float | points | with the best response
gain | float | points | the difference
gain_per_year | float | points a year | the same per year
positions | int | positions | positions that the search looked at, or that the certificate lists
"""),
    "theorems": _read("""
map | text | | the map
years | int | years | length of the game (T)
t | int | | the year in whose Winter all disband
role | text | | kind of deviator: player, sharer, excluded or other
deviator | text | | the power that deviates
punishers | text | | stated, ranked or best
profile_value | int | points | welfare points of the whole game if it keeps to the profile
value | int | points | the most that it gets
gain | int | points | the difference
positions | int | positions | positions of the certificate; 0 if none was made
checked | bool | | whether the certificate was checked
states | int | positions | positions that the search had met by then
seconds | float | seconds | CPU time of the search, without that of cells before
version | text | | digest of the code of rules and punishers
"""),
    "threats": _read("""
map | text | | the map
years | int | years | length of the game (T); all disband in the first Winter
role | text | | kind of deviator: player, sharer, excluded or other
deviator | text | | the power that deviates
path_value | int | points | welfare points of the whole game if it does not
at_least | float | points | what it gains whatever the others do, drawing included; the certificate was checked
at_most | float | points | what the others can keep its gain to
positions | int | positions | positions of the certificate
states | int | positions | positions that the search had met by then
seconds | float | seconds | CPU time of search and certificate, without that of cells before
check_seconds | float | seconds | CPU time of the checker
"""),
    "frontier": _read("""
map | text | | the map
years | int | years | length of the game
epsilon | float | points | what may be gained by leaving the path
welfare | int | points | the most welfare of such a path: the sum of points
root_nash | float | points | the geometric mean of its points
points | text | | the points of each power
gain | float | points | the most that somebody gains by leaving it, by its certificates
"""),
    "messages": _read("""
players | text | | who plays what; for a game that does not say, its name
rules | text | | the rules
game | text | | its key in the store, or its file
sender | text | | the player
messages | int | messages | messages that it sent
public_messages | int | messages | of these, to GLOBAL
promises_KIND | int | promises | promises of this kind that were found
kept_KIND | int | promises | of these, kept
broken_KIND | int | promises | of these, broken
game_public_share | float | share | of the game: public messages among all
game_similarity_own | float | cosine | of the game: similarity of messages with the same sender
game_similarity_others | float | cosine | of the game: similarity of messages with different senders
"""),
    "curves": _read("""
folder | text | | the folder of the training
seed | int | | its seed
iteration | int | iterations | from 1
METRIC | float | | what was logged under this name, such as play/return (docs/training.md); nan where nothing was
"""),
    "best-response": _read("""
profile | text | | the profile that the coalition leaves
coalition | text | | the powers that play the trained network, joined by +
seed | int | | of the training
games | int | games | games of each sample
gain | float | points a year | gain of the least member
low | float | points a year | lower end of its 95% interval
high | float | points a year | upper end
points | float | points a year | what that member gets
profile_points | float | points a year | what it gets with the profile
"""),
    "population": _read("""
step | int | | number of best responses so far
seed | int | | of the training
policies | int | | policies so far
mix | text | | the mix as a policy
payoff | float | points a year | mean of a seat when all draw from the mix
regret | float | points a year | what the best policy of the population gains on it, by the table of payoffs
gap | float | points a year | what the best deviator of all gains, exactly; nan where it is not known
mean_gap | float | points a year | the same, mean over the seats
welfare | float | points a year | mean of a power, exactly; nan where it is not known
why | text | | why the gap is not known
attack_gain | float | points a year | where the gap is not known: what the best attack of the portfolio gains
attack_low | float | points a year | lower end of its 95% interval
attack_high | float | points a year | upper end
attack_games | int | games | its games
"""),
    "words": _read("""
words | text | | what the networks heard: as said, shuffled or removed
way | text | | how the network chose words and orders
game | int | | number of the game, from 0; games with the same number are paired
return | float | reward of a game | of a learning seat
lost | float | reward of a game | how much less than with the words as said
bits | float | bits | what the orders of the game say about the words that were heard
"""),
}
"""Table -> its columns, in this order. Columns of `_EXPERIMENT` are in tables of experiments only."""


def columns(table: str = "games") -> tuple[Column, ...]:
    """The columns of a table, with their types, units and meanings; docs/results.md says which result has which.

    Args:
        table: one of `TABLES`: "games", "years", "exact", ...

    Raises:
        TableError: no such table.
    """
    if not isinstance(table, str) or table not in TABLES:
        raise TableError(f"table={quoted(table)}{did_you_mean(table, TABLES)}: choose from {', '.join(TABLES)}")
    return TABLES[table]


def as_markdown(table: str) -> str:
    """The columns of a table as a table of Markdown, for the docs."""
    lines = [f"| {each.name} | {each.dtype} | {each.unit} | {each.meaning} |" for each in columns(table)]
    return "\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *lines]) + "\n"
