import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from separatrix.plots._svg import COLOURS, Axis, Panel, Words, class_colour, nice_ticks
from separatrix.plots.panels import (
    Rate,
    draw_calibration,
    draw_error_rates,
    draw_margin_histogram,
    draw_path_errors,
    draw_path_support,
    draw_plane_panel,
    draw_precision_recall,
    draw_roc,
    thinned,
)

C = (0.01, 0.1, 1.0, 10.0)
WORDS = Words("fig", "Title & <more>", 'Say "it" in words')
DIAGONAL = ((0.0, 0.5, 1.0), (0.0, 0.7, 1.0))

DRAWINGS = {
    "errors": lambda: draw_path_errors(C, (0.3, 0.2, 0.2, 0.25), (0.1,) * 4, C, 0.1, WORDS),
    "validation alone": lambda: draw_path_errors(C, (0.0,) * 4, (0.0,) * 4, None, 10.0, WORDS),
    "support": lambda: draw_path_support(C, (90, 50, 30, 28), 1.0, WORDS),
    "rates": lambda: draw_error_rates(
        [Rate("test", 0.1, 0.05, 0.2, "main"), Rate("漢$x$", 0.2), Rate("b", 0.3, weight="bound")],
        WORDS,
    ),
    "no errors": lambda: draw_error_rates([Rate("test", 0.0, 0.0, 0.0, "main")], WORDS),
    "roc": lambda: draw_roc([DIAGONAL] * 3, WORDS),
    "roc of many": lambda: draw_roc([DIAGONAL] * 20, WORDS),
    "recall": lambda: draw_precision_recall([DIAGONAL], WORDS, prevalence=0.4),
    "calibration": lambda: draw_calibration(
        (0.1, 0.9), (0.0, 1.0), (3, 300), ((0.0, 0.5), (0.9, 1.0)), 7, WORDS
    ),
    "empty bins": lambda: draw_calibration((), (), (), None, 0, WORDS),
    "margins": lambda: draw_margin_histogram((-1, 0, 1, 2), [(1, 2, 3), (0, 0, 9)], WORDS),
    "margins of many": lambda: draw_margin_histogram((0, 1), [(1,)] * 9, WORDS, unit="ж $a$"),
    "plane": lambda: draw_plane_panel(
        [(k, k % 3) for k in range(12)], [k % 6 for k in range(12)], [(0.5, 1, -1)], "x漢", WORDS,
        street=True,
    ),
    "many lines": lambda: draw_plane_panel(
        [(0, 0), (1, 1), (2, 0)], (0, 1, 2), [(0, 1, 0), (0, 0, 0), (1, 0, 1)], ("a", "b"), WORDS
    ),
    "all beyond 1": lambda: draw_margin_histogram((3.0, 4.0), [(0,)], WORDS),
}  # fmt: skip


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


@pytest.mark.parametrize("name", ["", "Fig", "1a", 'a"b', "a b"])
def test_a_name_that_is_no_id_is_refused(name):
    with pytest.raises(ValueError, match="a figure's name"):
        Panel(200, 100, Axis(0, 1), Axis(0, 1)).svg(Words(name, "t", "d"))


def test_every_class_has_a_colour_of_the_page():
    assert class_colour(6) == class_colour(0)
    assert {class_colour(k) for k in range(20)} <= set(COLOURS)


@pytest.mark.parametrize("name", DRAWINGS)
def test_colours_are_those_of_the_page(name):
    assert set(re.findall(r"var\(--([^)]*)\)", DRAWINGS[name]())) <= set(COLOURS)


def test_two_figures_share_no_id():
    first = draw_path_support(C, (4, 3, 2, 1), 1.0, Words("one", "t", "d"))
    second = draw_path_support(C, (4, 3, 2, 1), 1.0, Words("two", "t", "d"))
    found = [set(re.findall(r'id="([^"]*)"', text)) for text in (first, second)]
    assert len(found[0]) == 2
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


@pytest.mark.parametrize("low", [0.0, -3.0, 0.47])
@pytest.mark.parametrize("width", [1e-3, 0.37, 1.0, 8.2, 73.0, 12345.0])
@pytest.mark.parametrize("most", [4, 6])
@pytest.mark.parametrize("whole", [False, True])
def test_ticks_are_round_and_few(low, width, most, whole):
    ticks = nice_ticks(low, low + width, most, whole)
    assert len(ticks) <= most + 1
    assert all(low - 1e-9 * width <= tick <= low + width * (1 + 1e-9) for tick in ticks)
    assert len(ticks) > 1 or whole
    if whole:
        assert all(tick == int(tick) for tick in ticks)
    steps = np.diff(ticks)
    assert np.allclose(steps, steps[:1])


def test_names_in_any_script_stay_as_they_are():
    assert "漢字" in draw_error_rates([Rate("漢字", 0.1)], WORDS)
