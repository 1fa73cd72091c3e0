"""Names of measures in tables and figures, with units."""

from collections.abc import Sequence

NAMES = {
    "root_nash_welfare": "root Nash welfare, points a year",
    "root_nash_welfare_smoothed": "root Nash welfare, smoothed, points a year",
    "nash_welfare": "Nash welfare",
    "proficiency": "basic proficiency",
    "stolen_centers": "stolen centers per year",
    "conflicts": "conflicts per movement phase",
    "exploitability": "exploitability, points a year",
    "red_team": "gain of the red team's best attack, points a year",
    "points_among_others": "points among other policies, points a year",
    "exact_gain": "largest gain of a deviation, exact, points a year",
    "kept_promises": "kept promises, share",
    "tokens_per_game": "tokens a game of self-play",
    "dollars_per_game": "list price a game of self-play, $",
    "inside": "points a year of a member",
    "outside": "points a year of another power",
    "price": "loss of another power, points a year",
    "waste": "total loss of all powers, points a year",
    "gini": "Gini coefficient of points",
    "prosocial_share": "share of the prosocial root Nash welfare",
    "gain_by_year": "gain of a member in this year, points",
    "members_units_by_year": "units of a member",
    "others_units_by_year": "units of another power",
    "units_by_year": "units per power",
    "centers_by_year": "supply centers per power",
    "welfare_by_year": "welfare points per power",
}
"""Names for the measures of experiments."""
OF_EACH = {
    "best_score": "best score",
    "exploitability": "gain of the attack, points a year",
    "red_team": "gain of the red team, points a year",
    "welfare_per_year": "points a year",
    "welfare_by_policy": "points a year of a seat",
    "scores": "score",
    "scores_by_policy": "score of a seat",
}
"""Names for comparisons of single results."""


def full_name(measure: str) -> str:
    """A measure with its unit: "root Nash welfare, points a year", "FRANCE: points a year"."""
    name, _, key = measure.partition(":")
    name_of_all = OF_EACH.get(name) or NAMES.get(name, name)
    return f"{key}: {name_of_all}" if key else name_of_all


def listed(names: Sequence[str]) -> str:
    """Names as a phrase: "dove, hold and random"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
