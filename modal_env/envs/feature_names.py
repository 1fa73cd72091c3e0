"""The names of the rows and columns of an observation of modal combat (`modal_env.envs.aec`), as data.

>>> import modal_env
>>> from modal_env.envs.feature_names import columns, rows
>>> setting = modal_env.make(actions="tokens", budget=2).unwrapped.setting
>>> rows(setting), columns(setting)
(('now', 'last round of self', 'last round of player +1'), ('round or partner', 'rounds or move', 'token 1', 'token 2'))
"""

from __future__ import annotations

from modal_env.envs.setting import Setting


def rows(setting: Setting) -> tuple[str, ...]:
    """The rows of observation["observation"]."""
    others = (f"last round of player +{place}" for place in range(1, setting.players))
    return ("now", "last round of self", *others)


def columns(setting: Setting) -> tuple[str, ...]:
    """The columns of observation["observation"]: in the first row rounds played, rounds, and the program written so
    far; in the others the row of the partner, the move (1 defected, 2 cooperated) and the program.
    """
    written = {"library": ("program",), "formula": ()}
    tokens = tuple(f"token {number}" for number in range(1, (setting.budget or 0) + 1))
    return ("round or partner", "rounds or move", *written.get(setting.actions, tokens))
