"""How to install what is missing."""

from pathlib import Path


def install_extra(extra: str) -> str:
    """As `welfare_env.extras.install_extra`, which this package does not import."""
    if (Path(__file__).parents[1] / "constraints.txt").is_file():
        return f"the extra {extra}: in the clone, pip install -c constraints.txt -e '.[{extra}]'"
    return f"the extra {extra}: pip install 'welfare-env[{extra}]'"
