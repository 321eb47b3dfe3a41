"""The page's checker and Python's say the same of the same claims; 100,000 in benchmarks/."""

import json

import pytest

from separatrix._compiled import is_interpreted
from separatrix.lab.server import STATIC
from separatrix.plots.player.page import joined_modules
from tests.lab.browsing import real_browser
from tests.lab.checker_cases import by_python, cases, disagreements


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="browser tests run compiled only")
def test_the_two_checkers_agree():
    made = cases(1500)
    with real_browser() as context:
        page = context.new_page()
        page.goto("chrome://version")  # a page with a secure context, for SHA-256
        check = """async (text) => {
          const answers = [];
          for (const { certificate, data } of JSON.parse(text)) {
            const { holds, words } = await checkCertificate(certificate, data);
            answers.push([holds, words]);
          }
          return answers;
        }"""
        script = (
            f"(async (text) => {{ {joined_modules('checker', STATIC)}; return ({check})(text); }})"
        )
        answers = page.evaluate(script, json.dumps(made))
    assert disagreements(made, answers) == []
    held = [by_python(one)[0] for one in made]
    assert min(held.count(True), held.count(False)) > 300
