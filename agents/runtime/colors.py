"""The colors of all plots: one color per meaning, listed in docs/pictures/README.md.

They are Okabe and Ito's, which color-blind readers can distinguish. Agents of modal combat have theirs in
`modal_env.pictures.style`.
"""

from __future__ import annotations

BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE, BLACK, GRAY = "#56B4E9", "#E69F00", "#000000", "#808080"

SERIES = (BLUE, VERMILION, GREEN, PINK, SKY, ORANGE, BLACK)
"""Of series without a color of their own, in this order. Gray is left to `PUBLISHED`."""

POLICIES = {"prosocial": BLUE, "dove": GREEN, "dumbbot": VERMILION, "random": SKY}
"""Of policies that most experiments have; others take the rest of `SERIES`."""

REWARDS = {"social": GREEN, "own": VERMILION, "inequity": PINK}
"""Of a training's reward, without its parameters."""

LEARNED = BLUE
"""Of a learning curve that is not compared with others, and of our own results beside published ones."""

PUBLISHED = GRAY
"""Of the results of the paper's authors."""

LEVEL = "#555555"
"""Of lines for comparison, always with a label."""


def reward_color(reward: str) -> str:
    """The color of a reward such as "inequity:1,0.5"; black for one that has none."""
    return REWARDS.get(reward.partition(":")[0], BLACK)


def policy_colors(policies: list[str]) -> dict[str, str]:
    """Policy -> color; colors repeat when all are used."""
    others = [policy for policy in policies if policy not in POLICIES]
    free = [color for color in SERIES if color not in {POLICIES.get(policy) for policy in policies}]
    return {policy: POLICIES[policy] for policy in policies if policy in POLICIES} | {
        policy: (free or SERIES)[number % len(free or SERIES)] for number, policy in enumerate(others)
    }
