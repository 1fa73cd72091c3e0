"""A foreign package in front of one of ours, or written over it, ends in one clear error (agents/_shadow.py)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECK = f"import runpy; check = runpy.run_path({str(ROOT / 'agents' / '_shadow.py')!r})['check']; "


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages that another distribution with an `agents` shares with an unrelated one."""
    folder = tmp_path / "site"
    _install(folder, "openai_agents-0.24.0", "agents/__init__.py", "agents/run.py")
    _install(folder, "unrelated-1.0", "my_agents/__init__.py", "unrelated/agents/__init__.py")
    return folder


def _install(folder: Path, distribution: str, *files: str) -> None:
    info = folder / f"{distribution}.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in (*files, f"{info.name}/RECORD")))
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("whose = 'theirs'\n")


def _python(code: str, *path: Path, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh interpreter that looks into `path` first, from the first of these folders."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, *flags, "-c", code], cwd=path[0], env=environment, capture_output=True, text=True, timeout=60
    )


def test_ours_alone_is_fine() -> None:
    done = _python("import agents, agents._shadow; agents._shadow.check('agents')", ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_foreign_package_that_we_hide_is_fine(site: Path) -> None:
    done = _python("import agents; print(agents.__file__)", ROOT, site)
    assert done.stdout.strip() == str(ROOT / "agents" / "__init__.py"), done.stderr


@pytest.mark.parametrize("first", ["", "import agents; "], ids=["not imported", "imported"])
def test_a_foreign_package_in_front_is_named(site: Path, first: str) -> None:
    done = _python(first + CHECK + "check('agents')", site, ROOT)
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: `agents` leads to")
    assert str(site / "agents" / "__init__.py") in message
    assert "distribution openai-agents has installed" in message
    assert "environment of its own" in message


def test_a_script_called_agents_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents.py").touch()
    message = _python(CHECK + "check('agents')", tmp_path, ROOT).stderr.splitlines()[-1]
    assert message.startswith(f"ImportError: `agents` leads to {tmp_path / 'agents.py'}, which hides welfare-env's")
    assert "rename it" in message


def test_no_package_at_all_asks_for_a_new_installation(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    shutil.copy(ROOT / "agents" / "_shadow.py", tmp_path / "agents")
    code = "import agents._shadow; agents._shadow.check('agents')"
    done = _python(code, tmp_path, flags=("-S",))  # -S: no site-packages
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: `agents` leads to no package")


def test_importing_agents_finds_a_folder_that_two_distributions_share(site: Path) -> None:
    shutil.copytree(ROOT / "agents", site / "agents", dirs_exist_ok=True)
    done = _python("import agents", site, ROOT)
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: The distribution openai-agents has put its own package `agents` into")
    assert "environment of its own" in message


def test_importing_evaluation_names_the_foreign_package_in_front(site: Path) -> None:
    done = _python("import evaluation", site, ROOT)
    assert done.stderr.splitlines()[-1].startswith("ImportError: `agents` leads to")
    assert "openai-agents" in done.stderr


# Each of our packages, with one that it imports, and one that it does not.
NEEDED = [
    ("agents", "welfare_env"),
    ("agents", "modal_env"),
    ("training", "agents"),
    ("training", "welfare_env"),
    ("training", "evaluation"),
    ("evaluation", "training"),
    ("evaluation", "modal_env"),
]


@pytest.mark.parametrize(("ours", "foreign"), NEEDED)
@pytest.mark.parametrize("kind", ["script", "folder"])
def test_a_foreign_package_in_the_users_folder_is_named(tmp_path: Path, ours: str, foreign: str, kind: str) -> None:
    place = tmp_path / (f"{foreign}.py" if kind == "script" else f"{foreign}/__init__.py")
    place.parent.mkdir(exist_ok=True)
    place.touch()
    message = _python(f"import {ours}", tmp_path, ROOT).stderr.splitlines()[-1]
    assert message.startswith(f"ImportError: `{foreign}` leads to {place}, which hides welfare-env's {ROOT / foreign}")
    assert "rename it" in message


@pytest.mark.parametrize("module", ["agents", "training"])
def test_a_foreign_package_stops_the_commands(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text("print('theirs')")
    done = _python("from evaluation.cli.main import main; main()", tmp_path, ROOT)
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: `{module}` leads to {tmp_path / module}.py")
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["agents", "training", "evaluation"])
def test_a_script_of_ones_own_may_import_what_does_not_need_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").touch()
    done = _python("import welfare_env, modal_env", tmp_path, ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["welfare_env", "modal_env", "training", "evaluation"])
def test_a_folder_that_two_distributions_share_is_named(tmp_path: Path, name: str) -> None:
    for ours in ("agents", "training", "evaluation", "welfare_env", "modal_env"):
        (tmp_path / ours).mkdir()
        (tmp_path / ours / "__init__.py").touch()
    shutil.copy(ROOT / "agents" / "_shadow.py", tmp_path / "agents")
    info = tmp_path / "other_thing-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n")
    check = CHECK.replace(str(ROOT), str(tmp_path))
    message = _python(check + f"check({name!r})", tmp_path).stderr.splitlines()[-1]
    assert message.startswith(f"ImportError: The distribution other-thing has put its own package `{name}` into")


def test_the_check_is_cheap(site: Path) -> None:
    for number in range(200):  # a large environment
        _install(site, f"package{number}-1.0", *(f"package{number}/module{file}.py" for file in range(3)))
    for name in ("agents", "welfare_env", "modal_env"):
        (site / name).mkdir(exist_ok=True)
        (site / name / "__init__.py").write_text("")
    shutil.copy(ROOT / "agents" / "_shadow.py", site / "agents")
    shutil.rmtree(site / "openai_agents-0.24.0.dist-info")
    time_it = (
        "import timeit, agents._shadow as s; print(min(timeit.repeat(lambda: s.check('agents'), number=1, repeat=5)))"
    )
    done = _python(time_it, site, ROOT)
    assert float(done.stdout) < 0.05, done.stderr
