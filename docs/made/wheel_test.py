"""Build wheel and sdist, install the wheel into an empty environment, and let it work.

    make wheel-test                                     the Python of .venv
    .venv/bin/python docs/made/wheel_test.py 3.13       another one, as uv finds it

What a user of the package meets, from a folder that knows nothing of the sources: the version,
the manual page, the types, a fit with its proof, the command line, the lab's static files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
SMOKE = """
import pathlib, sys
import separatrix as sx
assert "site-packages" in sx.__file__, sx.__file__
assert (pathlib.Path(sx.__file__).parent / "py.typed").exists()
X, y = [[0, 2], [1, 3], [2, 0], [3, 1]], ["up", "up", "down", "down"]
machine = sx.LinearSVM().fit(X, y)
assert machine.certificate_.check(X, y)
assert sx.separability([[0], [1], [2]], [0, 1, 0]).kind == "overlapping"
sx.save(machine, "model.sx")
assert sx.load("model.sx").predict([[0, 5]]).tolist() == ["up"]
for name in sx.__all__:
    getattr(sx, name)
man = pathlib.Path(sys.prefix) / "share" / "man" / "man1" / "separatrix.1"
assert "SEPARATRIX 1" in man.read_text()
print("python", sys.version.split()[0], "separatrix", sx.__version__)
"""


def run(*words: object, **more: object) -> str:
    """Run a command and return what it printed; an error ends all."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **more
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(version: str) -> None:
    """Build, look inside, install, work."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run(UV, "build", "--quiet", "--out-dir", folder / "dist", ROOT)
        (wheel,) = (folder / "dist").glob("*.whl")
        (sdist,) = (folder / "dist").glob("*.tar.gz")
        held = set(zipfile.ZipFile(wheel).namelist())
        assert "separatrix/py.typed" in held
        assert any(name.endswith("share/man/man1/separatrix.1") for name in held)
        assert any(name.startswith("separatrix/lab/static/") for name in held)
        assert not any(name.startswith(("tests/", "docs/")) for name in held)
        with tarfile.open(sdist) as archive:
            assert any(name.endswith("src/separatrix/__init__.py") for name in archive.getnames())
        environment = folder / "empty"
        run(UV, "venv", "--quiet", "--python", version, environment)
        python = environment / "bin" / "python"
        # The versions of the lock, so that what is tested is what was built and nothing newer.
        limits = ("--constraint", ROOT / "requirements.lock")
        run(UV, "pip", "install", "--quiet", "--python", python, *limits, wheel)
        work = folder / "work"
        work.mkdir()
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        print(run(python, "-c", SMOKE, cwd=work, env=clean).strip())
        command = environment / "bin" / "separatrix"
        print(run(command, "--version", cwd=work, env=clean).strip())
        run(command, "study", "--Cs", "1,10", "--folds", "3", "-o", "study", cwd=work, env=clean)
        assert (work / "study" / "iris" / "report.html").exists()
        print(f"{wheel.name} and {sdist.name}: built, installed, at work")


if __name__ == "__main__":
    main(*(sys.argv[1:] or [sys.executable]))
