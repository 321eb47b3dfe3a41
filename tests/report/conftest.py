import pytest

from separatrix.report.facts import Facts


@pytest.fixture
def plain_page(monkeypatch):
    """Write the facts of a study in place of its page, which takes longer to draw."""
    monkeypatch.setattr("separatrix.report.page.render_report", Facts.to_json)
