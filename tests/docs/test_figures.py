"""The page of the lectures' figures: each of them has a session that makes it, and a picture."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "figures.md"


def test_every_figure_has_its_session_and_its_picture():
    text = PAGE.read_text(encoding="utf-8")
    for number in range(1, 11):
        assert f"### Figure {number}:" in text
        assert f"(pictures/lectures/figure_{number}.svg)" in text
    pictures = re.findall(r"\((pictures/[^)]+\.svg)\)", text)
    assert text.count(">>> figure = sx.plot.") == len(pictures) == len(set(pictures))
    drawn = sorted(PAGE.parent.glob("pictures/lectures/*.svg"))
    assert drawn == sorted(PAGE.parent / picture for picture in pictures)
