"""The table of figures of the README: read, compared and written by its script."""

from tests.optional import module

figures = module("benchmarks.all", "make peers")


def test_a_row_that_is_off_by_a_third_is_named():
    rows = [figures.Row("a9a", 0.26, "LinearSVC", 0.5), figures.Row("digits", 0.1, "SVC", 0.05)]
    page = f"before\n{figures.BEGIN}\n{figures.END}\nafter\n"
    page = figures.written(page, rows, "facts")
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    stated = figures.kept(page)
    assert stated == {"a9a": 0.26, "digits": 0.1}
    assert figures.off(rows, stated) == []
    slower = [figures.Row("a9a", 0.36, "LinearSVC", 0.5), rows[1]]
    assert figures.off(slower, stated) == ["a9a: 0.36 s, and the README says 0.26 s"]
    assert figures.written(page, slower, "facts").count("| a9a |") == 1
