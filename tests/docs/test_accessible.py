"""axe finds nothing: ten pages of the book, the report, the lab; phone and desk, light and dark.

axe-core comes with ``axe-playwright-python``; nothing is fetched.
"""

import pytest
from tests.lab.browsing import Browser, real_browser, running_lab
from tests.optional import chromium, module
from tests.report.examples import facts_of

from separatrix.report.page import write_report

pytestmark = pytest.mark.long

PAGES = (
    "", "start", "lab", "howto/migrate", "methods/linear_svm", "bounds",
    "glossary", "benchmarks", "questions", "api",
)  # fmt: skip
WIDTHS = {"phone": 390, "desk": 1280}
ACROSS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module", params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture(scope="module")
def page(scheme):
    chromium()
    with real_browser(color_scheme=scheme, reduced_motion="reduce") as context:
        yield context.new_page()


@pytest.fixture(scope="module")
def axe():
    return module("axe_playwright_python.sync_playwright", "make test").Axe()


def require_nothing(axe, page):
    """No violation of any rule at any width, and nothing that runs over the edge."""
    for name, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        found = [
            f"{name}: {broken['id']} ({broken['help']}): {node['html'][:200]}"
            for broken in axe.run(page).response["violations"]
            for node in broken["nodes"]
        ]
        assert not found, "\n".join(found)
        assert page.evaluate(ACROSS) <= 0, f"{name}: wider than the window"


@pytest.mark.parametrize("address", PAGES)
def test_nothing_is_found_on_a_page_of_the_book(address, site, page, axe, scheme):
    page.goto((site / address / "index.html").as_uri())
    page.wait_for_timeout(200)  # tables and formulas that scroll become reachable
    shown = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
    assert shown == {"light": "default", "dark": "slate"}[scheme]
    require_nothing(axe, page)


def test_nothing_is_found_in_the_report(page, axe, tmp_path):
    page.goto(write_report(facts_of(), tmp_path / "report.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    require_nothing(axe, page)


def test_nothing_is_found_in_the_lab(page, axe):
    with running_lab() as address:
        tab = Browser(page, address).open()
        tab.preset(page.locator("#preset option").nth(1).get_attribute("value"))
        tab.choose("perceptron")
        require_nothing(axe, page)


def test_what_is_wrong_is_found(page, axe, tmp_path):
    (tmp_path / "wrong.html").write_text("<html><body><img src='x.png'></body></html>")
    page.goto((tmp_path / "wrong.html").as_uri())
    with pytest.raises(AssertionError, match="image-alt"):
        require_nothing(axe, page)
