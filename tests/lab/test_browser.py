"""The lab in a real browser: draw, run every method, scrub, export, reload, two tabs, keys only."""

import io
import warnings

import numpy as np
import pytest
from PIL import Image

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.lab.methods import METHODS
from separatrix.lab.presets import preset_catalogue
from tests.lab.browsing import Browser, real_browser

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(is_interpreted(), reason="browser tests run compiled only"),
]
PRESETS = {preset["name"]: preset for preset in preset_catalogue()}


@pytest.fixture(scope="module")
def context():
    with real_browser(viewport={"width": 1280, "height": 800}) as found:
        yield found


@pytest.fixture(scope="module")
def page(context, address):
    return Browser(context.new_page(), address).open()


@pytest.fixture
def tab(page):
    """One tab for all tests: opening one costs a second."""
    page.js("lab.isComparing && lab.setComparing(false)")
    page.preset("separable")
    page.choose("perceptron")
    yield page
    assert page.complaints == []


def drawn(name):
    preset = PRESETS[name]
    return np.array(preset["points"]), np.array(preset["classes"])


def replayed(estimator, X, y):
    return [frame.weights.ravel().tolist() for frame in sx.replay(estimator, X, y)]


def test_what_is_on_screen_is_the_librarys_replay_to_the_last_bit(tab):
    tab.preset("separable")
    X, y = drawn("separable")
    runs = [
        ("perceptron", {}, sx.Perceptron(max_updates=500)),
        ("kozinec", {"epsilon": 0.05}, sx.Kozinec(0.05, max_updates=500)),
        ("delta_rule", {}, sx.DeltaRule(max_updates=500)),
        ("soft_margin", {"C": 2.5}, sx.LinearSVM(2.5)),
        ("logistic", {"C": 0.3}, sx.LogisticRegression(0.3)),
    ]
    for method, parameters, estimator in runs:
        tab.choose(method, parameters)
        expected = replayed(estimator, X, y)
        assert tab.js("lab.panes[0].state.replay.columns.weights") == expected
        for step in sorted({0, 1, len(expected) // 2, len(expected) - 1}):
            tab.js(f"lab.transport.go({step})")
            assert tab.weights_on_screen() == expected[step], (method, step)


def machines_replayed(estimator, X, y):
    """Return the weights of every machine, frame by frame."""
    found = {}
    for frame in sx.replay(estimator, X, y):
        found.setdefault(frame.machine, []).append(frame.weights.ravel().tolist())
    return list(found.values())


@pytest.mark.parametrize("way", ["ovr", "ovo"])
def test_of_several_machines_too(tab, way):
    tab.preset("three")
    X, y = drawn("three")
    wrapped = {"ovr": sx.OneVsRest, "ovo": sx.OneVsOne}[way]
    runs = [
        ("perceptron", {}, wrapped(sx.Perceptron(max_updates=500))),
        ("kozinec", {}, wrapped(sx.Kozinec(max_updates=500))),
        ("delta_rule", {}, wrapped(sx.DeltaRule(max_updates=500))),
        ("soft_margin", {"C": 2.5}, sx.LinearSVM(2.5, multi_class=way)),
        ("logistic", {"C": 0.3}, sx.LogisticRegression(0.3, multi_class=way)),
    ]
    for method, parameters, estimator in runs:
        tab.choose(method, parameters, many=way)
        expected = machines_replayed(estimator, X, y)
        parts = "lab.panes[0].state.replay.parts"
        assert tab.js(f"{parts}.slice(0, -1).map((p) => p.columns.weights)") == expected
        begins = tab.js("lab.panes[0].state.replay.begins")
        for number, weights in enumerate(expected):
            for step in {0, len(weights) // 2, len(weights) - 1}:
                tab.js(f"lab.transport.go({begins[number] + step})")
                assert tab.weights_on_screen() == weights[step], (method, number, step)
        tab.js("lab.transport.go(1e9)")
        fitted = estimator.fit(X, y)
        ones = getattr(fitted, "estimators_", [fitted])
        answer = [
            value
            for one in ones
            for row in np.column_stack([one.intercept_, one.coef_]).tolist()
            for value in row
        ]
        assert tab.weights_on_screen() == answer, method


def test_kernel_multipliers_of_several_machines_too(tab):
    tab.preset("three")
    X, y = drawn("three")
    for way in ("ovr", "ovo"):
        tab.choose("kernel_svm", {"C": 10.0}, many=way)
        frames = list(sx.replay(sx.KernelSVM(10.0, multi_class=way), X, y))
        for number in range(3):
            own = [frame.alpha.tolist() for frame in frames if frame.machine == number]
            for step in {0, 1, len(own) // 2, len(own) - 1}:
                shown = f"lab.panes[0].state.replay.parts[{number}].multipliersAt({step})"
                assert tab.js(shown) == own[step], (way, number, step)


def test_machines_are_chosen_and_points_that_play_no_part_step_back(tab):
    tab.preset("three")
    tab.choose("kozinec", many="ovo")
    page, buttons = tab.page, tab.page.locator("#pane-a .chapters button")
    assert buttons.count() == 4
    assert buttons.last.get_attribute("aria-current") == "true"
    buttons.nth(1).click()
    assert page.locator("#pane-a .words").text_content().startswith("Triangle against circle")
    assert page.locator("#pane-a .point.aside").count() == 14
    page.locator("#plane-a").focus()
    page.keyboard.press("]")
    assert buttons.nth(2).get_attribute("aria-current") == "true"
    assert page.locator("#pane-a .chart").count() >= 2
    page.keyboard.press("]")
    assert page.locator("#pane-a .point.aside").count() == 0
    assert page.locator("#pane-a .words").text_content().startswith("All models together")


def test_losses_and_rejection_are_drawn(tab):
    tab.preset("three")
    decide = """async () => {
      const { decisionOf } = await import("/static/player/rule.js");
      const { replay } = lab.panes[0].state;
      const decide = decisionOf(replay.result.rule, replay.nClasses);
      return [-3, -1, 0, 1, 3].flatMap((x) => [-2, 0, 2].map((y) => decide(x, y)));
    }"""
    X, y = drawn("three")
    losses = (1.0 - np.eye(6)).tolist()
    losses[0][2] = 5.0
    places = np.array([[x, y] for x in (-3, -1, 0, 1, 3) for y in (-2, 0, 2)], dtype=float)
    for parameters, more in (
        ({"reject_cost": 0.05}, {"reject_cost": 0.05}),
        ({"loss_matrix": losses}, {"loss_matrix": [row[:3] for row in losses[:3]]}),
    ):
        tab.choose("gaussian", {"covariance": "full", **parameters}, many="direct")
        machine = sx.GaussianPlugIn("full", **more).fit(X, y)
        expected = [3 if one == "reject" else one for one in machine.predict(places).tolist()]
        assert tab.js(decide) == expected
        assert (3 in expected) == ("reject_cost" in more)
    cells = tab.page.locator("#method-a .losses input[type=number]")
    assert cells.count() == 9
    cells.nth(1).fill("7")
    tab.settle()
    assert tab.js("lab.forms[0].choice.parameters.loss_matrix[0][1]") == 7


def test_kernel_multipliers_in_the_page_are_the_librarys(tab):
    tab.preset("xor")
    tab.choose("kernel_svm", {"C": 10.0})
    X, y = drawn("xor")
    frames = list(sx.replay(sx.KernelSVM(10.0), X, y))
    for step in {0, 1, len(frames) // 2, len(frames) - 1}:
        shown = tab.js(f"lab.panes[0].state.replay.multipliersAt({step})")
        assert shown == frames[step].alpha.tolist()
    for method, rule in (
        ("kernel_perceptron", sx.KernelPerceptron(max_updates=500)),
        ("kernel_kozinec", sx.KernelKozinec(max_updates=500)),
    ):
        tab.choose(method, {"coef0": 0})
        frames = list(sx.replay(rule, X, y))
        shown = tab.js("lab.panes[0].state.replay.columns.alpha")
        assert shown == [frame.alpha.tolist() for frame in frames]
        assert tab.js("lab.panes[0].state.replay.columns.bias") == [f.bias for f in frames]


@pytest.mark.parametrize("name", ["overlapping", "three"])
def test_every_method_runs_and_decides_as_the_library_does(tab, name):
    tab.preset(name)
    _, y = drawn(name)
    decide = """async () => {
      const { decisionOf } = await import("/static/player/rule.js");
      const { replay } = lab.panes[0].state;
      if (!replay) return document.querySelector("#outcome").textContent;
      if (replay.result.refused) return replay.result.refused;
      const decide = decisionOf(replay.result.rule, replay.nClasses);
      const wrong = replay.points.filter(([x, y], i) => decide(x, y) !== replay.codes[i]).length;
      return [wrong, replay.result.facts.errors];
    }"""
    lifts = ["none", "polynomial", "radial", "sigmoid", "fourier", "nystrom"]
    for number, (method, about) in enumerate(METHODS.items()):
        for many in about.many if len(set(y)) > 2 else about.many[:1]:
            lift = lifts[number % len(lifts)] if about.lifts else "none"
            tab.choose(method, {}, {"name": lift}, many)
            found = tab.js(decide)
            if isinstance(found, str):
                assert method == "hard_margin", (method, many, lift, found)
                assert "no" in found
            else:
                assert found[0] == found[1], (method, many, lift)


def test_points_are_placed_dragged_brushed_and_deleted(tab):
    page = tab.page
    page.click("#clear")
    tab.settle()

    def place(x, y):
        box = page.locator("#plane-a").bounding_box()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    page.mouse.click(*place(0.3, 0.5))
    page.keyboard.press("2")
    page.mouse.click(*place(0.7, 0.5))
    tab.settle()
    assert tab.js("lab.store.classes") == [0, 1]
    assert "A line separates them" in page.locator("#badge").text_content()
    (x, y), _ = tab.js("lab.store.points")
    assert (x * 64) % 1 == 0
    assert (y * 64) % 1 == 0
    page.mouse.move(*place(0.3, 0.5))
    page.mouse.down()
    page.mouse.move(*place(0.4, 0.3), steps=4)
    page.mouse.up()
    moved = tab.js("lab.store.points")
    assert moved[0][0] > x
    assert len(moved) == 2
    page.mouse.click(*place(0.7, 0.5), button="right")
    assert tab.js("lab.store.classes") == [0]
    page.keyboard.press("Control+z")
    assert tab.js("lab.store.classes") == [0, 1]
    page.keyboard.press("Control+y")
    assert tab.js("lab.store.classes") == [0]
    page.check("input[value=brush]", force=True)
    page.mouse.move(*place(0.7, 0.6))
    page.mouse.down()
    page.mouse.up()
    assert tab.js("lab.store.classes").count(1) >= 3
    page.click("#undo")
    assert tab.js("lab.store.classes") == [0]
    page.check("input[value=place]", force=True)


def test_the_run_is_scrubbed_stepped_and_played(tab):
    tab.preset("separable")
    tab.choose("kozinec", {"epsilon": 0.05})
    page, last = tab.page, tab.js("lab.transport.length") - 1
    slider = page.locator(".transport input")
    slider.fill("7")
    assert "Update 7" in page.locator("#pane-a .words").text_content()
    page.get_by_label("One step on").click()
    assert tab.js("lab.transport.step") == 8
    page.get_by_label("To the start").click()
    page.select_option(".speed", "40")
    page.get_by_label("Play", exact=True).click()
    page.get_by_label("Play", exact=True).wait_for()  # pause while it plays
    assert tab.js("lab.transport.step") == last
    chart = page.locator(".chart svg.scrubs").first.bounding_box()
    page.mouse.click(chart["x"] + 2, chart["y"] + 20)
    assert tab.js("lab.transport.step") <= 1


def test_it_opens_at_the_first_frame_and_clear_drops_the_lift(tab):
    lifted = next(name for name, preset in PRESETS.items() if preset.get("lift"))
    tab.preset(lifted)
    assert tab.js("lab.forms[0].choice.lift.name") == PRESETS[lifted]["lift"]["name"]
    tab.page.click("#clear")
    tab.settle()
    assert tab.js("lab.forms[0].choice.lift.name") == "none"
    tab.preset("separable")
    tab.choose("perceptron")
    tab.preset("separable")
    assert tab.js("lab.transport.step") == 0
    assert tab.js("lab.transport.length") > 2
    assert "log scale" in tab.page.locator(".tick.scale").text_content()


def test_a_lectures_numbers_stand_beside_those_of_the_run(tab):
    rows = tab.page.locator("#outcome .lecture tbody tr")
    tab.preset("two_hundred")
    assert "Example 2" in tab.page.locator("#outcome .lecture h3").text_content()
    shown = [row.locator("td").all_text_contents() for row in rows.all()]
    assert shown == [["6", "6"], ["400", "386"], ["0, 2.76, 0.33"] * 2]
    tab.preset("parabola")
    assert rows.last.locator("td").all_text_contents() == ["3, −1.5, 3.12"] * 2
    tab.js("lab.store.remember(), lab.store.remove(3), lab.store.changed()")
    tab.settle()
    assert rows.count() == 0  # other points: the lecture says nothing of them
    tab.page.click("#undo")
    tab.settle()
    assert rows.count() == 3
    tab.preset("separable")
    assert tab.page.locator("#outcome .lecture").count() == 0
    groups = tab.js("[...document.querySelectorAll('#preset optgroup')].map((g) => g.label)")
    assert groups == ["Situations", "Lectures"]


def test_both_checkers_agree_on_screen(tab):
    for name, word in (("separable", "Yes"), ("touching", "Not strictly"), ("overlapping", "No")):
        tab.preset(name)
        tab.page.wait_for_selector("#proof .checks[data-agree=true]")
        assert tab.page.locator("#proof .verdict").text_content().startswith(word)
        assert tab.page.locator("#proof .checks svg.yes").count() == 2
    X, y = drawn("overlapping")
    witness = sx.separability(X, y).witness
    labels = tab.page.locator(".multiplier").all_text_contents()
    assert labels == [f"×\u2009{multiplier}" for multiplier in witness.multipliers]
    # A certificate for other points is refused, in the page too.
    forged = """async () => {
      const { checkCertificate } = await import("/static/checker.js"), v = lab.proof.verdict;
      const rows = v.rows.map((i) => [...lab.store.points[i]]), codes = lab.store.classes;
      rows[0][0] += 1;
      const data = { rows, codes, nFeatures: 2, nClasses: 2 };
      return (await checkCertificate(v.certificate, data)).holds;
    }"""
    assert tab.js(forged) is False


def test_everything_can_be_exported(tab, tmp_path):
    tab.preset("separable")
    tab.choose("perceptron")
    svg = tab.downloaded("svg", tmp_path).decode()
    assert svg.startswith("<svg")
    assert "var(--" not in svg
    assert svg.count("<path") > 32
    picture = Image.open(io.BytesIO(tab.downloaded("png", tmp_path)))
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 50
    movie = Image.open(io.BytesIO(tab.downloaded("gif", tmp_path)))
    assert movie.n_frames == tab.js("lab.transport.length")
    for number in range(movie.n_frames):
        movie.seek(number)
        movie.load()
    csv = tab.downloaded("csv", tmp_path).decode().splitlines()
    assert csv[0] == "x,y,class"
    assert len(csv) == 33
    tab.page.click("#export")
    tab.page.click("[data-export=py]")
    code = tab.page.input_value("#code-text")
    tab.page.keyboard.press("Escape")
    space = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, space)
    assert [*space["machine"].intercept_, *space["machine"].coef_[0]] == tab.weights_on_screen()


def test_the_exported_replay_plays_by_itself(tab, context, tmp_path):
    tab.preset("touching")
    page = tab.downloaded("html", tmp_path)
    assert b"http://127" not in page
    alone = context.new_page()
    complaints, asked = [], []
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    alone.on("request", lambda request: asked.append(request.url))
    (tmp_path / "replay.html").write_bytes(page)
    alone.goto(f"file://{tmp_path}/replay.html")
    alone.get_by_label("To the start").click()
    assert "Start" in alone.locator(".words").first.text_content()
    assert alone.locator(".point").count() == 14
    assert complaints == []
    assert len(asked) == 1
    alone.close()


def test_the_address_brings_everything_back(tab, context, address):
    tab.preset("circles")
    tab.page.click("#compare")
    tab.choose("kernel_svm", {"C": 5.0}, pane=1)
    tab.js("lab.transport.go(3)")
    tab.page.wait_for_timeout(500)
    before = tab.js("JSON.stringify(lab.state)")
    tab.page.reload()
    tab.page.wait_for_selector("body[data-answers]")
    tab.settle()
    assert tab.js("JSON.stringify(lab.state)") == before
    # In another tab with a fragment that is garbage the lab opens as usual.
    hostile = """async () => {
      const { packed } = await import("/static/share.js");
      const parameters = { C: "<img>", loss: 7 }, points = [[0, 0], [1, 1]];
      const choices = [{ method: "soft_margin", parameters, lift: { name: [] } }];
      return packed({ points, classes: [0, 1], choices, names: [{}, "<b>"] });
    }"""
    fragments = {"@@garbage": 32, tab.js(hostile): 2}
    for fragment, count in fragments.items():
        other = Browser(context.new_page(), address).open(f"#{fragment}")
        assert other.js("lab.store.points.length") == count
        assert other.complaints == []
        other.page.close()


def test_two_tabs_do_not_disturb_each_other(tab, context, address):
    other = Browser(context.new_page(), address).open()
    tab.preset("xor")
    other.preset("three")
    tab.choose("kernel_svm")
    other.choose("fisher")
    assert tab.js("lab.store.points.length") == 32
    assert other.js("lab.store.points.length") == 42
    assert tab.js("lab.panes[0].state.replay.result.method") == "kernel_svm"
    assert other.js("lab.panes[0].state.replay.result.method") == "fisher"
    other.page.close()


def test_the_keyboard_is_enough(tab):
    page = tab.page
    page.locator(".skip").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "compare"
    page.locator("#clear").focus()
    page.keyboard.press("Enter")
    page.locator("#plane-a").focus()
    for key in ["ArrowLeft"] * 5 + ["Enter", "2"] + ["ArrowRight"] * 9 + ["Enter", "1", "ArrowUp"]:
        page.keyboard.press(key)
    assert tab.js("lab.store.classes") == [0, 1]
    page.keyboard.press("b")
    assert tab.js("lab.store.classes") == [0, 1, 0, 0, 0]
    page.keyboard.press("Control+z")
    page.keyboard.press("n")
    x = tab.js("lab.store.points[0][0]")
    page.keyboard.press("Shift+ArrowRight")
    assert tab.js("lab.store.points[0][0]") > x
    assert "Point 0, circle" in page.locator("#said").text_content()
    tab.settle()
    page.keyboard.press("Escape")
    page.keyboard.press(",")
    page.locator("#method-a select").first.focus()
    page.keyboard.type("Kernel m")
    page.keyboard.press("Enter")
    tab.settle()
    assert tab.js("lab.forms[0].choice.method") == "kernel_svm"
    page.locator("#export").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.export") == "png"
    page.keyboard.press("Escape")
    assert page.locator("#export-menu").is_hidden()
    page.locator("#plane-a").focus()
    page.keyboard.press("n")
    page.keyboard.press("Delete")
    assert tab.js("lab.store.classes") == [1]
    page.keyboard.press("?")
    assert page.locator("#help-dialog").is_visible()
    page.keyboard.press("Escape")


def test_a_pasted_table_opens_with_two_chosen_columns(tab):
    page = tab.page
    page.click("#data")
    page.fill("#data-text", 'id;height;"we;ight";kind\n1;1.5;10;a\n2;2.5;20;b\n3;3;15;a\n')
    page.select_option("#data-x", label="height")
    page.select_option("#data-y", label="we;ight")
    page.click("#data-open")
    tab.settle()
    assert tab.js("lab.store.points") == [[1.5, 10], [2.5, 20], [3, 15]]
    assert tab.js("lab.store.classes") == [0, 1, 0]
    assert "height" in page.locator("#plane-a").text_content()
    page.click("#data")
    page.fill("#data-text", "1,2\n3\n")
    assert "Line 2 has 1 cells" in page.locator("#data-words").text_content()
    page.click("#data-cancel")


def test_names_in_quotes_do_not_choose_the_divider_and_are_no_formulas_when_written(tab):
    tab.page.click("#data")
    tab.page.fill("#data-text", '"=1;2","+a\tb",kind\n1.5,10,a\n2.5,20,b\n')
    tab.page.select_option("#data-x", label="=1;2")
    tab.page.select_option("#data-y", label="+a\tb")
    tab.page.click("#data-open")
    tab.settle()
    assert tab.js("lab.store.points") == [[1.5, 10], [2.5, 20]]
    written = """async () => {
      const { writtenTable } = await import("/static/csv.js");
      return writtenTable(lab.store);
    }"""
    assert tab.js(written) == "'=1;2,'+a\tb,class\n1.5,10,0\n2.5,20,1\n"


def test_a_table_from_the_command_line_is_offered(tab):
    table = {"columns": ["long", "wide"], "rows": [[1, 2], [2, 1]], "labels": ["a", "b"]}
    tab.page.evaluate("table => lab.opening.offer(table)", {**table, "source": "leaves.csv"})
    assert "leaves.csv: 2 rows" in tab.page.locator("#data-words").text_content()
    tab.page.click("#data-open")
    tab.settle()
    assert tab.js("lab.store.points") == [[1, 2], [2, 1]]
    assert tab.js("lab.store.names") == ["long", "wide"]
