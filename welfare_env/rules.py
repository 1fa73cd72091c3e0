"""The rules of a game: immutable, checked on creation, hashable, and part of every record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from welfare_env import checks
from welfare_env.errors import RulesError, did_you_mean

RULES_REVISION = 2
"""Part of the key of every stored game. Raise it by hand whenever a change makes the same players play another game: a
rule that changes what orders do, or a policy or prompt of ours that says otherwise. Stored games are then played again.
"""

VARIANTS = ("welfare", "standard")
PRESSES = (None, "tokens", "text")
SCORINGS = {"welfare": ("welfare",), "standard": ("sum-of-squares", "draw-size", "concave")}
LATER_RULES = {"build_and_disband": False, "adjudication": "rulebook"}
ADJUDICATIONS = ("rulebook", "package")
MAX_YEARS = 1000
MAX_MESSAGE_ROUNDS = 100
MAX_WEIGHT = 1000


@dataclass(frozen=True)
class Rules:
    """The variant and its options, and how games are scored.

    The defaults are Welfare Diplomacy as in the paper's section 2.2: ten years, full press in three rounds.

    Attributes:
        variant: ``"welfare"`` (welfare points, voluntary disbands, a Winter every year, no victory) or ``"standard"``
            (Calhamer's game, which also ends when a power owns more than half of the centers).
        years: number of years; the game ends after the Winter of the last.
        press: ``"text"`` (free messages), ``"tokens"`` (each message is one word of `welfare_env.game.press.TOKENS`) or
            ``None``.
        message_rounds: rounds of messages before the orders of each movement and adjustment phase. 0 means no press.
        scoring: how the final position is scored. Welfare: ``"welfare"``, the welfare points themselves. Standard
            (paper, appendix A): ``"sum-of-squares"`` (default), ``"draw-size"`` or ``"concave"``. The last one is the
            paper's SD': no victory, fixed length, score sqrt(centers).
        progressive: one whole number per year, the weight of that year's gain (``None``: all 1).
        transfers: powers may give away welfare points in Winter, one with each order ``GIVE RECIPIENT``.
        overmilitarise: a power may have more units than centers; the difference is subtracted from its points.
        retreat_welfare: compatibility with the published experiments, whose program also added welfare points at the
            end of every retreat phase. Raises totals whenever there are retreats. Off in the paper's text and here.
        build_and_disband: compatibility with the same experiments: a power may build and disband in one Winter. It may
            build as many units as if it disbanded none.
        adjudication: ``"rulebook"`` (the DATC with its author's preferences, under the edition of 2000) or
            ``"package"``: compatibility with the same experiments, which ran on the `diplomacy` package; it decides
            some positions otherwise (docs/differences.md lists them).
        mediator: an additional player without units who only sends messages, and whose reward is the sum of all gains.

    Raises:
        RulesError: an option is unknown, out of range, or conflicts with another.
    """

    variant: str = "welfare"
    years: int = 10
    press: str | None = "text"
    message_rounds: int = 3
    scoring: str | None = None
    progressive: tuple[int, ...] | None = None
    transfers: bool = False
    overmilitarise: bool = False
    retreat_welfare: bool = False
    mediator: bool = False
    build_and_disband: bool = False
    adjudication: str = "rulebook"

    def __post_init__(self) -> None:
        checks.choice("variant", self.variant, VARIANTS)
        checks.choice("press", self.press, PRESSES)
        checks.choice("adjudication", self.adjudication, ADJUDICATIONS)
        for name, low, high in (("years", 1, MAX_YEARS), ("message_rounds", 0, MAX_MESSAGE_ROUNDS)):
            object.__setattr__(self, name, checks.whole(name, getattr(self, name), low, high))
        for name in ("transfers", "overmilitarise", "retreat_welfare", "mediator", "build_and_disband"):
            checks.choice(name, getattr(self, name), (True, False))
        if self.scoring is None:
            object.__setattr__(self, "scoring", SCORINGS[self.variant][0])
        checks.choice(f"scoring of variant {self.variant!r}", self.scoring, SCORINGS[self.variant])
        self._check_progressive()
        self._check_combinations()

    def _check_progressive(self) -> None:
        if self.progressive is None:
            return
        if not isinstance(self.progressive, (tuple, list)):
            raise RulesError(
                f"progressive={checks.quoted(self.progressive)}: give a whole number per year, e.g. (1, 2, 3)"
            )
        if len(self.progressive) != self.years:
            given = len(self.progressive)
            raise RulesError(f"progressive has {given} weights for {self.years} years: give one per year")
        weights = tuple(checks.whole("a weight of progressive", weight, 0, MAX_WEIGHT) for weight in self.progressive)
        object.__setattr__(self, "progressive", weights)

    def _check_combinations(self) -> None:
        if self.variant == "standard":
            for name in ("progressive", "transfers", "overmilitarise", "retreat_welfare"):
                if getattr(self, name):
                    raise RulesError(f"{name} needs welfare points; variant='standard' has none")
            if self.build_and_disband:
                raise RulesError("build_and_disband needs voluntary disbands; variant='standard' has none")
        if self.mediator and not self.has_press:
            raise RulesError(
                "mediator=True needs press='text' or 'tokens' and message_rounds >= 1: a mediator only sends messages"
            )

    @classmethod
    def published(cls, **options: Any) -> Rules:
        """The rules of the program that produced the paper's figures, for comparisons (see docs/differences.md).

        They differ from the paper's text in three points: welfare points are also gained after retreats, a power may
        build and disband in one Winter, and the `diplomacy` package's rulings hold where it differs from the rulebook.

        Args:
            options: any of the attributes, e.g. ``years=5``.

        Raises:
            RulesError: as for `Rules`.
        """
        published: dict[str, Any] = {"retreat_welfare": True, "build_and_disband": True, "adjudication": "package"}
        return cls(**(published | options))

    @property
    def is_welfare(self) -> bool:
        """Whether this is the welfare variant."""
        return self.variant == "welfare"

    @property
    def has_press(self) -> bool:
        """Whether there are message rounds."""
        return self.press is not None and self.message_rounds > 0

    @property
    def has_tokens(self) -> bool:
        """Whether messages are words of the fixed vocabulary, not free text."""
        return self.press == "tokens" and self.has_press

    @property
    def has_victory(self) -> bool:
        """Whether a power that owns more than half of the centers ends the game."""
        return self.variant == "standard" and self.scoring != "concave"

    def weight(self, year_index: int) -> int:
        """The weight of the gain in year ``year_index`` (from 0)."""
        return 1 if self.progressive is None else self.progressive[year_index]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types. Newer rules are written only if enabled, so older files stay unchanged."""
        values = {
            name: value for name, value in asdict(self).items() if name not in LATER_RULES or value != LATER_RULES[name]
        }
        return values | {"progressive": None if self.progressive is None else list(self.progressive)}

    @classmethod
    def from_dict(cls, values: object) -> Rules:
        """The rules from the dict of `to_dict`.

        Raises:
            RulesError: not a dict, an unknown key, or a bad value.
        """
        if not isinstance(values, Mapping):
            raise RulesError(f"rules {checks.quoted(values)}: give a dict such as Rules().to_dict()")
        known = {field.name for field in fields(cls)}
        for name in values:
            if name not in known:
                hint = did_you_mean(name, known)
                raise RulesError(f"unknown rule {checks.quoted(name)}{hint}: known are {', '.join(sorted(known))}")
        return cls(**values)
