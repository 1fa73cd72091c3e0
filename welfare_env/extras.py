"""How to install a missing extra."""

from pathlib import Path


def install_extra(extra: str) -> str:
    """The end of an error message: "the extra rl: " and the command that installs it, for a clone or for the wheel."""
    if (Path(__file__).parents[1] / "constraints.txt").is_file():
        return f"the extra {extra}: in the clone, pip install -c constraints.txt -e '.[{extra}]'"
    return f"the extra {extra}: pip install 'welfare-env[{extra}]'"
