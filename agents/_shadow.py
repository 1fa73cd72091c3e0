"""Tells whether the name `agents` still leads to this package, and raises one clear error where it does not.

The name is not ours alone: the OpenAI Agents SDK (`openai-agents`) installs a top-level `agents`, too. Where both are
installed, one hides the other or they write into the same folder, and which one Python finds depends on `sys.path`.

`agents` runs `check` first of all; but when the name leads elsewhere, our `agents/__init__.py` never runs. So this file
uses the standard library alone, and a sibling package can run it by its place instead of its name:
`runpy.run_path(str(Path(__file__).parents[1] / "agents" / "_shadow.py"))["check"]()`.
"""

from importlib.util import find_spec
from pathlib import Path

_OURS = "welfare-env"


def check() -> None:
    """Makes sure that `agents` is ours and nobody else's; takes a few milliseconds.

    Raises:
        ImportError: the name leads to another package or module (it is first on `sys.path`), or another installed
            distribution has put its `agents` into the same folder as ours. The message names it and what to do.
    """
    ours = Path(__file__).resolve().with_name("__init__.py")
    spec = find_spec("agents")
    found = Path(spec.origin).resolve() if spec and spec.origin else None
    if found != ours:
        raise ImportError(_hidden(found, ours), name="agents", path=str(ours))
    if others := _other_owners(ours.parents[1]):
        raise ImportError(_mixed(others, ours), name="agents", path=str(ours))


def _other_owners(folder: Path) -> str:
    """The distributions installed in `folder`, other than ours, that list files under `agents/`; "" for none.

    Their RECORD files are searched as bytes: `importlib.metadata.packages_distributions` parses every line of every
    one and takes twenty times as long.
    """
    return " and ".join(
        name
        for record in sorted(folder.glob("*.dist-info/RECORD"))
        if (name := record.parent.name.partition("-")[0].replace("_", "-").lower()) != _OURS
        and b"\nagents/" in b"\n" + record.read_bytes()
    )


def _hidden(found: Path | None, ours: Path) -> str:
    if found is None:
        return f"`agents` leads to no package, and not to {_OURS}'s {ours}: reinstall {_OURS}."
    owners = _other_owners(found.parents[1] if found.name == "__init__.py" else found.parent)
    if not owners:
        return f"`agents` leads to {found}, which hides {_OURS}'s {ours}: rename it, or take it off sys.path."
    return (
        f"`agents` leads to {found}, which the distribution {owners} has installed and which hides {_OURS}'s {ours}: "
        f"install {_OURS} in an environment of its own, without {owners}."
    )


def _mixed(owners: str, ours: Path) -> str:
    return (
        f"The distribution {owners} has put its own package `agents` into the folder of {_OURS}'s, {ours.parent}: "
        f"install {_OURS} in an environment of its own, or uninstall {owners} here and then reinstall {_OURS} "
        f"(pip install --force-reinstall {_OURS})."
    )
