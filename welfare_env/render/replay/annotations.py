"""Annotations of a replay by the caller: measures, promises, private reasoning, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarkedPromise:
    """A sentence of a message in which its sender promises something.

    Attributes:
        phase, round, sender, recipient: of the message.
        sentence: its text, exactly as in the message.
        is_kept: None if it was not judged.
    """

    phase: str
    round: int
    sender: str
    recipient: str
    sentence: str
    is_kept: bool | None


@dataclass(frozen=True)
class Reasoning:
    """Private reasoning of a player. The page hides it by default.

    Attributes:
        phase, round: of the turn.
        player: the player who reasons.
        text: the reasoning.
    """

    phase: str
    round: int
    player: str
    text: str


@dataclass(frozen=True)
class Event:
    """An event of the timeline.

    Attributes:
        phase: short name, "F1904M".
        kind: its category, one or two words: "stolen", "stab".
        text: what happened, in one sentence.
    """

    phase: str
    kind: str
    text: str


@dataclass(frozen=True)
class Annotations:
    """The annotations of a replay. All content is shown as plain text.

    Attributes:
        title: title of the page.
        players: power -> its policy.
        names: power -> a short name of its policy; by default the policy itself.
        deviators: powers that deviate from the profile under test.
        promises, reasoning, events: see these classes; entries of phases outside the game are left out.
        measures: name -> formatted value.
        explanations: name of a measure -> its definition, in one sentence.
    """

    title: str = ""
    players: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    deviators: Sequence[str] = ()
    promises: Sequence[MarkedPromise] = ()
    reasoning: Sequence[Reasoning] = ()
    events: Sequence[Event] = ()
    measures: Mapping[str, str] = field(default_factory=dict)
    explanations: Mapping[str, str] = field(default_factory=dict)


NO_ANNOTATIONS = Annotations()
