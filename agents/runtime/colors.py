"""The colors of all plots: one color per meaning, listed in docs/pictures/README.md.

They are the palette of Okabe and Ito, which color-blind readers can distinguish. `modal_env.pictures` has the colors of
agents of modal combat.
"""

from __future__ import annotations

BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE, BLACK, GRAY = "#56B4E9", "#E69F00", "#000000", "#808080"

SERIES = (BLUE, VERMILION, GREEN, PINK, SKY, ORANGE, BLACK)
"""Colors of series without a fixed color, in this order. Gray is reserved for `PUBLISHED`."""

POLICIES = {"prosocial": BLUE, "dove": GREEN, "dumbbot": VERMILION, "random": SKY}
"""Colors of the most common policies; others take the rest of `SERIES`."""

LEARNED = BLUE
"""Color of a single learning curve, and of our own results next to published ones."""

PUBLISHED = GRAY
"""Color of the results of the paper's authors."""

LEVEL = "#555555"
"""Color of reference lines, which always have a label."""


def policy_colors(policies: list[str]) -> dict[str, str]:
    """Policy -> color; colors repeat when all are used."""
    others = [policy for policy in policies if policy not in POLICIES]
    free = [color for color in SERIES if color not in {POLICIES.get(policy) for policy in policies}]
    return {policy: POLICIES[policy] for policy in policies if policy in POLICIES} | {
        policy: (free or SERIES)[number % len(free or SERIES)] for number, policy in enumerate(others)
    }
