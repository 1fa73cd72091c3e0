"""The tables and pictures of docs/learning.md, from finished trainings: `python -m benchmarks.learning`.

    python -m benchmarks.learning rewards RUNS/own-* RUNS/social-* --picture docs/pictures/learning-rewards.png
    python -m benchmarks.learning populations RUNS/psro-* --picture docs/pictures/learning-psro.png

`rewards` groups folders by the reward in their config: curves with bands over seeds; and for each seed the welfare of
the last iterate, as it plays in training and with its most probable orders, and how exploitable the latter is, exactly.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from evaluation.exact import exploitability
from training.cli.curves import read
from training.population.psro import name_of

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # Okabe and Ito: told apart by all
STYLES = ("-", "--", "-.", ":")
LAST = 10  # iterations that the welfare of sampled play is the mean of


def config_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "config.json").read_text()))


def rewards(folders: Sequence[Path], picture: Path, powers: list[str] | None) -> None:
    """The table and the picture of trainings by reward."""
    groups: dict[str, list[Path]] = {}
    for folder in folders:
        groups.setdefault(config_of(folder)["reward"], []).append(folder)
    figure, panel = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for number, (reward, members) in enumerate(groups.items()):
        years = config_of(members[0])["years"]
        curves = np.array([smoothed(read(folder, "play/points")) for folder in members]) / years
        steps = np.arange(1, curves.shape[1] + 1)
        look: dict[str, Any] = {"color": COLOURS[number], "linestyle": STYLES[number]}
        panel.plot(
            steps, curves.mean(axis=0), label=f"{reward} ({len(members)} seed{'s' * (len(members) > 1)})", **look
        )
        panel.fill_between(steps, curves.min(axis=0), curves.max(axis=0), color=COLOURS[number], alpha=0.18)
    panel.axhline(2, color="#555555", linewidth=0.8, linestyle=":")
    panel.axhline(1, color="#555555", linewidth=0.8, linestyle=":")
    panel.text(1, 2.02, "optimum", fontsize=8)
    panel.text(1, 1.02, "armed peace", fontsize=8)
    panel.set(xlabel="iteration", ylabel="welfare points of a power a year", ylim=(0, 2.2))
    panel.legend(fontsize=8, loc="lower right")
    figure.savefig(picture, dpi=130)
    print(
        "| reward | seed | peak, sampled | last, sampled | last, greedy | gap | best response in |\n" + "|---" * 7 + "|"
    )
    for reward, members in groups.items():
        for folder in members:
            print(_row(reward, folder, powers), flush=True)


def _row(reward: str, folder: Path, powers: list[str] | None) -> str:
    config = config_of(folder)
    points = read(folder, "play/points") / config["years"]
    found = exploitability(
        config["map_name"],
        f"rl:({folder}/checkpoint),greedy=yes",
        config["years"],
        powers=powers,
        most_positions=60_000,
    )
    worst = max(found.responses.values(), key=lambda one: one.gain)
    cells = (
        reward,
        str(config["seed"]),
        f"{smoothed(points).max():.2f}",
        f"{points[-LAST:].mean():.2f}",
        f"{found.welfare:.2f}",
        f"{found.gap:.2f}",
        f"{worst.power} ({worst.positions:,})",
    )
    return "| " + " | ".join(cells) + " |"


def smoothed(values: np.ndarray) -> np.ndarray:
    """Means of up to 5 iterations before and with each."""
    return np.array([values[max(0, at - 4) : at + 1].mean() for at in range(len(values))])


def populations(folders: Sequence[Path], picture: Path) -> None:
    """The table and the picture of populations, step by step."""
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.4), layout="constrained")
    for number, folder in enumerate(folders):
        steps = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
        board = config_of(folder)["map_name"]
        print(f"\n{board}\n\n| responses | mix | gap | mean gap | welfare |\n" + "|---" * 5 + "|")
        for step in steps:
            mix = ", ".join(f"{name_of(policy)} {share:g}" for policy, share in step["mix"].items())
            cells = [_number(step[name]) for name in ("gap", "mean_gap", "welfare")]
            print(f"| {step['step']} | {mix} | " + " | ".join(cells) + " |")
        look: dict[str, Any] = {"color": COLOURS[number], "linestyle": STYLES[number], "marker": "os^v"[number]}
        for panel, name in zip(panels, ("gap", "welfare"), strict=True):
            known = [(step["step"], step[name]) for step in steps if step[name] is not None]
            panel.plot(*zip(*known, strict=True), label=board, **look)
            panel.set_xlabel("best responses learned")
    panels[0].axhline(0.1, color="#555555", linewidth=0.8, linestyle=":")
    panels[0].set(ylabel="exact gap, points a year", ylim=(-0.05, None))
    panels[1].axhline(1, color="#555555", linewidth=0.8, linestyle=":")
    panels[1].set(ylabel="welfare points of a power a year", ylim=(0, 2.2))
    panels[1].legend(fontsize=8)
    figure.savefig(picture, dpi=130)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rewards", "populations"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--picture", type=Path, required=True)
    parser.add_argument("--power", action="append", help="deviators; all by default")
    given = parser.parse_args()
    if given.what == "rewards":
        rewards(given.folders, given.picture, given.power)
    else:
        populations(given.folders, given.picture)


if __name__ == "__main__":
    main()
