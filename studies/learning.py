"""The tables and pictures of docs/learning.md, from finished trainings: `python -m studies.learning`.

    python -m studies.learning rewards RUNS/own-* RUNS/social-* --picture docs/pictures/learning-rewards.png
    python -m studies.learning robbers RUNS/social-* RUNS/robbed-* --picture docs/pictures/learning-robbers.png
    python -m studies.learning populations RUNS/psro-* --picture docs/pictures/learning-psro.png

`rewards` groups folders by the reward in their config: curves with bands over seeds; and for each seed the welfare of
the last iterate, as it plays in training and with its most probable orders, and how exploitable both are: with the most
probable orders exactly, where that is possible, else by what the portfolio gains.

`robbers` does so for trainings in which robbers learn among cooperators: one of the networks has such a name (`--also
cooperators=social` or `--also robbers=own`), the learner is the other. Without `--also` the learner cooperates alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from agents.colors import LEVEL, SERIES, reward_color
from evaluation.exact import Exploitability, exploitability
from training.cli.curves import read
from training.population.config import PopulationConfig
from training.population.portfolio import attacked
from training.population.psro import name_of
from welfare_env.board.loading import load_board

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

STYLES = ("-", "--", "-.", ":")
CLIQUE = {2.0: "optimum", 1.0: "armed peace"}  # points a year on cliques
STANDARD = {4.86: "prosocial players", 2.2: "random players"}
NAMES = {"own": "own points", "social": "mean of all points", "inequity": "own points, averse to inequity"}
NEVER, SOMETIMES, ALWAYS = "no robber", "a robber in some games", "a robber in every game"
MET = {NEVER: ":", SOMETIMES: "--", ALWAYS: "-"}  # how it is drawn
GAMES = 20  # of each deviator in each seat
LAST = 10  # iterations that the welfare of sampled play is the mean of


def config_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "config.json").read_text()))


def rewards(folders: Sequence[Path], picture: Path, powers: list[str] | None) -> None:
    """The table and the picture of trainings by reward."""
    maps = {config_of(folder)["map_name"] for folder in folders}
    if len(maps) > 1:
        raise SystemExit(f"{', '.join(sorted(maps))}: give trainings on one map")
    is_toy = not load_board(maps.pop()).convoys
    if powers and not is_toy:
        raise SystemExit("--power: on boards without exact values all powers deviate")
    groups: dict[str, list[Path]] = {}
    for folder in folders:
        groups.setdefault(config_of(folder)["reward"], []).append(folder)
    reward_curves(groups, is_toy).savefig(picture, dpi=130)
    exact = ("last, greedy", "gap", "best response in", "drawn", "gain at least", "by")
    columns = exact if is_toy else ("greedy", "gain", "by", "drawn", "gain", "by")
    names = ("reward", "seed", "peak, sampled", "last, sampled", *columns)
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    for reward, members in groups.items():
        for folder in members:
            greedy = _exact_cells(folder, powers) if is_toy else _attacked_cells(folder, "yes")
            cells = [reward, *_curve_cells(folder), *greedy, *_attacked_cells(folder, "no")]
            print("| " + " | ".join(cells) + " |", flush=True)


def reward_curves(groups: Mapping[str, Sequence[Path]], is_toy: bool) -> Figure:
    """The picture of trainings by reward."""
    figure, panel = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for number, (reward, members) in enumerate(groups.items()):
        label = f"{name_of_reward(reward)} ({len(members)} seed{'s' * (len(members) > 1)})"
        _draw(panel, reward_color(reward), STYLES[number], members, "play/points", label)
    _mark(panel, CLIQUE if is_toy else STANDARD)
    panel.set(xlabel="iteration", ylabel="welfare points of a power a year", ylim=(0, 2.2 if is_toy else 5.2))
    title = "reward in training; bands: lowest to highest seed"
    figure.legend(fontsize=8, loc="outside lower center", ncols=2, title=title, title_fontsize=8, frameon=False)
    return figure


def name_of_reward(reward: str) -> str:
    """A reward in words: "own points, averse to inequity (1, 0.5)"."""
    kind, _, parameters = reward.partition(":")
    return NAMES.get(kind, kind) + (f" ({parameters.replace(',', ', ')})" if parameters else "")


def _draw(panel: Any, color: str, style: str, folders: Sequence[Path], metric: str, label: str) -> None:
    """Points a year by iteration: the mean over seeds, and a band from minimum to maximum."""
    curves = np.array([smoothed(read(folder, metric)) for folder in folders]) / config_of(folders[0])["years"]
    steps = np.arange(1, curves.shape[1] + 1)
    panel.plot(steps, curves.mean(axis=0), label=label, color=color, linestyle=style)
    panel.fill_between(steps, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.18, linewidth=0)


def _mark(panel: Any, values: Mapping[float, str]) -> None:
    """What is known to be worth so much."""
    for value, name in values.items():
        panel.axhline(value, color=LEVEL, linewidth=0.8, linestyle=":")
        panel.text(1, value - 0.02, name, fontsize=8, va="top")


def _exploited(folder: Path, network: str, powers: list[str] | None) -> Exploitability:
    """How exploitable a network's most probable orders are."""
    config = config_of(folder)
    player = f"rl:({folder / network}),greedy=yes"
    return exploitability(config["map_name"], player, config["years"], powers=powers, most_positions=60_000)


def _curve_cells(folder: Path) -> list[str]:
    """Seed, and the peak and the end of the curve."""
    config = config_of(folder)
    points = read(folder, "play/points") / config["years"]
    return [str(config["seed"]), f"{smoothed(points).max():.2f}", f"{points[-LAST:].mean():.2f}"]


def _exact_cells(folder: Path, powers: list[str] | None) -> list[str]:
    """What the last iterate is worth with its most probable orders, and how exploitable it is."""
    found = _exploited(folder, "checkpoint", powers)
    worst = max(found.responses.values(), key=lambda one: one.gain)
    return [f"{found.welfare:.2f}", f"{found.gap:.2f}", f"{worst.power} ({worst.positions:,})"]


def _attacked_cells(folder: Path, greedy: str) -> list[str]:
    """What the last iterate is worth, greedy or with drawn orders, and what the portfolio gains from it."""
    config = config_of(folder)
    player = f"rl:({folder / 'checkpoint'}),greedy={greedy}"
    games = PopulationConfig(map_name=config["map_name"], years=config["years"], portfolio_games=GAMES)
    found = attacked(games, {player: 1.0})
    gain = f"{found.gain:.2f} [{found.low:.2f}, {found.high:.2f}]"
    by = found.deviator.partition(":nice=")[0]  # an exploiter's face is the network itself
    return [f"{found.welfare:.2f}", gain, f"{by}, {found.power}"]


def smoothed(values: np.ndarray) -> np.ndarray:
    """Means of up to 5 iterations before and with each."""
    return np.array([values[max(0, at - 4) : at + 1].mean() for at in range(len(values))])


@dataclass(frozen=True)
class Networks:
    """The networks of a training: the cooperators' reward, whom they meet, and each one's folder and metric."""

    reward: str
    met: str
    cooperators: tuple[str, str]
    robbers: tuple[str, str] | None

    @classmethod
    def of(cls, folder: Path) -> Networks:
        config, learner = config_of(folder), ("checkpoint", "play/points")
        also = dict(text.split("=", 1) for text in config["also"])
        if "cooperators" in also:
            other = "cooperators", "play/cooperators/points"
            return cls(also["cooperators"], ALWAYS, other, learner)
        if "robbers" in also:
            return cls(config["reward"], SOMETIMES, learner, ("robbers", "play/robbers/points"))
        return cls(config["reward"], NEVER, learner, None)

    @property
    def setting(self) -> tuple[str, str]:
        return self.reward, self.met


def robbers(folders: Sequence[Path], picture: Path, powers: list[str] | None) -> None:
    """The table and the picture of robbers that learn among cooperators that learn."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for folder in folders:
        groups.setdefault(Networks.of(folder).setting, []).append(folder)
    robber_curves(groups).savefig(picture, dpi=130)
    print(
        "| reward | they meet | seed | cooperators: peak | last | robber: peak | last | greedy, alone | gain | "
        "greedy, robbed | robber |\n" + "|---" * 11 + "|"
    )
    for folder in folders:
        print(_robbed(folder, Networks.of(folder), powers), flush=True)


def robber_curves(groups: Mapping[tuple[str, str], Sequence[Path]]) -> Figure:
    """The picture of robbers: a color is the cooperators' reward, dashes are whom they meet."""
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.8), layout="constrained", sharey=True)
    for (reward, met), members in groups.items():
        networks, look = Networks.of(members[0]), (reward_color(reward), MET[met])
        _draw(panels[0], *look, members, networks.cooperators[1], f"{name_of_reward(reward)}; {met}")
        if networks.robbers is not None:
            _draw(panels[1], *look, members, networks.robbers[1], "")
    for panel, title in zip(panels, ("cooperators", "robbers"), strict=True):
        _mark(panel, CLIQUE)
        panel.set(xlabel="iteration", title=title, ylim=(0, 2.7))
    panels[0].set_ylabel("welfare points of a seat a year")
    title = "reward of the cooperators; whom they meet. Bands: lowest to highest seed"
    legend: dict[str, Any] = {"fontsize": 8, "title": title, "title_fontsize": 8, "frameon": False}
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, **legend)
    return figure


def _robbed(folder: Path, networks: Networks, powers: list[str] | None) -> str:
    cells = [*networks.setting, str(config_of(folder)["seed"])]
    for network in (networks.cooperators, networks.robbers):
        points = read(folder, network[1]) / config_of(folder)["years"] if network else np.full(LAST, np.nan)
        cells += [_two(smoothed(points).max()), _two(points[-LAST:].mean())]
    found = _exploited(folder, networks.cooperators[0], powers)
    cells += [_two(found.welfare), _two(found.gap)]
    cells += map(_two, _met(folder, networks))
    return "| " + " | ".join(cells) + " |"


def _met(folder: Path, networks: Networks) -> tuple[float, float]:
    """Points a year of a cooperator and of the robber in a seat among them, means over its seats; all greedy."""
    if networks.robbers is None:
        return np.nan, np.nan
    config = config_of(folder)
    nice, bad = (f"rl:({folder / network}),greedy=yes" for network, _ in (networks.cooperators, networks.robbers))
    others, own = [], []
    powers = load_board(config["map_name"]).powers
    for seat in powers:
        profile = {power: bad if power == seat else nice for power in powers}
        points = exploitability(config["map_name"], profile, config["years"], powers=[]).points
        own.append(points.pop(seat) / config["years"])
        others += [value / config["years"] for value in points.values()]
    return float(np.mean(others)), float(np.mean(own))


def _two(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}"


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
        look: dict[str, Any] = {"color": SERIES[number], "linestyle": STYLES[number], "marker": "os^v"[number]}
        for panel, name in zip(panels, ("gap", "welfare"), strict=True):
            known = [(step["step"], step[name]) for step in steps if step[name] is not None]
            panel.plot(*zip(*known, strict=True), label=board, **look)
            panel.set_xlabel("best responses learned")
    panels[0].set(ylabel="gain of the best deviator, points a year", ylim=(-0.05, None))
    _mark(panels[1], {1.0: "armed peace"})
    panels[1].set(ylabel="welfare points of a power a year", ylim=(0, 2.2))
    panels[1].legend(fontsize=8)
    figure.savefig(picture, dpi=130)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rewards", "robbers", "populations"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--picture", type=Path, required=True)
    parser.add_argument("--power", action="append", help="deviators; all by default")
    given = parser.parse_args()
    if given.what == "populations":
        populations(given.folders, given.picture)
    else:
        {"rewards": rewards, "robbers": robbers}[given.what](given.folders, given.picture, given.power)


if __name__ == "__main__":
    main()
