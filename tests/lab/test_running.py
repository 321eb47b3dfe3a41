"""What the lab computes: every method, its code, its lifts; without server or browser."""

import warnings

import numpy as np
import pytest

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.data import lectures
from separatrix.lab.answering import prove, run
from separatrix.lab.methods import METHODS
from separatrix.lab.parameters import LIFTS, BadRequest
from separatrix.lab.presets import preset_catalogue

PRESETS = {preset["name"]: preset for preset in preset_catalogue()}
QUICK = ["perceptron", "kozinec", "soft_margin", "least_squares", "gaussian"]
SOME = QUICK if is_interpreted() else list(METHODS)


def asked(name, method, **more):
    preset = PRESETS[name]
    return {"points": preset["points"], "classes": preset["classes"], "method": method, **more}


@pytest.mark.parametrize("method", SOME)
@pytest.mark.parametrize("name", ["separable", "three"])
def test_the_code_does_what_is_on_the_screen(method, name):
    many = len(set(PRESETS[name]["classes"])) > 2
    for way in METHODS[method].many if many else [None]:
        answer = run(asked(name, method, many=way))
        assert "refused" not in answer
        space = {"print": lambda *words: None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(answer["code"], space)
        machine, X, y = space["machine"], space["X"], space["y"]
        assert int((machine.predict(X) != y).sum()) == answer["facts"]["errors"]
        if "weights" in answer["rule"] and hasattr(machine, "coef_"):
            weights = np.column_stack([machine.intercept_, machine.coef_])
            assert answer["rule"]["weights"] == weights.tolist()


@pytest.mark.parametrize("lift", LIFTS)
def test_lifts_are_told_with_all_their_numbers(lift):
    answer = run(asked("circles", "least_squares", lift={"name": lift}))
    features = answer["rule"].get("features")
    assert (features is None) == (lift == "none")
    if features is not None:
        assert features["kind"] == lift
        lists = {"polynomial": "powers", "fourier": "directions", "nystrom": "columns"}
        columns = features[lists.get(lift, "centres")]
        assert len(columns) + 1 == len(answer["rule"]["weights"][0])


def test_a_lift_separates_what_no_line_can():
    lift = {"name": "polynomial", "parameters": {"degree": 2}}
    message = asked("circles", "perceptron", lift=lift)
    assert run(message)["facts"]["errors"] == 0
    (verdict,) = prove(message)["pairs"]
    assert verdict["kind"] == "overlapping"


def test_presets_are_what_they_say():
    kinds = {
        name: [pair["kind"] for pair in prove(PRESETS[name])["pairs"]]
        for name in ("separable", "touching", "overlapping", "outlier", "xor", "eighty_five")
    }
    assert kinds["separable"] == kinds["eighty_five"] == kinds["outlier"] == ["separable"]
    assert kinds["touching"] == ["quasi-separable"]
    assert kinds["overlapping"] == kinds["xor"] == ["overlapping"]
    for preset in PRESETS.values():
        assert "lecture" in preset or (np.array(preset["points"]) * 64 % 1 == 0).all()
        assert max(preset["classes"]) < 6


LECTURES = {name: preset for name, preset in PRESETS.items() if "lecture" in preset}


@pytest.mark.parametrize("name", list(LECTURES))
def test_lecture_presets_come_to_the_lectures_numbers(name):
    preset = LECTURES[name]
    about = {key: preset[key] for key in ("parameters", "lift") if key in preset}
    answer = run(asked(name, preset["method"], **about))
    facts, said = answer["facts"], dict(preset["lecture"]["figures"])
    here = {
        "updates": str(facts["updates"]),
        "training errors": f"{facts['errors']} of {facts['points']}",
        **dict(facts["figures"]),
    }
    last = answer["replay"]["columns"]["weights"][-1]
    here["weights"] = ", ".join(f"{value:.2f}".rstrip("0").rstrip(".") for value in last)
    for term, value in said.items():
        if term == "rows visited":  # the lecture goes on to the end of its pass
            n = len(preset["points"])
            assert int(value) == -(-int(here[term]) // n) * n
        else:
            assert here[term].replace("-0,", "0,") == value
    assert preset["lecture"]["where"].startswith("Lecture 00")
    assert said or preset["lecture"]["note"]


def test_there_is_a_preset_for_every_set_of_the_lectures():
    shown = [np.array(preset["points"]) for preset in LECTURES.values()]
    for name in set(lectures.__all__) - {"sentences"}:
        X, _ = getattr(lectures, name)()
        columns = X.shape[1]
        same = [len(p) == len(X) and np.array_equal(p[:, :columns], X) for p in shown]
        assert any(same), name


def test_the_worked_example_visits_the_lectures_weights():
    preset = PRESETS["worked"]
    answer = run(asked("worked", "perceptron", parameters=preset["parameters"]))
    found = np.array(answer["replay"]["columns"]["weights"])
    expected = [(0, 1, 0.5), (-0.2, 0.6, 0.9), (0, 0.2, 1.1), (0.2, 0.5, 1.0)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_novikoffs_bound_is_the_librarys():
    answer = run(asked("separable", "perceptron"))
    novikoff = answer["facts"]["novikoff"]
    assert novikoff["mistakes"] == answer["replay"]["columns"]["update"][-1]
    X, y = np.array(PRESETS["separable"]["points"]), PRESETS["separable"]["classes"]
    model = sx.Perceptron(max_updates=500)
    assert novikoff["bound"] == model.fit(X, y).novikoff_.bound
    assert novikoff["bound"] == pytest.approx(sx.novikoff(model, X, y).bound, rel=1e-6)


def test_an_optimum_that_does_not_separate_is_not_refuted():
    answer = run(asked("overlapping", "linear_program", parameters={"slack": True}))
    assert answer["facts"]["status"] == "optimal"
    assert answer["facts"]["proof"].startswith("proved: these weights do not separate the points")


def test_a_refusal_carries_the_librarys_words():
    answer = run(asked("overlapping", "hard_margin"))
    assert "cannot be separated" in answer["refused"]
    with pytest.raises(BadRequest, match="two classes"):
        run(asked("three", "gaussian", parameters={"task": "minimax"}))


def test_long_runs_are_cut_and_say_so(monkeypatch):
    monkeypatch.setattr("separatrix.plots.player.columns.MOST_NUMBERS", 100)
    replay = run(asked("overlapping", "perceptron"))["replay"]
    assert replay["is_cut"]
    assert len(replay["columns"]["weights"]) < 20
