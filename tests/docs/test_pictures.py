"""Pictures of the book follow the reader's light or dark; those of methods can be redrawn."""

import importlib.util
import re
from pathlib import Path

import pytest

from separatrix._compiled import is_interpreted

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
DRAWN = [
    path for path in sorted(PICTURES.rglob("*.svg")) if "Matplotlib" in path.read_text("utf-8")
]


def module(path):
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("picture", DRAWN, ids=lambda path: path.stem)
def test_it_follows_dark_mode(picture):
    dark_mode = module(PICTURES / "dark_mode.py")
    text = picture.read_text(encoding="utf-8")
    assert text == dark_mode.followed(text), "run `python docs/pictures/dark_mode.py`"
    unknown = dark_mode.colours(text) - set(dark_mode.DARK)
    assert not unknown, "colours without a counterpart on a dark ground"


@pytest.mark.parametrize("picture", DRAWN, ids=lambda path: path.stem)
def test_it_is_not_squashed(picture):
    """Width and height are those of the drawing: a page scales both alike."""
    opening = re.search(r"<svg[^>]*>", picture.read_text(encoding="utf-8"))[0]
    width, height = (
        float(re.search(rf'{side}="([\d.]+)pt"', opening)[1]) for side in ("width", "height")
    )
    box = [float(number) for number in re.search(r'viewBox="([^"]+)"', opening)[1].split()]
    assert width / height == pytest.approx(box[2] / box[3], rel=1e-3)
    assert "preserveAspectRatio" not in opening


def test_the_witness_shows_its_integers(tmp_path):
    from matplotlib.axes import Axes

    import separatrix as sx
    from separatrix.plots.separability import save_verdict

    shown, plain = [], Axes.annotate
    X, y = [[0, 0], [4, 0], [0, 4], [1, 1]], ["out", "out", "out", "in"]
    verdict = sx.separability(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Axes,
            "annotate",
            lambda self, text, *a, **k: (shown.append(text), plain(self, text, *a, **k))[1],
        )
        save_verdict(verdict, X, y, tmp_path / "witness.svg")
    integers = zip(verdict.witness.multipliers, verdict.witness.rows, strict=True)
    assert shown == [f"{multiplier} × row {row}" for multiplier, row in integers]


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="pictures of compiled runs; loops are tested apart")
@pytest.mark.parametrize(
    "name",
    [
        "delta_rule",
        "linear_program",
        "sealed_test",
        "kernel_perceptron",
        "interior_point",
        "newton",
        "gram",
    ],
)
def test_the_picture_of_a_method_can_be_drawn(name, tmp_path):
    path = tmp_path / f"{name}.svg"
    getattr(module(PICTURES / "method_pictures.py"), name)(path)
    assert path.read_text(encoding="utf-8").rstrip().endswith("</svg>")
