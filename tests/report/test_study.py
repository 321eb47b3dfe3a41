import dataclasses
import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

import separatrix as sx
from separatrix.data.lectures import iris
from separatrix.report import verdict as bounded
from separatrix.report.facts import Facts
from separatrix.report.headings import headings
from separatrix.report.journal import Busy, Journal, alone_in
from separatrix.report.study import OUTPUTS, Settings, Study, study

QUICK = Settings(features="raw", loss="hinge", Cs=(0.1, 10.0), folds=3, times=False)


def two_irises():
    """Return every second versicolor and virginica, by three measurements."""
    whole = iris()
    rows = np.flatnonzero(whole.y != "setosa")[::2]
    y = whole.y[rows]
    return dataclasses.replace(
        whole, X=whole.X[rows, 1:], y=y, classes=np.unique(y), feature_names=["a", "b", "c"]
    )


pytestmark = pytest.mark.usefixtures("plain_page")


@pytest.fixture(scope="module")
def calm_study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("separatrix.report.page.render_report", Facts.to_json)
        return study(two_irises(), folder, QUICK), folder


def test_every_fact_agrees_with_the_library(calm_study):
    facts, folder = calm_study
    table = two_irises()
    X, y = table.X, table.y
    parts = sx.split(y, test=0.2, seed=0)
    train, test = parts.train, parts.test
    machine = sx.LinearSVM(C=facts.machine.C).fit(X[train], y[train])
    assert facts.machine.objective == pytest.approx(machine.objective_, rel=1e-6)
    assert facts.machine.checked
    assert facts.machine.gap <= 1e-4
    verdict = sx.separability(X[train], y[train])
    assert facts.verdict.kind == verdict.kind
    assert facts.verdict.checked
    model = sx.load(folder / "model.sx")
    wrong = model.predict(X[test]) != y[test]
    assert facts.test.errors == wrong.sum()
    assert facts.test.n == len(test)
    interval = sx.bounds.binomial(int(wrong.sum()), len(test))
    assert (facts.test.low, facts.test.high) == (interval.lower, interval.upper)
    assert sum(map(sum, facts.test.confusion)) == len(test)
    assert {row.row for row in facts.mistakes} <= set(test[wrong].tolist())
    scores = model.decision_function(X[test])
    assert facts.curves[0].auc == pytest.approx(roc_auc_score(y[test] == "virginica", scores))
    assert [part.count for part in facts.data.classes] == [25, 25]
    assert sum(part.test for part in facts.data.classes) == len(test)
    counted = sum(sum(one.counts) for one in facts.margins.counts)
    assert counted == len(y)
    assert len(facts.bounds) == 2
    chances = model.predict_proba(X[test])[:, 1]
    assert facts.calibration[0].brier == pytest.approx(
        np.mean((chances - (y[test] == "virginica")) ** 2)
    )
    weights = dict(zip(table.feature_names, model.coef_[0], strict=True))
    for one in facts.features[0].features:
        assert one.weight == weights[one.name]
    assert facts.path.chosen == facts.machine.C == model.C
    assert facts.reading.kind in ("flat", "balanced", "underfitting", "overfitting")
    assert facts.next_steps


def test_the_folder_holds_what_was_promised_and_no_more(calm_study):
    facts, folder = calm_study
    assert {path.name for path in folder.iterdir()} == {*OUTPUTS, ".work"}
    assert [path.name for path in (folder / ".work").iterdir()] == ["seals"]
    assert Facts.from_json((folder / "study.json").read_text()) == facts
    proofs = json.loads((folder / "certificate.json").read_text())
    rows = proofs["training_rows"]
    table = two_irises()
    X, y = table.X, table.y
    from separatrix.certificates.reading import from_json

    assert from_json(proofs["machine"][0], "duality-gap").check(X[rows], y[rows])
    verdict = sx.Verdict.from_json(json.dumps(proofs["verdict"][0]))
    assert verdict.check(X[rows], (y[rows] == "virginica").astype(int))
    lines = (folder / "path.csv").read_text().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("C,validation_error")


def test_three_classes_and_the_logistic_loss(tmp_path):
    settings = dataclasses.replace(QUICK, loss="logistic", rule="one_standard_error")
    whole = iris()
    table = dataclasses.replace(whole, X=whole.X[::2], y=whole.y[::2])
    facts = study(table, tmp_path, settings)
    assert [one.name for one in facts.verdict.each] == ["setosa", "versicolor", "virginica"]
    assert [one.kind for one in facts.verdict.each][:2] == ["separable", "overlapping"]
    assert facts.machine.n_machines == 1  # all classes at once
    assert len(facts.features) == len(facts.curves) == len(facts.calibration) == 3
    assert facts.bounds == ()
    assert facts.verdict.each[1].witness


class Interrupted(Exception):
    pass


def stopped_after(count):
    """Return a progress that ends the study once so many folds are finished."""

    def progress(what, done, total):
        if what.startswith("path") and done >= count:
            raise Interrupted

    return progress


@pytest.mark.parametrize("stops", [[1], [2, 4], [5]])
def test_a_study_goes_on_where_it_was(calm_study, tmp_path, stops):
    _, calm = calm_study
    before = 0
    for stop in stops:
        with pytest.raises(Interrupted):
            study(two_irises(), tmp_path, QUICK, progress=stopped_after(stop))
        kept = len(list(tmp_path.glob(".work/*/cell_*")))
        assert kept >= stop > before
        before = stop
    again = Study(two_irises(), tmp_path, QUICK)
    again.run()
    assert again.journal.before >= stops[-1]
    for name in OUTPUTS:
        assert (tmp_path / name).read_bytes() == (calm / name).read_bytes(), name
    assert not list(tmp_path.rglob("*.part"))


def test_every_later_step_is_kept_too(calm_study, tmp_path, monkeypatch):
    _, calm = calm_study

    def fails(*arguments, **settings):
        raise Interrupted

    monkeypatch.setattr("separatrix.report.study_facts.margins_of", fails)
    with pytest.raises(Interrupted):
        study(two_irises(), tmp_path, QUICK)
    monkeypatch.undo()
    monkeypatch.setattr("separatrix.report.page.render_report", Facts.to_json)
    monkeypatch.setattr("separatrix.report.study.verdict_within", fails)
    monkeypatch.setattr("separatrix.report.study.chosen_machine", fails)
    monkeypatch.setattr("separatrix.selection.sealed_test.result_of", fails)
    study(two_irises(), tmp_path, QUICK)
    for name in OUTPUTS:
        assert (tmp_path / name).read_bytes() == (calm / name).read_bytes(), name


def test_damaged_and_half_files_are_made_again(calm_study, tmp_path):
    _, calm = calm_study
    with pytest.raises(Interrupted):
        study(two_irises(), tmp_path, QUICK, progress=stopped_after(4))
    cells = sorted(tmp_path.glob(".work/*/cell_*"))
    cells[0].write_bytes(cells[0].read_bytes()[:-1])
    cells[1].with_name("cell_x.part").write_bytes(b"half")
    (tmp_path / "report.html.part").write_bytes(b"half")
    study(two_irises(), tmp_path, QUICK)
    for name in OUTPUTS:
        assert (tmp_path / name).read_bytes() == (calm / name).read_bytes(), name
    assert not list(tmp_path.rglob("*.part"))


def test_other_settings_start_afresh(tmp_path):
    with pytest.raises(Interrupted):
        study(two_irises(), tmp_path, QUICK, progress=stopped_after(3))
    other = Study(two_irises(), tmp_path, dataclasses.replace(QUICK, folds=2))
    other.run()
    assert other.journal.before == 0
    assert [path.name for path in (tmp_path / ".work").iterdir()] == ["seals"]


def test_an_opened_test_is_not_opened_for_another_model(calm_study, tmp_path):
    settings = dataclasses.replace(QUICK, Cs=(0.1,))
    first = study(two_irises(), tmp_path, settings)
    assert study(two_irises(), tmp_path, settings) == first
    with pytest.raises(sx.ContaminatedTestError, match="another --seed"):
        study(two_irises(), tmp_path, dataclasses.replace(settings, loss="logistic"))
    assert study(two_irises(), tmp_path, dataclasses.replace(settings, seed=1)).split.seed == 1


def test_two_studies_do_not_share_a_folder(tmp_path):
    with alone_in(tmp_path), pytest.raises(Busy, match="another study is at work"):
        study(iris(), tmp_path, QUICK)


def test_one_class_against_the_others_and_rows_in_order_of_time(tmp_path):
    table = iris()
    order = np.random.default_rng(0).permutation(len(table.y))[:60]
    table = dataclasses.replace(table, X=table.X[order], y=table.y[order])
    settings = dataclasses.replace(QUICK, positive="virginica", by_time=True, balanced=True)
    facts = study(table, tmp_path, settings)
    assert [part.name for part in facts.data.classes] == ["not virginica", "virginica"]
    assert {row.row for row in facts.mistakes} <= set(range(48, 60))
    assert facts.split.seed is None
    with pytest.raises(sx.DataError, match="no class 'rose'"):
        study(table, tmp_path, dataclasses.replace(QUICK, positive="rose"))


def test_texts_are_quoted_and_folders_are_not_told(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = ["fine", "good", "great", "bad", "poor", "dull"]
    lines = []
    for k in range(40):
        chosen = rng.choice(words[:4] if k % 2 else words[2:], 5)
        lines.append(f"<b>{' '.join(chosen)}</b> number {k}\t{k % 2}")
    (tmp_path / "reviews.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.undo()
    facts = study(sx.read(tmp_path / "reviews.txt"), tmp_path / "out", QUICK)
    assert facts.data.source == "reviews.txt"
    assert all(one.excerpt.startswith("<b>") for one in facts.support)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<b>good" not in page
    assert "<script" not in page
    assert page.rstrip().endswith("</html>")
    assert str(tmp_path) not in page + (tmp_path / "out" / "study.json").read_text()


def test_where_coefficients_run_is_told_of_two_classes_alone():
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    assert bounded.verdict_within(X, y, 60.0).infinite.tolist() == [-np.inf, np.inf]
    assert bounded.verdict_within(X, y, 60.0, problems=3).infinite is None


@pytest.mark.long
def test_a_verdict_that_takes_too_long_is_bounded(monkeypatch):
    X, codes = load_iris(return_X_y=True)
    X, y = X[50:], codes[50:]
    whole = sx.separability(X, y)
    monkeypatch.setattr(bounded, "_QUICK_ENTRIES", 10)
    told = bounded.verdict_within(X, y, 300.0)
    assert told.kind == whole.kind == "overlapping"
    assert told.check(X, y)
    short = bounded.verdict_within(X, y, 0.01)
    assert short.kind == "undecided"
    assert short.witness is not None
    assert "ended when its time was over" in str(short)
    assert sx.Verdict.from_json(short.to_json()).witness == short.witness


def test_a_verdict_out_of_time_is_told_as_far_as_it_is_proved(tmp_path, monkeypatch):
    whole = iris()
    rows = np.flatnonzero(whole.y != "setosa")
    table = dataclasses.replace(whole, X=whole.X[rows][:, :2], y=whole.y[rows])
    monkeypatch.setattr(bounded, "_QUICK_ENTRIES", 10)
    facts = study(table, tmp_path, dataclasses.replace(QUICK, verdict_seconds=0.0))
    assert facts.verdict.kind == "undecided"
    assert facts.verdict.checked is None
    assert facts.verdict.sentence.startswith("Not separable;")
    assert headings(facts)["separation"] == "No hyperplane can separate the classes"


def test_facts_that_are_not_finite_come_back(tmp_path):
    journal = Journal(tmp_path, "key")
    facts = {"margin": float("inf"), "C": 0.1, "status": "optimal", "gap": np.float64(1e-5)}
    journal.put(("0x1", 0), facts, {"weights": np.ones((1, 2))})
    again, arrays = journal.get(("0x1", 0))
    assert again == facts
    assert arrays["weights"].tolist() == [[1.0, 1.0]]
    assert journal.get(("0x1", 1)) is None
    (journal.mine / "cell_0x2_0.part").write_bytes(b"half")
    assert journal.kept == 1
    assert Journal(tmp_path, "key").before == 1


def test_quick_folds_wait_in_memory_until_they_are_worth_writing(tmp_path):
    journal = Journal(tmp_path, "key")
    facts = {"C": 0.1, "seconds": 0.03}
    for fold in range(66):
        journal.put(("0x1", fold), facts, {"weights": np.full((1, 2), fold)})
    assert (journal.kept, Journal(tmp_path, "key").before) == (66, 0)
    again, arrays = journal.get(("0x1", 7))
    assert (again, arrays["weights"].tolist()) == (facts, [[7.0, 7.0]])
    journal.put(("0x1", 66), facts, {"weights": np.ones((1, 2))})  # two seconds together
    assert (journal.kept, Journal(tmp_path, "key").before) == (67, 67)
    journal.put(("0x1", 67), facts, {"weights": np.ones((1, 2))})
    journal.settle()
    assert Journal(tmp_path, "key").before == 68
    again, arrays = Journal(tmp_path, "key").get(("0x1", 7))
    assert (again, arrays["weights"].tolist()) == (facts, [[7.0, 7.0]])


def test_classes_with_fewer_rows_than_folds_are_noted_once(tmp_path):
    whole = two_irises()
    rows = np.append(
        np.flatnonzero(whole.y == "versicolor"), np.flatnonzero(whole.y != "versicolor")[:3]
    )
    table = dataclasses.replace(whole, X=whole.X[rows], y=whole.y[rows])
    facts = study(table, tmp_path / "study", QUICK)
    assert facts.path.reason.count("folds are more than these classes have rows") == 1
