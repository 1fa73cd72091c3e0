"""Values of a JSON file with their places, so that errors can say where in the file they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from welfare_env.checks import quoted
from welfare_env.errors import RecordError

LONGEST = 100_000  # entries of a list or an object
LONGEST_LABEL = 200  # characters


@dataclass(frozen=True)
class Node:
    """A value in a file. Every method raises RecordError if the value does not have the method's type.

    Attributes:
        place: path to the value: ``phases[3].orders.FRANCE``.
    """

    value: Any
    place: str

    def wrong(self, wanted: str) -> RecordError:
        """The error that names the expected value."""
        return RecordError(f"{self.place or 'the file'}: {quoted(self.value)}, expected {wanted}")

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def __getitem__(self, key: str) -> Node:
        if key not in self:
            raise RecordError(f"{self.place or 'the file'} has no {key!r}")
        return Node(self.value[key], f"{self.place}.{key}".lstrip("."))

    def fields(self) -> dict[str, Node]:
        """The values of an object by name."""
        if not isinstance(self.value, dict) or len(self.value) > LONGEST:
            raise self.wrong("an object")
        return {key: Node(value, f"{self.place}.{_shown(key)}") for key, value in self.value.items()}

    def entries(self) -> list[Node]:
        """The values of a list."""
        if not isinstance(self.value, list) or len(self.value) > LONGEST:
            raise self.wrong("a list")
        return [Node(value, f"{self.place}[{number}]") for number, value in enumerate(self.value)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        return self.value

    def label(self) -> str:
        """A short printable string, such as a name."""
        text = self.text()
        if len(text) > LONGEST_LABEL or not text.isprintable():
            raise self.wrong(f"a printable text of at most {LONGEST_LABEL} characters")
        return text

    def texts(self) -> list[str]:
        """A list of strings."""
        return [entry.text() for entry in self.entries()]

    def labels(self) -> list[str]:
        """A list of short printable strings."""
        return [entry.label() for entry in self.entries()]

    def number(self) -> int:
        """A whole number; also as a string, as PHP programs write it."""
        value = self.value
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            return int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong("a whole number")
        return value

    def flag(self) -> bool:
        """True or false; also "Yes" or "No"."""
        if not isinstance(self.value, bool) and self.value not in ("Yes", "No", ""):
            raise self.wrong("true or false")
        return self.value in (True, "Yes")


def _shown(key: str) -> str:
    """A key of the file as part of a place."""
    return key[:40] if key.isprintable() else quoted(key)
