"""A whole report in a real browser: parts unfold, commands are copied, paper shows everything."""

import pytest

from separatrix.report.page import OPENED, SECTIONS, write_report
from tests.lab.browsing import PATIENCE, real_browser
from tests.report.examples import facts_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def browser():
    with real_browser() as context:
        yield context.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_report(facts_of(), tmp_path_factory.mktemp("report") / "report.html")


def opened(browser, report, part="", width=1000, **settings):
    context = browser.new_context(viewport={"width": width, "height": 800}, **settings)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"file://{report}{part}")
    return page


def shown(page):
    return {name for name in SECTIONS if page.locator(f"#{name}").is_visible()}


@pytest.mark.parametrize("scripts", [True, False])
def test_parts_unfold_with_and_without_scripts(browser, report, scripts):
    page = opened(browser, report, java_script_enabled=scripts)
    assert shown(page) == set(OPENED)
    page.locator("summary", has_text="Weights").click()
    assert shown(page) == {*OPENED, "features"}
    # A link of the contents unfolds its part.
    page.locator("nav a", has_text="Calibration").click()
    assert "calibration" in shown(page)
    page.context.close()


def test_paper_shows_every_part_and_no_button(browser, report):
    page = opened(browser, report)
    page.emulate_media(media="print")
    assert shown(page) == set(SECTIONS)
    assert page.locator(".copy").count() > 0
    assert not page.locator(".copy").first.is_visible()
    page.context.close()


def test_commands_are_copied_and_without_scripts_there_is_no_button(browser, report):
    page = opened(browser, report, permissions=["clipboard-read", "clipboard-write"])
    line = page.locator(".line").first
    line.locator("button").click()
    line.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == line.locator("code").text_content()
    page.context.close()
    page = opened(browser, report, java_script_enabled=False)
    assert page.locator(".copy").count() == 0
    assert page.locator(".line code").first.is_visible()
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_runs_over_the_edge(browser, report, width):
    page = opened(browser, report, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    across = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(across) == 0
    page.context.close()
