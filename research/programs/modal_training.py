"""The plots and figures of docs/training-modal.md: ``python -m research.programs.modal_training``.

Trainings are saved in runs/modal-pictures, so that an interrupted command resumes, and plots can be redone without
training.
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
from agents.runtime.colors import LEVEL
from modal_env.pictures.style import PALETTE
from research.tables import Folder, save
from training.modal import ACTIONS, ModalConfig, ModalResult, train_modal
from training.modal.mixes import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OPPONENTS = ("CooperateBot", "FairBot", "PrudentBot")
SELF_PLAY = {"default": ModalConfig(iterations=150), "entropy 0.5": ModalConfig(iterations=300, entropy=0.5, lr=0.01)}
SETTINGS = {"default": "default entropy", "entropy 0.5": "more entropy"}
WRITES = {"library": "chooses a program", "tokens": "writes a formula"}
STDERR = Console(stderr=True)  # progress; figures go to stdout
SHOWN = 3  # seeds of self-play per picture
COLORS = {agent.name: color for agent, color in zip(modal_env.POST, PALETTE, strict=False)}  # as in other pictures
LEARNED = "#333333"  # different from all agents' colors
DASHES = {"CooperateBot": "-", "DefectBot": ":", "FairBot": "--", "PrudentBot": "-."}


def main(
    seeds: Annotated[int, typer.Option(min=3, help="Seeds per fixed opponent.")] = 5,
    self_seeds: Annotated[int, typer.Option(min=SHOWN, help="Seeds per kind of self-play.")] = 12,
    runs: Annotated[Path, typer.Option(help="Folder of the trainings.")] = Path("runs/modal-pictures"),
    to: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("docs/pictures"),
    tables: Folder = None,
) -> None:
    """Train, print the results, plot."""
    trained = {
        (actions, opponent): _against(actions, opponent, seeds, runs) for actions in ACTIONS for opponent in OPPONENTS
    }
    for (actions, opponent), results in trained.items():
        for seed, result in enumerate(results):
            print(f"{actions:8} {opponent:12} seed {seed}  {_text(result)}")
    save(tables, "training-modal-replies", *replies(trained))
    curves(trained).savefig(to / "modal-training.png", dpi=100)
    played = {name: _self_play(name, self_seeds, runs) for name in SELF_PLAY}
    for name, results in played.items():
        for seed, result in enumerate(results):
            print(f"self, {name:11} seed {seed:2}  {_text(result)}; {_average_text(result)}")
    shares(played).savefig(to / "modal-self-play.png", dpi=100)


def replies(trained: Mapping[tuple[str, str], Sequence[ModalResult]]) -> tuple[list[str], list[list[str]]]:
    """The range of the largest share, and the maximum gap, over seeds, by opponent and mode."""
    rows = []
    for (actions, opponent), results in trained.items():
        most = [float(result.shares[0][1]) for result in results]
        name = " or ".join(sorted({name_of(result.shares[0][0]) for result in results}))
        gap = max(float(result.gap) for result in results)
        rows.append([opponent, actions, f"{name} {min(most):.3f} to {max(most):.3f}", f"{gap:.4f}"])
    return ["against", "mode", "largest share", "maximum gain of the best reply over the mix"], rows


def _against(actions: str, opponent: str, seeds: int, runs: Path) -> list[ModalResult]:
    folders = [runs / f"{actions}-{opponent}-{seed}" for seed in range(seeds)]
    return [
        train_modal(ModalConfig(f"program:{opponent}", actions, seed=seed, out=folder))
        for seed, folder in enumerate(track(folders, f"{actions}, {opponent}", console=STDERR))
    ]


def _self_play(name: str, seeds: int, runs: Path) -> list[ModalResult]:
    folders = [runs / f"self-{name.replace(' ', '-')}-{seed}" for seed in range(seeds)]
    return [
        train_modal(replace(SELF_PLAY[name], seed=seed, out=folder))
        for seed, folder in enumerate(track(folders, f"self-play, {name}", console=STDERR))
    ]


def _text(result: ModalResult) -> str:
    """The largest shares, the payoff and the gap, in one line."""
    largest = ", ".join(f"{name_of(agent)} {float(share):.3f}" for agent, share in result.shares[:3])
    return f"{largest}; paid {float(result.payoff):.4f}, gap {float(result.gap):+.4f}"


def _average_text(result: ModalResult) -> str:
    """The mean mix of the second half of the training, with the gain of the best reply to it."""
    mean = result.average(len(result.history) // 2)
    half = ModalResult(result.config, result.history, mean, None)
    return f"second half: {_text(half)}"


def curves(trained: dict[tuple[str, str], list[ModalResult]]) -> Figure:
    """The learners' payoff by games played: the mean over seeds, and a band from minimum to maximum."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), layout="constrained")
    grid = figure.subplots(len(ACTIONS), len(OPPONENTS), sharex=True, sharey=True)
    for row, actions in zip(grid, ACTIONS, strict=True):
        for axes, opponent in zip(row, OPPONENTS, strict=True):
            results = trained[actions, opponent]
            paid = np.array([[one.logged["play/payoff"] for one in result.history] for result in results])
            games = np.arange(1, paid.shape[1] + 1) * results[0].config.games
            best, most = results[0].best_reply
            axes.fill_between(
                games, paid.min(0), paid.max(0), color=LEARNED, alpha=0.25, linewidth=0, label="lowest to highest"
            )
            axes.plot(games, paid.mean(0), color=LEARNED, label=f"mean of {len(results)} seeds")
            axes.axhline(float(most), color=LEVEL, linestyle="--", linewidth=1, label="best reply")
            axes.set_ylim(min(0, paid.min()), 3.2)
            axes.set_title(f"{WRITES[actions]}, against {opponent}", fontsize=10)
            axes.annotate(f"best reply: {best.name}, {float(most):g}", (games[-1], float(most)), (0, -12),
                          textcoords="offset points", ha="right", fontsize=9)  # fmt: skip
    for axes in grid[-1]:
        axes.set_xlabel("games")
        axes.locator_params(axis="x", nbins=4)
    for axes in grid[:, 0]:
        axes.set_ylabel("payoff, cost deducted")
    figure.suptitle("PPO in modal combat, epsilon 1/10", fontsize=11)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=9, frameon=False)
    return figure


def shares(played: dict[str, list[ModalResult]]) -> Figure:
    """Shares of the programs in self-play, seed by seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), layout="constrained")
    grid = figure.subplots(len(played), SHOWN, sharey=True, sharex="row")
    for row, (name, results) in zip(grid, played.items(), strict=True):
        for seed, (axes, result) in enumerate(zip(row, results, strict=False)):
            _draw_shares(axes, result)
            axes.set_title(f"{SETTINGS[name]}, seed {seed}", fontsize=10)
            axes.set_xlabel("iteration")
    for axes in grid[:, 0]:
        axes.set_ylabel("share of the program")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=9)
    return figure


def _draw_shares(axes: Axes, result: ModalResult) -> None:
    for agent in modal_env.POST:
        share = [one.logged[f"share/{agent.name}"] for one in result.history]
        axes.plot(range(1, len(share) + 1), share, DASHES[agent.name], color=COLORS[agent.name], label=agent.name)
    axes.set_ylim(-0.02, 1.02)


if __name__ == "__main__":
    typer.run(main)
