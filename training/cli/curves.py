"""``welfare-env train curves``: logged metrics over iterations, with a band over trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from agents.runtime.colors import LEARNED, LEVEL
from agents.runtime.command_options import with_options
from agents.runtime.table_options import TableOptions
from training.cli.console import errors_in_one_line
from training.errors import TrainingError
from training.run_folder import log_rows


@errors_in_one_line()
@with_options
def command(
    folders: Annotated[list[Path], typer.Argument(help="Folders of trainings, such as one for each seed.")],
    tables: TableOptions,
    out: Annotated[Path, typer.Option(help="The picture: .png, .svg or .pdf.")] = Path("curves.png"),
    metric: Annotated[list[str] | None, typer.Option(help="A logged metric.", show_default="play/return")] = None,
    level: Annotated[list[float] | None, typer.Option(help="A dashed line, such as another player's return.")] = None,
) -> None:
    """Draw learning curves: the mean over trainings, and a band from the lowest to the highest."""
    tables.check()
    from matplotlib.figure import Figure

    rows = log_rows(folders)
    tables.write(rows)
    metrics = metric or ["play/return"]
    figure = Figure(figsize=(4.8 * len(metrics), 3.6), layout="constrained")  # pyplot would keep every figure
    for panel, name in zip(figure.subplots(1, len(metrics), squeeze=False)[0], metrics, strict=True):
        curves = [[row.get(name) for row in rows if row["folder"] == str(folder)] for folder in folders]
        table = np.array([curve[: min(map(len, curves))] for curve in curves], float)
        logged = ~np.isnan(table).all(axis=0)  # held-out reports are not logged in every iteration
        if not logged.any():
            known = sorted({key for row in rows for key in row})
            raise TrainingError(f"no metric {name!r:.80} in the logs; there are {', '.join(known)}")
        steps, table = np.flatnonzero(logged) + 1, table[:, logged]
        panel.plot(steps, np.nanmean(table, axis=0), color=LEARNED, label=f"mean of {len(folders)}")
        panel.fill_between(steps, np.nanmin(table, 0), np.nanmax(table, 0), color=LEARNED, alpha=0.22, linewidth=0)
        for value in level or ():
            panel.axhline(value, color=LEVEL, linestyle="--", linewidth=1)
        panel.set(xlabel="iteration", ylabel=name)
    try:
        figure.savefig(out, dpi=130)
    except (OSError, ValueError) as error:
        raise TrainingError(f"{out}: {error!s:.200}: give a file such as curves.png") from error
    print(f"picture: {out}")
