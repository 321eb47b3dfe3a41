"""A study whose model has sparse weights: proved, applied, exported, resumed, explained."""

import dataclasses
import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.report.page import render_report
from separatrix.report.study import Settings, Study, study
from separatrix.storage.model_file import read_model
from tests.cli.command import separatrix as run

pytestmark = pytest.mark.usefixtures("plain_page")

AUTO = Settings(folds=3, times=False)


def few_of_many(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(60, 60))
    return X, np.where(X[:, 0] - X[:, 1] + X[:, 2] + rng.normal(size=60) > 0, "yes", "no")


@pytest.fixture(scope="module")
def wide_file(tmp_path_factory):
    """Sixty rows, sixty columns, of which three tell the class; small integers are proved soon."""
    X, y = few_of_many(3)
    path = tmp_path_factory.mktemp("data") / "wide.csv"
    names = ",".join([*(f"g{j}" for j in range(60)), "class"])
    rows = [",".join([*map(str, row), k]) for row, k in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join([names, *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def done(wide_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    return study(sx.read(wide_file), folder, AUTO), folder


def chosen_of(facts):
    return next(each for each in facts.candidates if each.chosen)


def test_the_lasso_is_chosen_and_its_zeros_are_told(done):
    facts, folder = done
    chosen = chosen_of(facts)
    assert (chosen.l1_ratio, chosen.model) == (1.0, "logistic, lasso")
    assert facts.machine.checked
    assert facts.machine.penalty == "lasso"
    (group,) = facts.features
    model = read_model(folder / "model.sx").model
    zeros = model.certificate_.zeros
    assert group.n_proved_zero == len(zeros) > 20
    assert group.proved_zero == tuple(f"g{j}" for j in zeros.tolist())
    assert {"g0", "g1", "g2"}.isdisjoint(group.proved_zero)
    assert facts.replay is None
    page = render_report(facts)
    assert f"<b>{len(zeros)} of 60 features play no part</b>" in page
    assert "standardised columns, logistic, lasso" in page
    assert f"{chosen.n_nonzero} of 60" in page


def test_files_are_proved_and_applied(done, wide_file, tmp_path):
    facts, folder = done
    for name in ("model.sx", "certificate.json"):
        proved = run("verify", folder / name, wide_file)
        assert proved.returncode == 0, proved.stderr
        assert "zero in every optimal one" in proved.stdout
    table = sx.read(wide_file)
    parts = sx.split(table.y, test=0.2, seed=0)
    said = run("predict", folder / "model.sx", wide_file)
    labels = np.array([line.split(",")[0] for line in said.stdout.splitlines()[1:]])
    assert (labels != table.y)[parts.test].sum() == facts.test.errors
    written = run("export", folder / "model.sx", "--to", "csv", "-o", tmp_path / "weights.csv")
    assert written.returncode == 0, written.stderr


def test_a_column_too_many_is_refused(done, wide_file, tmp_path):
    whole = json.loads((done[1] / "certificate.json").read_text())
    (claim,) = (machine["claim"] for machine in whole["machine"])
    weights = [float.fromhex(w) if isinstance(w, str) else w for w in claim["weights"][1:]]
    used = int(np.argmin([abs(w) or np.inf for w in weights]))
    claim["zeros"] = sorted([*claim["zeros"], used])
    (tmp_path / "forged.json").write_text(json.dumps(whole))
    refused = run("verify", tmp_path / "forged.json", wide_file)
    assert refused.returncode == 1


def test_interrupted_it_ends_with_the_same_bytes(done, wide_file, tmp_path):
    class Ended(Exception):
        pass

    def end_in(lasso_cells):
        seen = []

        def progress(what, done, total):
            seen.extend([what] if "lasso" in what else [])
            if len(seen) > lasso_cells:
                raise Ended

        return progress

    for cells in (0, 20):
        with pytest.raises(Ended):
            Study(sx.read(wide_file), tmp_path, AUTO, (), end_in(cells)).run()
    study(sx.read(wide_file), tmp_path, AUTO)
    for name in ("study.json", "model.sx", "certificate.json", "path.csv"):
        assert (tmp_path / name).read_bytes() == (done[1] / name).read_bytes()


def test_the_option_fixes_the_choice(wide_file, tmp_path):
    table = sx.read(wide_file)
    half = study(table, tmp_path / "a", dataclasses.replace(AUTO, l1=0.5))
    assert {each.l1_ratio for each in half.candidates} == {0.5}
    none = study(table, tmp_path / "b", dataclasses.replace(AUTO, l1=0.0))
    assert {each.l1_ratio for each in none.candidates} == {0.0}
    refused = run("study", wide_file, "--l1", "1", "--loss", "hinge", "-o", tmp_path / "c")
    assert refused.returncode == 2
    printed = run("study", wide_file, "--l1", "1", "--folds", "3", "-o", tmp_path / "d").stdout
    assert "standard logistic lasso" in printed
    assert "features have the weight 0, proved: g" in printed


def test_settings_that_contradict_sparse_weights_are_refused():
    with pytest.raises(ValueError, match="Got loss='hinge'"):
        Settings(l1=1.0, loss="hinge")
    with pytest.raises(ValueError, match="device='cpu'"):
        Settings(l1=1.0, device="cuda")
    with pytest.raises(ValueError, match="from 0 to 1"):
        Settings(l1=1.5)


@pytest.mark.parametrize("loss", ["auto", "squared_hinge"])
def test_columns_as_read_take_the_option_too(loss, wide_file, tmp_path):
    settings = dataclasses.replace(AUTO, features="raw", l1=1.0, loss=loss, scoring="balanced")
    facts = study(sx.read(wide_file), tmp_path, settings)
    chosen = chosen_of(facts)
    assert (chosen.l1_ratio, chosen.features) == (1.0, "raw")
    assert 0 < chosen.n_nonzero < 60
    proved = run("verify", tmp_path / "certificate.json", wide_file)
    assert proved.returncode == 0, proved.stderr


def test_a_bound_on_false_alarms_is_proved_of_sparse_weights(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 0, "yes", "no")
    file = tmp_path / "t.csv"
    rows = [",".join([*(f"{v:.4f}" for v in row), k]) for row, k in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,c,d,e,f,class", *rows]) + "\n")
    settings = dataclasses.replace(AUTO, l1=1.0, features="standard", at_most_false_alarms=0.1)
    study(sx.read(file), tmp_path / "out", settings)
    proved = run("verify", tmp_path / "out" / "certificate.json", file)
    assert proved.returncode == 0, proved.stdout + proved.stderr
    assert "of the other class are called yes" in proved.stdout


def test_three_classes_from_python(tmp_path):
    rng = np.random.default_rng(5)
    y = np.arange(45) % 3
    X = rng.integers(-2, 3, size=(45, 40))
    X[:, :3] += 4 * np.eye(3, dtype=int)[y]
    done = sx.Study(X, y, folds=3, l1=1.0, features="standard").run(tmp_path)
    assert len(done.facts_.features) == 3
    for group in done.facts_.features:
        assert group.n_proved_zero > 20
        assert {"x0", "x1", "x2"}.isdisjoint(group.proved_zero)
    assert "of 40" in repr(done.leaderboard_)
    assert done.model_.certificate_.kind == "sparse-softmax-gap"
    assert done.model_.certificate_.check(*_features(done, X, y))


def _features(done, X, y):
    rows = json.loads((done.folder_ / "certificate.json").read_text())["training_rows"]
    return done.model_.features_of(X)[rows], y[rows]


def test_a_path_in_features_of_each_fold_has_sparse_weights_too(wide_file, tmp_path):
    drawn = tmp_path / "weights.svg"
    given = ("--features", "standard", "--l1", "1", "--Cs", "4", "--folds", "3")
    said = run("path", wide_file, *given, "--coefficients", drawn)
    assert said.returncode == 0, said.stderr
    assert "nonzero" in said.stdout
    assert "standard, logistic, lasso: C = " in said.stdout
    assert drawn.read_text().startswith("<?xml")
