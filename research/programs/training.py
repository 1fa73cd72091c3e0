"""Do learners find the good programs? The table, figures and pictures of docs/training-modal.md.

python -m research.programs.training    # half an hour; trainings are saved in runs/modal-pictures, and resumed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

import modal_env
from modal_env.pictures import PALETTE
from research.tables import Folder, save
from training.modal import ACTIONS, ModalConfig, ModalResult, train_modal
from training.modal.mixes import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPPONENTS = ("CooperateBot", "FairBot", "PrudentBot")
SEEDS, SELF_SEEDS, SHOWN = 5, 12, 3
SELF_PLAY = {
    "default entropy": ModalConfig(iterations=150),
    "more entropy": ModalConfig(iterations=300, entropy=0.5, lr=0.01),
}
WRITES = {"library": "chooses a program", "tokens": "writes a formula"}
STDERR = Console(stderr=True)
Trained = Mapping[tuple[str, str], Sequence[ModalResult]]


def trained(configs: Sequence[ModalConfig], title: str) -> list[ModalResult]:
    """The results of some trainings, with a progress bar."""
    return [train_modal(config) for config in track(configs, title, console=STDERR)]


def against_programs(runs: Path) -> Trained:
    """(mode, opponent) -> the results of all seeds."""
    return {
        (actions, opponent): trained(
            [
                ModalConfig(f"program:{opponent}", actions, seed=seed, out=runs / f"{actions}-{opponent}-{seed}")
                for seed in range(SEEDS)
            ],
            f"{actions}, {opponent}",
        )
        for actions in ACTIONS
        for opponent in OPPONENTS
    }


def replies(found: Trained) -> tuple[list[str], list[list[str]]]:
    """The range of the largest share, and the maximum gap, over seeds, by opponent and mode."""
    rows = []
    for (actions, opponent), results in found.items():
        most = [float(result.shares[0][1]) for result in results]
        name = " or ".join(sorted({name_of(result.shares[0][0]) for result in results}))
        gap = max(float(result.gap) for result in results)
        rows.append([opponent, actions, f"{name} {min(most):.3f} to {max(most):.3f}", f"{gap:.4f}"])
    return ["against", "mode", "share of the best reply, 5 seeds", "maximum gain of the best reply over the mix"], rows


def text(result: ModalResult) -> str:
    """The largest shares, the payoff and the gap, in one line."""
    largest = ", ".join(f"{name_of(agent)} {float(share):.3f}" for agent, share in result.shares[:3])
    return f"{largest}; paid {float(result.payoff):.4f}, gap {float(result.gap):+.4f}"


def curves(found: Trained) -> Figure:
    """The learners' payoff by games played: the mean over seeds, and a band from minimum to maximum."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), layout="constrained")
    grid = figure.subplots(len(ACTIONS), len(OPPONENTS), sharex=True, sharey=True)
    for axes, ((actions, opponent), results) in zip(grid.flat, found.items(), strict=True):
        paid = np.array([[one.logged["play/payoff"] for one in result.history] for result in results])
        games = np.arange(1, paid.shape[1] + 1) * results[0].config.games
        best, most = results[0].best_reply
        axes.fill_between(games, paid.min(0), paid.max(0), color="#333333", alpha=0.25, label="lowest to highest")
        axes.plot(games, paid.mean(0), color="#333333", label="mean")
        axes.axhline(float(most), linestyle="--", linewidth=1, label="best reply")
        axes.set_title(f"{WRITES[actions]}, against {opponent}; best: {best.name}", fontsize=9)
        axes.set(xlabel="games", ylabel="payoff, cost deducted", ylim=(min(0, paid.min()), 3.2))
    figure.axes[0].legend(fontsize=8, frameon=False)
    return figure


def shares(played: Mapping[str, Sequence[ModalResult]]) -> Figure:
    """Shares of the programs in self-play, for some seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), layout="constrained")
    for row, (name, results) in zip(figure.subplots(len(played), SHOWN, sharey=True), played.items(), strict=True):
        for seed, axes in enumerate(row):
            for agent, color in zip(modal_env.POST, PALETTE, strict=False):
                share = [one.logged[f"share/{agent.name}"] for one in results[seed].history]
                axes.plot(range(1, len(share) + 1), share, color=color, label=agent.name)
            axes.set_title(f"{name}, seed {seed}", fontsize=10)
            axes.set(xlabel="iteration", ylabel="share of the program", ylim=(-0.02, 1.02))
    figure.axes[0].legend(fontsize=8, frameon=False)
    return figure


def main(
    runs: Annotated[Path, typer.Option(help="Folder of the trainings.")] = Path("runs/modal-pictures"),
    to: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("docs/pictures"),
    tables: Folder = None,
) -> None:
    """Train, print the results, plot."""
    found = against_programs(runs)
    for (actions, opponent), results in found.items():
        for seed, result in enumerate(results):
            print(f"{actions:8} {opponent:12} seed {seed}  {text(result)}")
    save(tables, "training-modal-replies", *replies(found))
    curves(found).savefig(to / "modal-training.png", dpi=100)
    played = {}
    for name, config in SELF_PLAY.items():
        folders = [runs / f"self-{name.replace(' ', '-')}-{seed}" for seed in range(SELF_SEEDS)]
        played[name] = trained([replace(config, seed=s, out=f) for s, f in enumerate(folders)], f"self-play, {name}")
        for seed, result in enumerate(played[name]):
            mean = ModalResult(config, result.history, result.average(len(result.history) // 2), None)
            print(f"self, {name:15} seed {seed:2}  {text(result)}; second half: {text(mean)}")
    shares(played).savefig(to / "modal-self-play.png", dpi=100)


if __name__ == "__main__":
    typer.run(main)
