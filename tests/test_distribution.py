"""The built wheel: what it holds, what it is called, and that it installs as five packages and nothing else."""

import email
import email.message
import json
import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import welfare_env
from tests.processes import python, run

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ["agents", "evaluation", "modal_env", "training", "welfare_env"]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The [project] table of pyproject.toml, and the version, which stands in `welfare_env`."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table | {"version": welfare_env.__version__}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built in this environment: no network."""
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT), cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh folder that pip has installed the wheel into, without its dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    run("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "--target", str(folder), str(wheel))
    return folder


def _metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def _canonical(requirement: str) -> str:
    """The bare name of a requirement: "ray[rllib]>=2.50" is "ray"."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()  # type: ignore[index]


@pytest.mark.slow
def test_the_wheel_holds_the_files_of_the_five_packages_and_no_others(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    ours = {
        file.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and file.parent.name != "__pycache__"
    }
    assert held == ours


@pytest.mark.slow
def test_installing_makes_five_top_level_names(installed: Path, project: dict[str, Any]) -> None:
    info = f"welfare_env-{project['version']}.dist-info"
    assert sorted(entry.name for entry in installed.iterdir()) == sorted([*PACKAGES, "bin", info])
    assert (installed / info / "licenses" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.slow
def test_the_installed_packages_import_without_the_source_tree(installed: Path) -> None:
    code = f"import {', '.join(PACKAGES)}; print({', '.join(f'{name}.__file__' for name in PACKAGES)}, sep='\\n')"
    printed = python(code, cwd=installed, PYTHONPATH=str(installed))
    assert printed.splitlines() == [str(installed / name / "__init__.py") for name in PACKAGES]


def test_the_metadata_agree_with_pyproject(wheel: Path, project: dict[str, Any]) -> None:
    metadata = _metadata(wheel)
    assert (metadata["Name"], metadata["Version"]) == ("welfare-env", project["version"])
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra", [])) == project["optional-dependencies"].keys()


def test_a_package_index_takes_and_renders_the_metadata(wheel: Path) -> None:
    run("-m", "twine", "check", "--strict", str(wheel))


def test_the_readme_of_the_wheel_has_no_links_into_the_tree(wheel: Path) -> None:
    readme = str(_metadata(wheel).get_payload())
    targets = re.findall(r"\]\(([^)\s]+)\)", "".join(re.split(r"```.*?```", readme, flags=re.DOTALL)))
    assert targets
    assert [target for target in targets if not re.match(r"https?:|#", target)] == []


def test_changelog_citation_and_archive_have_this_version(project: dict[str, Any]) -> None:
    """Zenodo reads .zenodo.json when a release is made."""
    archived = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {project['version']}\n" in cited
    assert (archived["version"], archived["license"]) == (project["version"], project["license"])
    assert f'title: "{archived["title"]}"' in cited
    assert [f"name: {each['name']}" in cited for each in archived["creators"]] == [True] * len(archived["creators"])


@pytest.mark.parametrize("name", ["welfare_diplomacy", "inspect_welfare_diplomacy"])
def test_companions_have_this_version_and_license(name: str, project: dict[str, Any]) -> None:
    table = tomllib.loads((ROOT / "environments" / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (table["version"], table["license"]) == (project["version"], project["license"])
    assert any(_canonical(wanted) == "welfare-env" for wanted in table["dependencies"])


def test_every_dependency_is_pinned(project: dict[str, Any]) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {_canonical(line) for line in lines if "==" in line.partition("#")[0]}
    wanted = [project["dependencies"], *project["optional-dependencies"].values()]
    assert {_canonical(name) for group in wanted for name in group} - {"welfare-env"} <= pinned
