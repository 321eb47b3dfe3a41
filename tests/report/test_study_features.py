"""A study that learns features: proved, applied later, resumed, and refused when altered."""

import dataclasses
import json
import re

import numpy as np
import pytest

import separatrix as sx
from separatrix.certificates.duality_gap import DualityGap
from separatrix.checker import Refused
from separatrix.data.encodings.column_features import COLUMN_FEATURES
from separatrix.data.lectures import iris
from separatrix.data.row_blocks import row_blocks
from separatrix.data.table import encoding_from_dict
from separatrix.report.conclusions import FEATURES, answer
from separatrix.report.study import Settings, Study, study
from separatrix.report.study_proof import STUDY_FORMAT, prove_study
from separatrix.storage.certificate_files import prove_again
from separatrix.storage.model_file import read_model, save_whole
from tests.cli.command import separatrix as run

KEPT = "costs", "loss", "intercept", "bias_penalty", "ridge", "positive", "data_sha256", "classes"
AUTO = Settings(features="auto", folds=3, times=False)


pytestmark = pytest.mark.usefixtures("plain_page")


@pytest.fixture(scope="module")
def table_file(tmp_path_factory):
    """Skewed numbers, gaps, and a category that only a few rows have."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("data") / "t.csv"
    lines = ["x,y,kind,class"]
    for k in range(150):
        z = rng.normal(size=2)
        y = "" if k % 11 == 0 else f"{z[1]:.4f}"
        kind = "rare" if k % 50 == 3 else "uv"[k % 2]
        label = "yes" if z[0] - z[1] + 0.3 * rng.normal() > 0 else "no"
        lines.append(f"{np.exp(3 * z[0]):.6g},{y},{kind},{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def text_file(tmp_path_factory):
    rng = np.random.default_rng(6)
    path = tmp_path_factory.mktemp("data") / "t.tsv"
    words = {"good": ["fine", "great", "!"], "bad": ["poor", "dull", "?"]}
    lines = []
    for k in range(80):
        label = ("good", "bad")[k % 2]
        own = rng.choice(words[label], 2)
        lines.append(f"{' '.join([*own, *rng.choice(['the', 'film', 'was', 'a'], 4)])}\t{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", ["table", "text"])
def test_model_and_certificate_are_proved_from_the_file(kind, table_file, text_file, tmp_path):
    file = table_file if kind == "table" else text_file
    facts = study(sx.read(file), tmp_path, AUTO)
    assert sum(each.chosen for each in facts.candidates) == 1
    assert {each.features for each in facts.candidates} == (
        {"standard", "raw", "ranks", "splines"}
        if kind == "table"
        else {"characters", "joined", "ratios"}
    )
    assert facts.machine.checked
    for name in ("model.sx", "certificate.json"):
        done = run("verify", tmp_path / name, file)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("proved")


def test_later_data_get_the_features_of_training(table_file, tmp_path):
    facts = study(sx.read(table_file), tmp_path, AUTO)
    whole = read_model(tmp_path / "model.sx")
    table = sx.read(table_file)
    parts = sx.split(table.y, test=0.2, seed=0)
    predicted = np.concatenate(
        [whole.model.predict(block.X) for block in row_blocks(table_file, whole.encoding, size=500)]
    )
    assert (predicted != table.y)[parts.test].sum() == facts.test.errors
    done = run("predict", "-m", tmp_path / "model.sx", table_file)
    lines = [line.split(",")[0] for line in done.stdout.splitlines()[1:]]
    assert lines == predicted.tolist()


def test_an_altered_scale_is_refused(table_file, tmp_path):
    study(sx.read(table_file), tmp_path, Settings(features="standard", folds=3))
    whole = json.loads((tmp_path / "certificate.json").read_text())
    whole["encoding"]["scale"][0] *= 1.5
    (tmp_path / "other.json").write_text(json.dumps(whole))
    done = run("verify", tmp_path / "other.json", table_file)
    assert done.returncode == 1
    assert done.stdout.startswith("refused")


@pytest.mark.parametrize("part", ["a knot beyond the rows", "a median that no row needs"])
def test_what_does_not_show_in_the_rows_of_training_is_refused_too(part, table_file, tmp_path):
    study(sx.read(table_file), tmp_path, Settings(features="ranks", folds=3))
    whole = read_model(tmp_path / "model.sx")
    plain = whole.encoding.to_dict()
    if part == "a knot beyond the rows":
        _, knots, heights = plain["ranks"][0]
        knots.append(2 * knots[-1])
        heights.append(-9.0)
    else:
        code = plain["inner"]["columns"][0]
        assert not code["indicator"]
        code["median"] += 1.0
    forged = dataclasses.replace(whole, encoding=encoding_from_dict(plain))
    save_whole(forged, tmp_path / "forged.sx")
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    (tmp_path / "forged.json").write_text(json.dumps(certificate | {"encoding": plain}))
    for name in ("forged.sx", "forged.json"):
        done = run("verify", tmp_path / name, table_file)
        assert done.returncode == 1, done.stdout
        assert "learned from these data" in done.stdout


def test_no_note_says_that_test_rows_taught_the_encoding(table_file, tmp_path):
    notes = study(sx.read(table_file), tmp_path, AUTO).data.notes
    assert not any("learned on all rows" in note for note in notes)


def test_interrupted_anywhere_it_ends_with_the_same_bytes(table_file, tmp_path):
    study(sx.read(table_file), tmp_path / "whole", AUTO)

    class Ended(Exception):
        pass

    def end_after(cells):
        seen = []

        def progress(what, done, total):
            seen.append(what)
            if len(seen) > cells:
                raise Ended

        return progress

    for cells in (10, 40, 70):
        with pytest.raises(Ended):
            Study(sx.read(table_file), tmp_path / "cut", AUTO, (), end_after(cells)).run()
    study(sx.read(table_file), tmp_path / "cut", AUTO)
    for name in ("study.json", "model.sx", "certificate.json", "path.csv"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_values_of_C_rule_and_time_are_kept_to(table_file, tmp_path):
    table = sx.read(table_file)
    given = study(table, tmp_path / "given", dataclasses.replace(AUTO, Cs=(0.5, 2.0)))
    assert {row.C for row in given.path.rows} == {0.5, 2.0}
    assert {each.C for each in given.candidates} <= {0.5, 2.0}
    few = study(table, tmp_path / "few", dataclasses.replace(AUTO, Cs=2))
    assert len(few.path.rows) <= 3
    stiff = study(table, tmp_path / "stiff", dataclasses.replace(AUTO, rule="one_standard_error"))
    best = study(table, tmp_path / "best", AUTO)
    stiffest, softest = (min(each.C for each in one.candidates) for one in (stiff, best))
    assert stiffest <= softest
    short = study(table, tmp_path / "short", dataclasses.replace(AUTO, max_seconds=1e-9))
    assert len(short.candidates) == 1


def test_features_of_other_data_are_refused(table_file, text_file, tmp_path):
    for file, features in ((table_file, "words"), (text_file, "standard")):
        with pytest.raises(sx.DataError, match="must be one of raw"):
            study(sx.read(file), tmp_path, Settings(features=features, folds=3))


def test_columns_without_an_encoding_keep_their_names(tmp_path):
    facts = study(iris(), tmp_path, Settings(features="ranks", folds=3))
    names = {feature.name for part in facts.features for feature in part.features}
    assert "petal width, cm" in names
    assert "rank of petal width, cm" in names


def test_a_study_of_splines_is_proved_and_says_what_they_are(table_file, tmp_path):
    facts = study(sx.read(table_file), tmp_path, Settings(features="splines", folds=3))
    assert facts.machine.checked
    names = [feature.name for part in facts.features for feature in part.features]
    assert any(re.search(r" from \S+ to \S+$", name) for name in names)
    assert set(COLUMN_FEATURES) <= set(FEATURES)  # the words of the leaderboard
    assert "of curves, one for each feature, tell" in answer(facts)
    for name in ("model.sx", "certificate.json"):
        assert run("verify", tmp_path / name, table_file).stdout.startswith("proved")


def test_a_spline_whose_knot_was_moved_is_refused(table_file, tmp_path):
    study(sx.read(table_file), tmp_path, Settings(features="splines", folds=3))
    whole = json.loads((tmp_path / "certificate.json").read_text())
    part = whole["encoding"]["splines"][-1]
    part[1][1] *= 2.0  # beyond the rows
    (tmp_path / "other.json").write_text(json.dumps(whole))
    done = run("verify", tmp_path / "other.json", table_file)
    assert done.returncode == 1
    assert "how columns become features is not learned from these data" in done.stdout


def test_three_classes_take_the_multinomial_model_where_it_is_better(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 3)) + 2.5 * np.eye(3)[y]
    rows = [",".join([*map(repr, row), f"c{k}"]) for row, k in zip(X.tolist(), y, strict=True)]
    path = tmp_path / "three.csv"
    path.write_text("a,b,c,class\n" + "\n".join(rows) + "\n")
    facts = study(sx.read(path), tmp_path / "auto", AUTO)
    assert {each.loss for each in facts.candidates} == {"squared_hinge", "hinge", "logistic"}
    logistic = Settings(features="standard", loss="logistic", folds=3)
    assert study(sx.read(path), tmp_path / "log", logistic).machine.name == "LogisticRegression"
    done = run("verify", tmp_path / "log" / "model.sx", path)
    assert done.returncode == 0, done.stderr


def test_a_curve_is_tried_where_it_is_allowed(tmp_path):
    """Two rings: no hyperplane in the columns helps, products of them do."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), []
    y = np.where((X**2).sum(axis=1) > 1.4, "out", "in")
    file = tmp_path / "rings.csv"
    rows = [f"{a:.6f},{b:.6f},{label}" for (a, b), label in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,class", *rows]) + "\n")
    settings = dataclasses.replace(AUTO, lift="auto")
    facts = study(sx.read(file), tmp_path / "out", settings)
    chosen = next(each for each in facts.candidates if each.chosen)
    assert chosen.features == "products"
    assert facts.test.rate < 0.1
    products, cosines = facts.curve_gains
    assert products.startswith("Products of columns have an error of")
    assert cosines.startswith("Random cosines have an error of")
    assert "the curved boundary gains" in products
    for name in ("model.sx", "certificate.json"):
        assert run("verify", tmp_path / "out" / name, file).returncode == 0
    assert run("predict", "-m", tmp_path / "out" / "model.sx", file).returncode == 0
    plain = study(sx.read(file), tmp_path / "plain", AUTO)
    assert "products" not in {each.features for each in plain.candidates}


def test_cosines_and_a_kernel_bend_the_boundary_where_products_cannot(tmp_path):
    """A checkerboard of six by six: only cosines and the kernel follow it."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-3.0, 3.0, size=(500, 2))
    labels = np.where(np.floor(X / 2.0).sum(axis=1) % 2 == 0, "even", "odd")
    file = tmp_path / "board.csv"
    rows = [f"{a:.6f},{b:.6f},{label}" for (a, b), label in zip(X, labels, strict=True)]
    file.write_text("\n".join(["a,b,class", *rows]) + "\n")
    settings = dataclasses.replace(AUTO, lift="auto", kernel="auto", loss="squared_hinge")
    facts = study(sx.read(file), tmp_path / "out", settings)
    chosen = next(each for each in facts.candidates if each.chosen)
    assert chosen.features in ("cosines", "fine-cosines")
    assert facts.test.rate < 0.15
    kernel = next(each for each in facts.candidates if each.features == "kernel")
    assert kernel.error < 0.15
    assert kernel.gamma > 0.0
    said = next(gain for gain in facts.curve_gains if gain.startswith("An RBF kernel"))
    low = float(said.split("95 %: ")[1].split(" to ")[0])
    assert low > 10.0
    for name in ("model.sx", "certificate.json"):
        assert run("verify", tmp_path / "out" / name, file).returncode == 0
    whole = json.loads((tmp_path / "out" / "certificate.json").read_text())
    whole["encoding"]["cosines"][2] *= 1.5
    (tmp_path / "other.json").write_text(json.dumps(whole))
    done = run("verify", tmp_path / "other.json", file)
    assert (done.returncode, done.stdout[:7]) == (1, "refused")


def test_texts_with_the_same_words_in_another_order_are_not_repeated(tmp_path):
    rng = np.random.default_rng(1)
    lines = []
    for k in range(60):
        words = ["fine" if k % 2 else "poor", f"a{k // 4}", f"b{k // 4}", "film"]
        lines.append(f"{' '.join(rng.permutation(words))} {k}\t{'good' if k % 2 else 'bad'}")
    texts = [line.rsplit(" ", 1)[0] for line in lines]
    file = tmp_path / "t.tsv"
    file.write_text("\n".join(line.replace(f" {k}\t", "\t") for k, line in enumerate(lines)))
    facts = study(sx.read(file), tmp_path / "out", dataclasses.replace(AUTO, features="words"))
    parts = sx.split(sx.read(file).y, test=0.2, seed=0)
    trained = {texts[row] for row in parts.train}
    assert facts.test.duplicates == sum(texts[row] in trained for row in parts.test)


@pytest.mark.parametrize("change", ["fewer", "copies"])
def test_a_certificate_of_three_classes_needs_a_model_for_each(change, tmp_path):
    study(iris(), tmp_path, Settings(features="standard", loss="squared_hinge", folds=3))
    whole = json.loads((tmp_path / "certificate.json").read_text())
    table = iris()
    encoding = encoding_from_dict(whole["encoding"])
    features = encoding.columns.apply(table.X)
    assert prove_study(whole, table.X, table.y, features)
    first = whole["machine"][0]
    whole["machine"] = [first] if change == "fewer" else [first] * 3
    with pytest.raises(Refused, match="a model for each class"):
        prove_study(whole, table.X, table.y, features)


@pytest.mark.parametrize("weights", [None, "balanced"])
def test_of_several_models_the_one_farthest_from_its_best_is_told(weights, tmp_path):
    """The sentence of the first was printed for all, whatever the others were."""
    rng, labels = np.random.default_rng(3), np.repeat(list("klm"), [20, 30, 40])
    X = rng.normal(size=(90, 2)) + np.unique(labels, return_inverse=True)[1][:, None]
    model = sx.LinearSVM(class_weight=weights).fit(X, labels)
    verdicts = [sx.separability(X, np.where(labels == name, 1, 0)) for name in "klm"]
    whole = {
        "format": STUDY_FORMAT, "training_rows": list(range(90)), "positive": None,
        "verdict": [json.loads(each.to_json()) for each in verdicts],
        "machine": [json.loads(each.to_json()) for each in model.certificate_.machines],
    }  # fmt: skip
    said = prove_study(whole, X, labels)
    assert "3 models, of which the farthest from its best: no hyperplane lowers" in said
    loose = [*model.certificate_.machines]
    loose[2] = DualityGap.proved(
        X, np.where(labels == "m", 1.0, -1.0), weights=np.array([5.0, -40.0, 70.0]),
        multipliers=np.zeros(90), tol=1e-4,
        **{name: getattr(loose[2], name) for name in KEPT},
    )  # fmt: skip
    whole["machine"][2] = json.loads(loose[2].to_json())
    assert prove_again(whole["machine"][2], X, labels) in prove_study(whole, X, labels)
    other = sx.LinearSVM(C=3.0, class_weight=weights).fit(X, labels).certificate_.machines[1]
    whole["machine"][1] = json.loads(other.to_json())
    with pytest.raises(Refused, match="costs of the models must be the same"):
        prove_study(whole, X, labels)


@pytest.mark.parametrize(
    ("target", "drop", "words"),
    [
        ("kind", ["x", "y"], "the target of the encoding"),
        ("class", ["x"], "leaves out columns"),
    ],
)
def test_an_encoding_takes_the_columns_of_the_data_and_not_the_target(
    target, drop, words, table_file, tmp_path
):
    """The target was a feature of the model, and no row was an error."""
    study(sx.read(table_file), tmp_path, Settings(features="standard", folds=3))
    whole, labels = json.loads((tmp_path / "certificate.json").read_text()), sx.read(table_file).y
    rows = np.array(whole["training_rows"])
    forged = sx.read(table_file, target, drop=drop)
    model = sx.LogisticRegression().fit(forged.X[rows], labels[rows])
    whole["encoding"] = forged.encoding.to_dict()
    whole["machine"] = [json.loads(model.certificate_.to_json())]
    (tmp_path / "other.json").write_text(json.dumps(whole))
    done = run("verify", tmp_path / "other.json", table_file)
    assert (done.returncode, words in done.stdout) == (1, True), done.stdout
