"""Specs of players, and the files of a trained one.

No module is imported and no model is asked: in the inputs whose players are made, "import:" only names what does not
exist, what is Python's own, or what is ours, and language models are the stub.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import agents
from agents.rl import ABOUT, TRAINED, WEIGHTS, checkpoint
from agents.rl.checkpoint import CheckpointError
from agents.specs import AGENTS, LM_OPTIONS, named_files, named_models
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import junk, mangled, nested, nonsense, pick
from welfare_env.errors import UnknownAgentError

PLAIN = ("random", "hold", "prosocial", "dumbbot", "dove", "dove:share=0.5", "prosocail", " dove ", "(dove)")
NUMBERS = (
    "0", "1", "1/20", "0.05", "1e-3", "1e999999999", "1e-999999999", "1/0", "9" * 5000, "nan", "inf", "-1", "1_0", "٣",
    "0x1", "", "17/20", "1" * 40 + "/7", "1e99", "--1", "1.5.2",
)  # fmt: skip
PROGRAMS = ("FairBot", "PB", "DefectBot", "FareBot", "[]X(me)", "[](X(me) & (X(DefectBot) -> []false))", "~[]false", "")
MODULES = (
    "sys.exit", "os.abort", "os._exit", "antigravity.x", "builtins.exit", "subprocess.Popen", "no_such_module.Mine",
    "agents.HoldPolicy", "agents.HoldPolcy", "agents.ExploiterPolicy", "agents.scripted.hold.HoldPolicy", "agents.make",
    "agents", "agents.Policy", "numpy.random.default_rng", "agents.specs.AGENTS", "welfare_env.Game", ".", "a..b",
    "a.b" * 50,
)  # fmt: skip
PATHS = (
    "attacker",
    "best-response",
    "atacker",
    "/nowhere",
    "runs/x",
    "(a,b)",
    "((a))",
    "/dev/zero",
    "/dev/null",
    "..",
    "~",
)
MODELS = ("scripted/stub", "openai/x", "anthropic/y", "opnai/x", "scripted/", "/", "replay/x", "a/b/c", "openai")
VALUES = (
    "0",
    "1",
    "0.7",
    "none",
    "self",
    "wd",
    "sd",
    "exploiter",
    "no_reasoning",
    "yes",
    "http://127.0.0.1:1/v1",
    "MY_KEY",
    "",
)
OPTIONS = ("share", "units", "years", "centers", "last_years", "nice", "attack", "to", "greedy", *LM_OPTIONS)
WORDS = (*AGENTS, *OPTIONS, *PROGRAMS, *NUMBERS, *MODULES, *PATHS, ":", "=", ",", "(", ")", "/", "+", "//", "base_url=")
UNSAFE = ("import:", "prices", "replay", "openai", "anthropic")


def _spec(rng: np.random.Generator, depth: int = 0) -> str:
    """A spec that is right, or nearly so."""
    match int(rng.integers(9 if depth < 25 else 1)):
        case 0 | 1:
            return pick(rng, PLAIN)
        case 2 | 3:
            inner, other = (_spec(rng, depth + int(rng.integers(1, 4))) for _ in range(2))
            option = f",{pick(rng, OPTIONS)}={pick(rng, NUMBERS)}" if rng.random() < 0.5 else ""
            return f"exploiter:nice=({inner}),attack={f'({other})' if rng.random() < 0.8 else other}{option}"
        case 4:
            return f"best-reply:to=({_spec(rng, depth + 1)})"
        case 5:
            shares = [f"{pick(rng, PROGRAMS)}={pick(rng, NUMBERS)}" for _ in range(int(rng.integers(1, 5)))]
            return f"mix:{','.join(shares)}" if rng.random() < 0.5 else f"program:{pick(rng, PROGRAMS)}"
        case 6:
            greedy = f",greedy={pick(rng, VALUES)}" if rng.random() < 0.3 else ""
            return f"rl:{pick(rng, PATHS)}{greedy}"
        case 7:
            return f"import:{pick(rng, MODULES)}"
        case _:
            options = [f",{pick(rng, OPTIONS)}={pick(rng, VALUES)}" for _ in range(int(rng.integers(4)))]
            return f"lm:{pick(rng, MODELS)}{''.join(options)}"


def _text(rng: np.random.Generator) -> object:
    """A spec as nobody should write it."""
    match int(rng.integers(20)):
        case 0:
            return nested(
                rng, pick(rng, ("(", "exploiter:nice=(", "best-reply:to=", "(dove", "[", "~")), ")", _spec(rng)
            )
        case 1:
            return pick(rng, ("program:", "mix:", "rl:", "import:", "lm:", "dove:")) + nested(rng, "[](", ")", "X(me)")
        case 2:
            return junk(rng)
        case 3 | 4:
            return nonsense(rng, WORDS, 20)
        case _:
            return mangled(rng, _spec(rng))


def _safe_text(rng: np.random.Generator) -> object:
    """One whose player may be made: what is imported stands in `MODULES` as it is."""
    text = _text(rng)
    if not isinstance(text, str) or not any(word in text.casefold() for word in UNSAFE):
        return text
    return f"import:{pick(rng, MODULES)}" if rng.random() < 0.5 else pick(rng, PLAIN)


def _write(spec: Any) -> None:
    written = agents.canonical(spec)
    if agents.canonical(written) != written or named_models(written) != named_models(spec):
        raise Broken(f"canonical writes {written!r:.200}, and reads it as another spec")


def _make(spec: Any) -> None:
    policy = agents.make(spec)
    if not isinstance(policy, agents.Policy):
        raise Broken(f"makes {policy!r:.100}, which is no policy")


def _files(spec: Any) -> None:
    if not all(path.is_file() for path in named_files(spec)):
        raise Broken("names what is no file")


def _about(rng: np.random.Generator) -> str | bytes:
    """The JSON of a checkpoint, with a few values exchanged or mangled."""
    about = json.loads((TRAINED / "attacker" / ABOUT).read_text())
    if rng.random() < 0.4:
        return mangled(rng, json.dumps(about))
    if rng.random() < 0.1:
        return nested(rng, '{"rules": [', "]}", "1")
    for _ in range(int(rng.integers(1, 3))):
        places = [place for place in (about, about["rules"], about["size"]) if isinstance(place, dict) and place]
        place = places[int(rng.integers(len(places)))]
        value = junk(rng)
        place[pick(rng, list(place))] = value if isinstance(value, str | int | float | list | dict | None) else None
    return json.dumps(about, default=str)


def _load(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ABOUT).write_bytes(text.encode("utf-8", "surrogatepass"))
        (Path(folder) / WEIGHTS).symlink_to(TRAINED / "attacker" / WEIGHTS)
        checkpoint.load(folder)


DOORS = [
    Door("agents.canonical", _text, _write, (UnknownAgentError,), 130_000),
    Door("agents.make", _safe_text, _make, (UnknownAgentError,), 80_000),
    Door("agents.specs.named_files", _safe_text, _files, (UnknownAgentError,), 30_000),
    Door("agents.rl.checkpoint.load", _about, _load, (CheckpointError,), 10_000),
]
