"""Tests the distributions as users install them: in an empty folder without the clone, with each extra and with all.

``python -m tools.smoke`` builds wheel and sdist, installs the wheel into a fresh environment for each extra, runs the
extra's main uses, and prints seconds and megabytes. ``python -m tools.smoke base lm --sdist --python python3.12`` tries
some extras, from the sdist, with another Python. It needs a package index; each environment is deleted afterwards.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
SLOWEST = 1800  # time limit of a step, in seconds

LOCAL = """import pathlib, sys
import agents, evaluation, modal_env, training, welfare_env
packages = [agents, evaluation, modal_env, training, welfare_env]
outside = [each.__file__ for each in packages if not pathlib.Path(each.__file__).is_relative_to(sys.prefix)]
sys.exit(f"not of this environment: {outside}" if outside else 0)"""
GAME = """import welfare_env
game = welfare_env.Game("clique:3", rules=welfare_env.Rules(years=1))
while not game.is_done:
    game.advance()
game.save("game.json")"""
NOT_THERE = """import subprocess, sys
done = subprocess.run(["welfare-env", "train", "welfare", "--iterations", "1"], capture_output=True, text=True)
said = "pip install 'welfare-env[train]'" in done.stderr
sys.exit(0 if said and done.returncode == 2 else f"without the extra it says: {done.stderr}")"""
STUB = """import subprocess, sys
stub = subprocess.Popen([sys.executable, "-m", "agents.lm.stub", "--port", "8973"], stdout=subprocess.PIPE, text=True)
try:
    stub.stdout.readline()
    options = "--map clique:3 --years 1 --games 1 --message-rounds 1".split()
    player = "lm:openai/any,base_url=http://127.0.0.1:8973/v1"
    done = subprocess.run(["welfare-env", "self-play", player, *options])
finally:
    stub.terminate()
sys.exit(done.returncode)"""
SERVED = """import subprocess, sys, urllib.request
command = ["welfare-env", "play", "FRANCE", "--no-browser", "--years", "1", "--message-rounds", "0"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    line = server.stdout.readline()
    page = urllib.request.urlopen(line.partition("Your seat: ")[2].strip(), timeout=60).read().decode()
finally:
    server.terminate()
sys.exit(0 if "<!doctype html" in page[:100].lower() else f"no page: {line} {page[:200]}")"""
SOLVED = """import welfare_env
from open_spiel.python.algorithms import exploitability
from open_spiel.python.policy import UniformRandomPolicy
game = welfare_env.open_spiel_game("clique:2", years=1)
print(exploitability.nash_conv(game, UniformRandomPolicy(game)))"""
MASKED = """import gymnasium, welfare_env
from sb3_contrib import MaskablePPO
env = gymnasium.make("WelfareDiplomacySeat-v0", seat="PLAYERA", others="dove", map_name="clique:3", years=1)
MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=32).learn(64)"""

PIXELS = """import welfare_env
env = welfare_env.parallel_env("clique:2", press=None, render_mode="rgb_array")
env.reset()
env.render()"""

TOY = "--map clique:3 --years 1 --games 1 --message-rounds 0"
ROBBED = "welfare-env exploitability prosocial --coalitions FRANCE --games 1 --message-rounds 0"
STEPS: dict[str, tuple[str, ...]] = {
    "base": (
        "welfare-env --version",
        f"welfare-env self-play prosocial dove {TOY}",
        "welfare-env self-play marshal --years 1 --games 1",
        "welfare-env replay game.json",
        "welfare-env modal tournament",
        NOT_THERE,
    ),
    "rl": (f"{ROBBED} --deviator rl:best-response", NOT_THERE),
    "train": ("welfare-env train welfare --map clique:3 --years 1 --iterations 1",),
    "sb3": (MASKED,),
    "lm": (STUB,),
    "plot": (PIXELS,),
    "tables": (f"welfare-env self-play dove {TOY} --parquet games.parquet",),
    "web": (SERVED,),
    "openspiel": (SOLVED,),
    "docs": ("sphinx-build --version",),  # useful only in the clone
    "dev": ("pytest --version", "ruff --version"),  # as above
}
JOINT = ("train", "sb3", "lm", "plot", "tables", "web", "openspiel")
STEPS["all"] = tuple(step for name in JOINT for step in STEPS[name])


def run(arguments: list[str], folder: Path, environment: Path | None = None) -> None:
    """Run a program; its output is shown only if it fails.

    Args:
        environment: the virtual environment, first on the PATH; this process's variables are not inherited.

    Raises:
        SystemExit: the program failed, with the end of its output.
    """
    own = None
    if environment is not None:
        own = {"PATH": f"{environment / 'bin'}:/usr/bin:/bin", "HOME": str(folder), "OPENAI_API_KEY": "none"}
    done = subprocess.run(  # noqa: S603 (programs of this file)
        arguments, cwd=folder, env=own, capture_output=True, text=True, timeout=SLOWEST
    )
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(arguments):.300}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def smoke(extra: str, built: Path, python: str, is_pinned: bool, uv: str | None) -> tuple[float, float, int]:
    """Install a distribution with an extra ("base": none) and run its steps; returns both times, and megabytes."""
    with tempfile.TemporaryDirectory(prefix="smoke-") as name:
        environment, folder = Path(name, "environment"), Path(name, "empty")
        folder.mkdir()
        run([python, "-m", "venv", "--without-pip", str(environment)], folder)
        wanted = str(built) if extra == "base" else f"{built}[{extra}]"
        pinned = ["-c", str(CONSTRAINTS)] if is_pinned else []
        pip = [sys.executable, "-m", "pip", "--python", str(environment), "install", "-q"]
        install = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", str(environment)] if uv else pip
        begun = time.monotonic()
        run([*install, *pinned, wanted], folder)
        installed = time.monotonic()
        size = sum(file.lstat().st_size for file in environment.rglob("*"))
        for step in (LOCAL, GAME, *STEPS[extra]):
            run(["python", "-c", step] if "\n" in step else shlex.split(step), folder, environment)
        return installed - begun, time.monotonic() - installed, round(size / 1e6)


def main() -> None:
    """Build the distributions, then install and run one extra after the other."""
    parser = argparse.ArgumentParser(prog="python -m tools.smoke", description=__doc__)
    parser.add_argument("extras", nargs="*", help=f"any of {', '.join(STEPS)} (default: all)")
    parser.add_argument("--dist", type=Path, help="folder with the distributions (default: build them)")
    parser.add_argument("--python", default=sys.executable, help="Python for the environments")
    parser.add_argument("--uv", help="path of uv, to install with it instead of pip (several times faster)")
    parser.add_argument("--newest", action="store_true", help="newest dependencies, not those of constraints.txt")
    parser.add_argument("--sdist", action="store_true", help="install the sdist, not the wheel")
    given = parser.parse_args()
    if unknown := set(given.extras) - set(STEPS):
        parser.error(f"no extra {sorted(unknown)}: choose from {', '.join(STEPS)}")
    with tempfile.TemporaryDirectory(prefix="smoke-dist-") as fresh:
        if given.dist is None:
            run([sys.executable, "-m", "build", "--outdir", fresh, str(ROOT)], ROOT)
        found = sorted((given.dist or Path(fresh)).glob("*.tar.gz" if given.sdist else "*.whl"))
        if len(found) != 1:
            parser.error(f"--dist {given.dist} has {len(found)} matching distributions: give a folder with one")
        print(f"{found[0].name}, {found[0].stat().st_size / 1e6:.1f} MB, {given.python}", flush=True)
        for extra in given.extras or STEPS:
            install, steps, size = smoke(extra, found[0].resolve(), given.python, not given.newest, given.uv)
            print(f"{extra:10} installed in {install:4.0f} s, {size:5,} MB; ran in {steps:4.0f} s", flush=True)


if __name__ == "__main__":
    main()
