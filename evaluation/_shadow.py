"""Checks that `agents` is ours: the OpenAI Agents SDK (`openai-agents`) installs a package of that name, too.

Imports only the standard library, since a foreign `agents` must be found before anything of ours imports it.
"""

from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

OURS = Path(__file__).resolve().parents[1] / "agents" / "__init__.py"


def check_agents() -> None:
    """Checks that `import agents` leads to our package.

    Raises:
        ImportError: another `agents` comes first on `sys.path`, or was installed over ours.
    """
    spec = find_spec("agents")
    found = Path(spec.origin).resolve() if spec and spec.origin else None
    if found == OURS and "welfare_env" in OURS.read_text(encoding="utf-8"):
        return
    owners = [name for name in packages_distributions().get("agents", ()) if name != "welfare-env"]
    theirs = f", which {' and '.join(owners)} has installed" if owners else ""
    raise ImportError(
        f"`agents` leads to {found}{theirs}, and not to welfare-env's {OURS}: install welfare-env in an environment of "
        "its own; rename an `agents` of your own",
        name="agents",
        path=str(OURS),
    )
