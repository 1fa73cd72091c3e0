"""What a replay shows besides the game itself, handed in by who knows more: measures, promises, private reasoning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarkedPromise:
    """A sentence of a message that announces what its sender will do.

    Attributes:
        phase, round, sender, recipient: of the message.
        sentence: its words, as they stand in the message.
        is_kept: None where it was not judged.
    """

    phase: str
    round: int
    sender: str
    recipient: str
    sentence: str
    is_kept: bool | None


@dataclass(frozen=True)
class Reasoning:
    """What a player thought to itself. The page shows it only when asked to.

    Attributes:
        phase, round: of the turn.
        player: whose it is.
        text: the words.
    """

    phase: str
    round: int
    player: str
    text: str


@dataclass(frozen=True)
class Event:
    """A moment to jump to.

    Attributes:
        phase: short name, "F1904M".
        kind: a word or two by which events are grouped: "stolen", "stab".
        text: what happened, in a sentence.
    """

    phase: str
    kind: str
    text: str


@dataclass(frozen=True)
class Annotations:
    """What a replay shows besides the game itself. Everything is shown as text, whatever it contains.

    Attributes:
        title: of the page.
        players: power -> who plays it.
        deviators: powers that deviate from the profile under test.
        promises, reasoning, events: see there; those of phases that the game has not are left out.
        measures: name -> value, as written.
    """

    title: str = ""
    players: Mapping[str, str] = field(default_factory=dict)
    deviators: Sequence[str] = ()
    promises: Sequence[MarkedPromise] = ()
    reasoning: Sequence[Reasoning] = ()
    events: Sequence[Event] = ()
    measures: Mapping[str, str] = field(default_factory=dict)


NO_ANNOTATIONS = Annotations()
