"""What coalitions gain at most by deviating from a profile on small boards, exactly."""

from __future__ import annotations

from dataclasses import dataclass

from agents.runtime.table_files import Row
from agents.specs import Spec, read_profile
from evaluation.measures.intervals import Coalition


@dataclass(frozen=True)
class ExactGain:
    """What a coalition gains at most.

    Attributes:
        coalition: who deviates.
        profile_value: its points with the profile.
        value: with its best response.
        gain: the difference, and `gain_per_year`.
        positions: how many the search looked at.
        line: phase -> its orders in a game in which it gets `value`; None where its orders depend on what others draw.
    """

    coalition: Coalition
    profile_value: float
    value: float
    gain: float
    gain_per_year: float
    positions: int
    line: tuple[tuple[str, tuple[str, ...]], ...] | None

    def row(self, profile: str, map_name: str, years: int) -> Row:
        """A row of the table "exact" of `evaluation.columns`."""
        from evaluation.exact.best_responses import exact_row  # lazily: numba

        return exact_row(map_name, years, self.coalition, self.profile_value, self.value, self.positions, profile)


def exact_gain(map_name: str, profile: str, coalition: Coalition, years: int) -> ExactGain:
    """The gain of one coalition.

    Raises:
        EvaluationError: a board, a policy or a length without exact values. Others as `evaluation.exact` says.
    """
    from evaluation.exact import best_response, certify, exploitability  # lazily: numba

    line: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    value: float
    if len(coalition) > 1:
        joint = certify(map_name, profile, coalition, years)
        value, own, positions = joint.value, float(joint.path_value), joint.states
        line = tuple(
            (phase, tuple(text for power in coalition for text in orders.get(power, ())))
            for phase, orders in joint.line
        )
    elif any(_is_drawn(policy) for policy in read_profile(profile).policies):
        found = exploitability(map_name, profile, years, powers=coalition).responses[coalition[0]]
        value, own, positions = found.value, found.profile_value, found.positions
    else:
        response = best_response(map_name, profile, coalition[0], years)
        value, own, positions = response.value, float(response.profile_value or 0), response.states
        line = response.orders
    gain = value - own
    return ExactGain(coalition, own, float(value), gain, gain / years, positions, line)


def _is_drawn(policy: Spec) -> bool:
    """Whether what a policy orders may be drawn, or a network's."""
    return bool(policy.parts or policy.checkpoints or policy.text.startswith("frontier:"))
