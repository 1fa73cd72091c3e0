"""Exact maximum gains of coalitions that deviate from a profile on small boards."""

from __future__ import annotations

from dataclasses import dataclass

from agents.runtime.table_files import Row
from agents.specs import Spec, read_profile
from evaluation.measures.intervals import Coalition


@dataclass(frozen=True)
class ExactGain:
    """The exact maximum gain of a coalition.

    Attributes:
        coalition: the deviating powers.
        profile_value: the coalition's points if it follows the profile.
        value: its points with a best response.
        gain, gain_per_year: the difference, in total and per year.
        positions: number of positions searched.
        line: (phase, orders) of the coalition in a game with `value`; None if its orders depend on the others' random
            draws.
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
        EvaluationError: exact values do not exist for this board, policy or length. Other errors as `evaluation.exact`.
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
    """Whether a policy's orders may be random or from a network."""
    return bool(policy.parts or policy.checkpoints or policy.text.startswith("frontier:"))
