"""What must hold before a release: `make release-check`.

    make release-check
    .venv/bin/python docs/made/release_check.py --python 3.13 --python /opt/python3.12/bin/python

1. Wheel and sdist are built twice, apart from each other: the bytes are the same.
2. `twine check --strict` reads their description.
3. The wheel is installed into an empty environment of each Python that the package declares, and
   works there (`wheel_test.py`). A Python that is not on the computer fails the check, unless
   `--python` names those that are.
4. `dist/provenance.json` says what was built from which commit by which tools, with hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import wheel_test
from wheel_test import ROOT, UV, run

DIST = ROOT / "dist"


def declared_versions() -> list[str]:
    """Return the Python versions of the classifiers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return re.findall(r"Python :: (3\.\d+)\b", "\n".join(project["classifiers"]))


def of_git(*words: str) -> str:
    """Return what git prints in this repository."""
    return run("git", "-C", ROOT, *words).strip()


def built(source: Path, folder: Path, moment: str) -> dict[str, str]:
    """Build wheel and sdist of a copy of the sources; return a hash of each."""
    settings = {**os.environ, "SOURCE_DATE_EPOCH": moment}
    run(UV, "build", "--quiet", "--out-dir", folder, source, env=settings)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.suffix in (".whl", ".gz")
    }


def main() -> None:
    """Build twice, compare, read, install, write down."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", action="append", help="in place of all declared versions")
    options = parser.parse_args()
    commit, moment = of_git("rev-parse", "HEAD"), of_git("log", "-1", "--format=%ct")
    if changes := of_git("status", "--porcelain"):
        sys.exit(f"a release is made of a commit; these files differ from it:\n{changes}")
    with tempfile.TemporaryDirectory() as place:
        hashes = []
        for name in ("first", "second"):
            source = Path(place) / name / "source"
            run("git", "clone", "--quiet", ROOT, source)
            hashes.append(built(source, source.parent / "dist", moment))
        if hashes[0] != hashes[1]:
            sys.exit(f"two builds differ:\n{hashes[0]}\n{hashes[1]}")
        print(f"{' and '.join(hashes[0])}: two builds, the same bytes")
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(Path(place) / "first" / "dist", DIST)
    files = [DIST / name for name in hashes[0]]
    run(UV, "tool", "run", "--quiet", "twine", "check", "--strict", *files)
    print("twine check --strict: passed")
    for version in options.python or declared_versions():
        command = [UV, "python", "find", version]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode:
            sys.exit(f"Python {version} is declared and not on this computer; see --python")
        wheel_test.main(found.stdout.strip())
    provenance = {
        "commit": commit,
        "source_date_epoch": int(moment),
        "built_by": [run(UV, "--version").strip(), f"python {sys.version.split()[0]}"],
        "sha256": hashes[0],
        "lock_sha256": hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest(),
    }
    (DIST / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
    print(f"{DIST / 'provenance.json'} written")


if __name__ == "__main__":
    main()
