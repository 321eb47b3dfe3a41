"""What the package declares is there; `make wheel-test` builds it and lets it work."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import separatrix as sx

ROOT = Path(__file__).resolve().parents[1]
TOLD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXPECTED = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CITATION.cff",
    "LICENSE",
]


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
    assert named == ["3.11", "3.12", "3.13"]
    assert TOLD["project"]["requires-python"] == f">={named[0]}"


def test_what_the_sdist_includes_exists():
    for name in TOLD["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("name", EXPECTED)
def test_a_repository_holds_what_is_expected_of_it(name):
    assert (ROOT / name).read_text(encoding="utf-8").strip()
    assert name in TOLD["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.endswith(".md")])
def test_links_of_the_files_at_the_root_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#:]+)[)#]", (ROOT / name).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_citation_names_this_version_and_no_invented_place_or_person():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == TOLD["project"]["version"]
    assert cited["license"] == TOLD["project"]["license"]
    assert cited["authors"] == TOLD["project"]["authors"]
    told = {"cff-version", "message", "title", "authors", "version", "license"}
    assert told <= set(cited) <= told | {"type", "abstract", "keywords", "date-released"}
    assert "urls" not in TOLD["project"]


def test_the_changelog_is_grouped_by_version_and_kind():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    title, *versions = re.split(r"^## ", text, flags=re.MULTILINE)
    assert title.startswith("# Changelog\n")
    names = [version.split("\n", 1)[0] for version in versions]
    assert names[0] == "Unreleased"
    assert TOLD["project"]["version"] in names
    numbers = [tuple(map(int, name.split()[0].split("."))) for name in names[1:]]
    assert all(later > earlier for later, earlier in pairwise(numbers))
    kinds = [re.findall(r"^### (.*)$", version, flags=re.MULTILINE) for version in versions]
    assert kinds[0] == ["Added", "Changed", "Fixed"]
    for own in kinds:
        assert own
        assert own == [kind for kind in kinds[0] if kind in own], "in this order, and no others"
    for version in versions:
        entries = version.split("### ", 1)[1].splitlines()
        loose = [line for line in entries[1:] if line and not line.startswith(("- ", "  ", "###"))]
        assert loose == []
