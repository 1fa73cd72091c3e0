"""The game of choosing a program as a matrix game of OpenSpiel, whose algorithms then run on it.

OpenSpiel (Lanctot et al. 2019, arXiv 1908.09453) is the extra ``openspiel``. An action is the number of an agent;
payoffs are the exact ones as floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modal_env.errors import install_extra
from modal_env.games.game import Matrix, ProgramGame

if TYPE_CHECKING:
    import pyspiel


def open_spiel_game(game: ProgramGame) -> pyspiel.MatrixGame:
    """A game as an OpenSpiel matrix game: player 0 chooses the row, player 1 the column.

    Raises:
        ImportError: OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ImportError as error:
        raise ImportError(f"{error}: OpenSpiel's games need {install_extra('openspiel')}") from error
    rows, columns = _floats(game.utilities), _floats(game.turned.utilities)
    names = list(game.names)
    return pyspiel.create_matrix_game(
        "modal_combat", repr(game), names, names, rows, [list(column) for column in zip(*columns, strict=True)]
    )


def _floats(utilities: Matrix) -> list[list[float]]:
    return [[float(paid) for paid in row] for row in utilities]
