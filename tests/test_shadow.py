"""A foreign `agents` in front of ours, or installed over it, ends in one clear error (evaluation/_shadow.py)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _python(code: str, *path: Path) -> list[str]:
    """Runs `code` in a fresh interpreter that looks into `path` first; the lines of its output."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run([sys.executable, "-c", code], cwd=path[0], env=environment, capture_output=True, text=True)
    return (done.stderr or done.stdout).splitlines()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with the `agents` of another distribution."""
    info = tmp_path / "openai_agents-0.24.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: openai-agents\nVersion: 0.24.0\n")
    (info / "RECORD").write_text("agents/__init__.py,,\n")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").touch()
    return tmp_path


IMPORTS = """
import welfare_env, modal_env
for package in ("evaluation", "training"):
    try:
        __import__(package)
    except ImportError as error:
        print(error)
"""


def test_a_foreign_package_in_front_is_named(site: Path) -> None:
    """What does not need ours is imported all the same."""
    messages = _python(IMPORTS, site, ROOT)
    begin = f"`agents` leads to {site / 'agents' / '__init__.py'}, which openai-agents"
    assert [message.startswith(begin) for message in messages] == [True, True]
    assert "environment of its own" in messages[0]


def test_a_foreign_package_installed_over_ours_is_named(site: Path) -> None:
    shutil.copytree(ROOT / "evaluation", site / "evaluation", ignore=shutil.ignore_patterns("__pycache__"))
    assert _python("import evaluation", site)[-1].startswith("ImportError: `agents` leads to")


def test_a_script_called_agents_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents.py").touch()
    message = _python("from evaluation.cli.main import main; main()", tmp_path, ROOT)[-1]
    assert message.startswith(f"ImportError: `agents` leads to {tmp_path / 'agents.py'}, and not")


def test_ours_in_front_is_fine(site: Path) -> None:
    (file,) = _python("import evaluation, agents; print(agents.__file__)", ROOT, site)
    assert file.startswith(str(ROOT))
