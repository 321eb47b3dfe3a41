"""Formulas of a page as MathML: every browser shows them without a script and without a network.

A page writes LaTeX between dollars, ``$w \\cdot x$`` in a line and ``$$`` around a formula of its
own. Code is left alone.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r"(?P<code>^```[\s\S]*?^```|`[^`\n]+`)"
    r"|^\$\$\n?(?P<block>[^$]+?)\n?\$\$$"
    r"|(?<![\\\w$])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$])?)\$(?![\w$])",
    re.MULTILINE,
)
_BAR = re.compile(r"<mo((?: [^>]*)?>(?:&#x0007C;|&#x02016;)</mo>)")  # no room beside |w|


def with_mathml(page: str) -> str:
    """Return a page of Markdown whose formulas are MathML."""
    return _FORMULA.sub(_replacement, page)


def _replacement(found: re.Match[str]) -> str:
    if found["block"] is not None:
        return f'<div class="formula">\n{mathml(found["block"], "block")}\n</div>'
    if found["inline"] is not None:
        # A line that begins with <math> would be a paragraph of its own.
        return f'<span class="math">{mathml(found["inline"], "inline")}</span>'
    return found[0]


def mathml(latex: str, display: str) -> str:
    """Return a formula as MathML; a command that the converter does not know is an error."""
    made = convert(" ".join(latex.split()), display=display)
    if "\\" in made or re.search(r"&(?!#)", made):
        raise ValueError(f"not understood: {latex.strip()}")
    made = made.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    return _BAR.sub(r'<mo lspace="0" rspace="0"\1', made)
