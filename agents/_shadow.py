"""Checks that no other package shadows one of ours, and raises one clear error otherwise.

Other software uses the same names: the OpenAI Agents SDK (`openai-agents`) also installs a top-level `agents`, and many
programs have a folder or script called `training` or `evaluation`. Two packages of one name hide each other or are
installed into the same folder; which one Python imports depends on `sys.path`.

Each of the five packages first runs `check` on itself and on the packages that it imports: your own script called
training.py may import welfare_env. If a name is shadowed, our `__init__` of that name never runs; so this file uses
only the standard library, and is run by its path instead of its name:
`runpy.run_path(str(Path(__file__).parents[1] / "agents" / "_shadow.py"))["check"]("evaluation")`.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

_OURS = "welfare-env"
_FOLDER = Path(__file__).resolve().parents[1]

# Package -> the packages it imports; the command `welfare-env` also loads training's commands by name.
NEEDS = {
    "welfare_env": ("welfare_env",),
    "modal_env": ("modal_env",),
    "agents": ("agents", "welfare_env", "modal_env"),
    "training": ("training", "evaluation", "agents", "welfare_env", "modal_env"),
    "evaluation": ("evaluation", "agents", "welfare_env", "modal_env", "training"),
}


def check(package: str) -> None:
    """Checks that a package and the packages it imports are ours; takes a few milliseconds.

    Raises:
        ImportError: a name leads to another package or module (first on `sys.path`), or another distribution has
            installed its package into the same folder as ours. The message names it and says what to do.
    """
    if _is_checked(package):
        return
    _check_place(package)
    for name, others in _other_owners(_FOLDER, NEEDS[package]).items():
        raise ImportError(_mixed(name, others), name=name, path=str(_FOLDER / name))
    for name in NEEDS[package]:
        _check_place(name)


def _check_place(name: str) -> None:
    """Raises ImportError if a name does not lead to our package."""
    ours = _FOLDER / name / "__init__.py"
    spec = find_spec(name)
    found = Path(spec.origin).resolve() if spec and spec.origin else None
    if found != ours:
        raise ImportError(_hidden(name, found, ours), name=name, path=str(ours))


def _is_checked(package: str) -> bool:
    """Whether another package of ours has been imported that already checked this one."""
    for other, needed in NEEDS.items():
        file = getattr(sys.modules.get(other), "__file__", None)
        if other != package and package in needed and file and Path(file).resolve() == _FOLDER / other / "__init__.py":
            return True
    return False


def _other_owners(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Name -> the distributions installed in `folder`, other than ours, that list files below that name.

    Their RECORD files are searched as bytes: `importlib.metadata.packages_distributions` parses every line of each and
    takes twenty times as long.
    """
    owners: dict[str, list[str]] = {}
    for info in sorted(entry for entry in os.listdir(folder) if entry.endswith(".dist-info")):
        owner, record = info.partition("-")[0].replace("_", "-").lower(), f"{folder}/{info}/RECORD"
        if owner == _OURS or not os.path.exists(record):
            continue
        with open(record, "rb") as file:
            files = b"\n" + file.read()
        for name in names:
            if f"\n{name}/".encode() in files:
                owners.setdefault(name, []).append(owner)
    return {name: " and ".join(found) for name, found in owners.items()}


def _hidden(name: str, found: Path | None, ours: Path) -> str:
    if found is None:
        return f"`{name}` leads to no package, and not to {_OURS}'s {ours}: reinstall {_OURS}."
    folder = found.parents[1] if found.name == "__init__.py" else found.parent
    owners = _other_owners(folder, (name,)).get(name)
    if not owners:
        return f"`{name}` leads to {found}, which hides {_OURS}'s {ours}: rename it, or take it off sys.path."
    return (
        f"`{name}` leads to {found}, which the distribution {owners} has installed and which hides {_OURS}'s {ours}: "
        f"install {_OURS} in an environment of its own, without {owners}."
    )


def _mixed(name: str, owners: str) -> str:
    return (
        f"The distribution {owners} has put its own package `{name}` into the folder of {_OURS}'s, {_FOLDER / name}: "
        f"install {_OURS} in an environment of its own, or uninstall {owners} here and then reinstall {_OURS} "
        f"(pip install --force-reinstall {_OURS})."
    )
