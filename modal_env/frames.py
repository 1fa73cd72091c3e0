"""Results as rows, and as pandas DataFrames (the extra `tables`); docs/results.md describes the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modal_env.errors import ModalError, install_extra

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str | int | float]


class Tabular:
    """A result with rows."""

    def rows(self) -> list[Row]:
        """The table: one dict per row, all with the same columns."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame.

        Raises:
            ModalError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ModalError(f"to_frame() needs pandas: pip install pandas, or {install_extra('tables')}") from error
        return pd.DataFrame(self.rows())
