import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from separatrix.plots._style import CLASS_COLOURS, INK
from separatrix.plots._svg import THEME, as_svg, class_colour, drawable, panel
from separatrix.plots._unit_square import thinned
from separatrix.plots.calibration import draw_calibration
from separatrix.plots.error_rates import Rate, draw_error_rates
from separatrix.plots.margin_histogram import draw_margin_histogram
from separatrix.plots.path_panels import draw_path_errors, draw_path_support
from separatrix.plots.precision_recall import draw_precision_recall
from separatrix.plots.roc import draw_roc

C = (0.01, 0.1, 1.0, 10.0)
WORDS = ("fig", "Title & <more>", 'Say "it" in words')
DIAGONAL = ((0.0, 0.5, 1.0), (0.0, 0.7, 1.0))

DRAWINGS = {
    "errors": lambda: draw_path_errors(C, (0.3, 0.2, 0.2, 0.25), (0.1,) * 4, C, 0.1, *WORDS),
    "validation alone": lambda: draw_path_errors(C, (0.0,) * 4, (0.0,) * 4, None, 10.0, *WORDS),
    "support": lambda: draw_path_support(C, (90, 50, 30, 28), 1.0, *WORDS),
    "rates": lambda: draw_error_rates(
        [Rate("test", 0.1, 0.05, 0.2, "main"), Rate("漢$x$", 0.2), Rate("b", 0.3, weight="bound")],
        *WORDS,
    ),
    "no errors": lambda: draw_error_rates([Rate("test", 0.0, 0.0, 0.0, "main")], *WORDS),
    "roc": lambda: draw_roc([DIAGONAL] * 3, *WORDS),
    "roc of many": lambda: draw_roc([DIAGONAL] * 20, *WORDS),
    "recall": lambda: draw_precision_recall([DIAGONAL], *WORDS, prevalence=0.4),
    "calibration": lambda: draw_calibration(
        (0.1, 0.9), (0.0, 1.0), (3, 300), ((0.0, 0.5), (0.9, 1.0)), 7, *WORDS
    ),
    "empty bins": lambda: draw_calibration((), (), (), None, 0, *WORDS),
    "margins": lambda: draw_margin_histogram((-1, 0, 1, 2), [(1, 2, 3), (0, 0, 9)], *WORDS),
    "margins of many": lambda: draw_margin_histogram((0, 1), [(1,)] * 9, *WORDS, unit="ж $a$"),
    "all beyond 1": lambda: draw_margin_histogram((3.0, 4.0), [(0,)], *WORDS),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_figures_are_parts_of_a_page(name):
    text = DRAWINGS[name]()
    root = ET.fromstring(text)  # well-formed, and so without namespaces or entities
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "fig-title fig-desc"
    assert [part.text for part in root[:2]] == list(WORDS[1:])
    ids = [part.attrib["id"] for part in root.iter() if "id" in part.attrib]
    assert len(ids) == len(set(ids))
    assert all(part.startswith("fig-") for part in ids)
    assert set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text)) <= set(ids)
    assert "http" not in text
    assert "DejaVu" not in text
    assert "#" not in re.sub(r'(url\(#|href="#)', "", text)  # colours are the page's
    assert {part.tag for part in root.iter()} <= {
        "svg", "title", "desc", "g", "defs", "path", "use", "text", "tspan", "clipPath", "rect"
    }  # fmt: skip
    assert root.find(".//text") is not None  # text stays text
    assert len(text) < 40_000
    assert DRAWINGS[name]() == text


def test_a_colour_the_page_does_not_know_is_refused():
    with panel(200, 100) as (figure, axes):
        axes.plot([0, 1], [0, 1], color="#123456")
        with pytest.raises(ValueError, match="#123456 is none of the page's colours"):
            as_svg(figure, "fig", "t", "d")


@pytest.mark.parametrize("name", ["", "Fig", "1a", 'a"b', "a b"])
def test_a_name_that_is_no_id_is_refused(name):
    with panel(200, 100) as (figure, _), pytest.raises(ValueError, match="a figure's name"):
        as_svg(figure, name, "t", "d")


def test_every_class_has_a_colour_of_the_page():
    assert [class_colour(k) for k in range(6)] == list(CLASS_COLOURS)
    assert class_colour(6) == class_colour(0)
    assert all(class_colour(k) in THEME for k in range(20))
    assert THEME[INK] == "--ink"


def test_two_figures_share_no_id():
    first = draw_path_support(C, (4, 3, 2, 1), 1.0, "one", "t", "d")
    second = draw_path_support(C, (4, 3, 2, 1), 1.0, "two", "t", "d")
    found = [set(re.findall(r'id="([^"]*)"', text)) for text in (first, second)]
    assert len(found[0]) > 2
    assert not found[0] & found[1]


@pytest.mark.parametrize("count", [2, 3, 50, 20_000])
def test_thinned_curves_stay_where_they_were(count):
    x = np.linspace(0.0, 1.0, count)
    y = np.round(np.sqrt(x), 3)
    thin_x, thin_y = thinned(x, y)
    assert len(thin_x) <= 301
    assert (thin_x[0], thin_x[-1]) == (0.0, 1.0)
    assert set(zip(thin_x, thin_y, strict=True)) <= set(zip(x, y, strict=True))
    assert np.abs(np.interp(x, thin_x, thin_y) - y).max() < 0.02


def test_points_on_a_straight_run_are_left_out():
    x, y = thinned(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    assert (x.tolist(), y.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_letters_the_measuring_font_lacks_are_marked():
    assert drawable("naïve · 漢字 😀\x00") == "naïve · ?? ??"
