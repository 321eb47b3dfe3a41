"""What the package declares is there; `make wheel-test` builds it and lets it work."""

import tomllib
from pathlib import Path

import separatrix as sx

ROOT = Path(__file__).resolve().parents[1]
TOLD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_the_same_everywhere():
    assert TOLD["project"]["version"] == sx.__version__
    assert f'"separatrix {sx.__version__}"' in (ROOT / "docs" / "separatrix.1").read_text()


def test_types_are_shipped_and_declared():
    assert (ROOT / "src" / "separatrix" / "py.typed").exists()
    assert "Typing :: Typed" in TOLD["project"]["classifiers"]


def test_shared_files_exist_and_land_where_man_looks():
    shared = TOLD["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {"docs/separatrix.1": "share/man/man1/separatrix.1"}
    assert all((ROOT / path).exists() for path in shared)


def test_python_versions_are_declared_without_a_gap():
    named = [each.rsplit(" ", 1)[1] for each in TOLD["project"]["classifiers"] if ":: 3." in each]
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert TOLD["project"]["requires-python"] == f">={named[0]}"


def test_what_the_sdist_includes_exists():
    for name in TOLD["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name).exists(), name
