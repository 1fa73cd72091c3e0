"""How errors say what to install: with the constraints in a clone, by the distribution's name from a wheel."""

from pathlib import Path
from types import ModuleType

import pytest

import modal_env.errors
import welfare_env.extras

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("package", [welfare_env.extras, modal_env.errors])
def test_a_clone_and_a_wheel(package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloned = "the extra rl: in the clone, pip install -c constraints.txt -e '.[rl]'"
    assert package.install_extra("rl") == cloned
    monkeypatch.setattr(package, "__file__", str(tmp_path / "site-packages" / "package" / "extras.py"))
    assert package.install_extra("rl") == "the extra rl: pip install 'welfare-env[rl]'"


def test_no_error_says_it_in_another_way() -> None:
    sources = [path for package in ("agents", "evaluation", "modal_env", "training", "welfare_env")
               for path in sorted((ROOT / package).rglob("*.py")) if path.name != "extras.py"]  # fmt: skip
    assert [path.name for path in sources if "pip install -e" in path.read_text(encoding="utf-8")] == []
