"""Errors raised for bad input. Every message says what was given, where, and what would be right."""


class ModalError(Exception):
    """Base of all errors that this package raises on purpose."""


class FormulaError(ModalError, ValueError):
    """A text or a tree is not a formula, or not an agent.

    Attributes:
        text: the text that was read, or "".
        position: index into `text` of the first character that is wrong; the message counts from 1.
    """

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.text = text
        self.position = position


class GameError(ModalError, ValueError):
    """An invalid argument of a game, a play or a tournament."""


class ActionError(ModalError, ValueError):
    """What was given to an environment is not an action, or is for an agent that does not exist."""
