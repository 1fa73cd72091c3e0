"""Errors that the public edge raises. Every message says what came in, where, and what would be right."""


class ModalError(Exception):
    """Base of all errors raised on purpose by this package."""


class FormulaError(ModalError, ValueError):
    """A text or a tree that is no formula, or no agent.

    Attributes:
        text: what was read; "" where there was no text.
        position: index into `text` of the first character that is wrong; the message counts from 1.
    """

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.text = text
        self.position = position


class GameError(ModalError, ValueError):
    """A parameter of a game, a play or a tournament that makes no sense."""


class ActionError(ModalError, ValueError):
    """Something given to an environment is no action at all, or for an agent that does not exist."""
