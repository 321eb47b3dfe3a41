"""The replay within a report: what it holds, and that it plays in a real browser."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.data.lectures import iris
from separatrix.report.facts import Facts
from separatrix.report.page import write_report
from separatrix.report.replay import MOST_POINTS, replay_facts, replay_sentence
from tests.lab.browsing import PATIENCE, real_browser


def clouds(n, d=3, classes=2, seed=0):
    dice = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    return dice.normal(size=(n, d)) + 1.5 * np.eye(max(classes, d))[codes][:, :d], codes


def test_the_runs_are_the_librarys_to_the_last_bit():
    X, codes = clouds(90, 4, 3)
    machine = sx.LinearSVM(C=0.25).fit(X, codes)
    told = replay_facts(machine, X, codes, ["a", "b", "c", "d"], 5)
    columns = ["abcd".index(name) for name in told.features]
    plane = X[:, columns]
    assert np.array_equal(told.points, plane)
    frames = list(sx.replay(sx.LinearSVM(C=0.25), plane, codes))
    for number, run in enumerate(told.runs):
        own = [frame for frame in frames if frame.machine == number]
        assert run.weights == tuple(tuple(frame.weights.tolist()) for frame in own)
        assert run.gap == tuple(frame.gap for frame in own)
    fitted = sx.LinearSVM(C=0.25).fit(plane, codes)
    assert np.array_equal(np.array(told.weights)[:, 1:], fitted.coef_)
    assert told.errors == (fitted.predict(plane) != codes).sum()
    # The two features of most weight times spread.
    effect = (abs(machine.coef_) * X.std(axis=0)).max(axis=0)
    assert set(columns) == set(np.argsort(-effect)[:2].tolist())
    assert Facts.from_json(Facts("t", replay=told).to_json()).replay == told


def test_many_rows_are_drawn_by_the_seed_and_said():
    X, codes = clouds(2000)
    codes[:5] = 2
    machine = sx.LogisticRegression().fit(X, codes)
    one, same, other = (replay_facts(machine, X, codes, "xyz", seed) for seed in (1, 1, 2))
    assert one == same
    assert one.points != other.points
    assert len(one.points) <= MOST_POINTS + 2
    assert set(one.classes) == {0, 1, 2}
    assert one.loss == "logistic"
    assert f"{len(one.points)} of 2,000 training rows, drawn with seed 1" in replay_sentence(one)


def test_what_is_no_picture_is_left_out():
    X, codes = clouds(120)
    machine = sx.LinearSVM().fit(X, codes)
    assert replay_facts(machine, X, codes, "xyz", 0) is not None
    # Twins, words that most rows lack, rows on one spot, and too many classes.
    twins = np.column_stack([X[:, 0], 2.0 * X[:, 0], X[:, 0] > 0])
    assert replay_facts(sx.LinearSVM().fit(twins, codes), twins, codes, "xyz", 0) is None
    words = sparse.random_array((120, 50), density=0.05, rng=np.random.default_rng(0)).tocsr()
    assert replay_facts(sx.LinearSVM().fit(words, codes), words, codes, range(50), 0) is None
    lumped = np.column_stack([X[:, 0], np.exp(12.0 * X[:, 1])])
    assert replay_facts(sx.LinearSVM().fit(lumped, codes), lumped, codes, "xy", 0) is None
    many = np.arange(120) % 7
    assert replay_facts(sx.LinearSVM().fit(X, many), X, many, "xyz", 0) is None
    # A sparse matrix whose columns are full is as good as a dense one.
    full = sparse.csr_array(X)
    told = replay_facts(sx.LinearSVM().fit(full, codes), full, codes, "xyz", 0)
    assert np.asarray(told.points).shape == (120, 2)


def test_the_machine_itself_is_said_to_be_it():
    X, codes = clouds(60, 2)
    told = replay_facts(sx.LinearSVM().fit(X, codes), X, codes, "xy", 0)
    assert replay_sentence(told).startswith("The model of this study")


@pytest.fixture(scope="module")
def browser():
    with real_browser() as context:
        yield context.browser


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Return reports of two and of three classes that hold little but a replay."""
    folder, whole = tmp_path_factory.mktemp("reports"), iris()
    made = {}
    for K, X, y in ((2, whole.X[50:], whole.y[50:]), (3, whole.X, whole.y)):
        codes = np.unique(y, return_inverse=True)[1]
        machine = sx.LinearSVM(C=1.0).fit(X, codes)
        told = replay_facts(machine, X, codes, whole.feature_names, 0)
        facts = Facts(f"Irises of {K} kinds", replay=dataclasses.replace(told))
        made[K] = told, write_report(facts, folder / f"{K}.html")
    return made


def opened(browser, path, part="#replay", **settings):
    """Return the page at a part, which unfolds, the requests it made and the errors it had."""
    context = browser.new_context(viewport={"width": 1000, "height": 800}, **settings)
    context.set_default_timeout(PATIENCE)
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"file://{path}{part}")
    return page, asked, complaints


@pytest.mark.long
def test_the_replay_plays_within_the_report(browser, reports):
    told, path = reports[2]
    page, asked, complaints = opened(browser, path)
    place = page.locator("[data-replay]")
    assert place.locator(".plane .point").count() == len(told.points)
    assert "Start" in place.locator(".words").text_content()
    place.get_by_label("One step on").click()
    assert "Iteration 1" in place.locator(".words").text_content()
    page.keyboard.press(".")
    assert "Iteration 2" in place.locator(".words").text_content()
    page.keyboard.press(",")
    assert "Iteration 1" in place.locator(".words").text_content()
    place.locator(".speed").select_option("40")
    place.get_by_label("Play", exact=True).focus()
    page.keyboard.press("p")
    place.get_by_label("Play", exact=True).wait_for()
    last = len(told.runs[0].update) - 1
    assert place.locator(".place").text_content() == f"{last} / {last}"
    # What is drawn is what the facts say: the boundary is where the last weights are zero.
    ends = page.evaluate(
        """() => {
          const plane = document.querySelector("[data-replay]").shadowRoot.querySelector(".plane");
          const box = plane.viewBox.baseVal, path = plane.querySelector(".layer-edges path");
          const at = (d) => { const p = path.getPointAtLength(d); return [p.x, p.y]; };
          return { box: [box.width, box.height], ends: [at(0), at(path.getTotalLength())] };
        }"""
    )
    assert_on_the_line(ends, told)
    assert complaints == []
    assert [url.partition("#")[0] for url in asked] == [f"file://{path}"]
    page.context.close()


def assert_on_the_line(drawn, told):
    """Bring the drawn ends back to the plane, as the view does, and put them into the rule."""
    X = np.array(told.points)
    low, high = X.min(axis=0), X.max(axis=0)
    inside = low[0] >= -4 and high[0] <= 4 and low[1] >= -3 and high[1] <= 3
    wide_enough = high[0] - low[0] > 2.5 or high[1] - low[1] > 2
    if inside and wide_enough:
        low, high = np.array([-4.0, -3.0]), np.array([4.0, 3.0])
    else:
        low, high = low - 0.12 * (high - low), high + 0.12 * (high - low)
    size = np.array(drawn["box"])
    scale = (size / (high - low)).min()
    middle = (low + high) / 2.0
    b, *w = told.weights[0]
    for end in drawn["ends"]:
        x, y = (np.array(end) - size / 2.0) / scale * [1.0, -1.0] + middle
        assert abs(b + w[0] * x + w[1] * y) / np.hypot(*w) < 0.02 * np.ptp(X)


@pytest.mark.long
def test_several_machines_follow_one_another(browser, reports):
    told, path = reports[3]
    page, _, complaints = opened(browser, path)
    place = page.locator("[data-replay]")
    chapters = place.locator(".chapters button")
    assert chapters.count() == 4
    begins = np.cumsum([0, *(len(run.update) for run in told.runs)])
    for number in range(3):
        chapters.nth(number).click()
        assert place.locator(".place").text_content().startswith(f"{begins[number]} /")
        assert chapters.nth(number).get_attribute("aria-current") == "true"
        assert "against the rest" in place.locator(".words").text_content()
    chapters.nth(3).click()
    wrong = f"{told.errors} of {len(told.points)} on the wrong side"
    assert wrong in place.locator(".words").text_content()
    assert place.locator(".region").count() == 3
    assert complaints == []
    page.context.close()


@pytest.mark.long
def test_without_scripts_and_on_paper_there_is_a_picture(browser, reports):
    _, path = reports[2]
    page, _, _ = opened(browser, path, java_script_enabled=False)
    assert page.locator("#replay-still-title").count() == 1
    assert page.locator("[data-replay] figure svg").is_visible()
    page.context.close()
    page, _, _ = opened(browser, path, part="")
    still = page.locator("[data-replay] > .panels figure > svg")
    assert not still.is_visible()
    page.emulate_media(media="print")
    assert still.is_visible()
    assert not page.locator("[data-replay] .plane").is_visible()
    page.context.close()
