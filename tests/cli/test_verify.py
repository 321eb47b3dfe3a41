"""``separatrix verify`` and ``info`` on certificates and model files of every kind."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.checker import NO_INTERCEPT
from separatrix.checker.__main__ import main as check_alone
from separatrix.problem.kernels import Kernel
from tests.cli.command import separatrix as run
from tests.kernel_direct import claimed, of_linear_machine


@pytest.fixture(scope="module")
def irises(tmp_path_factory):
    iris = load_iris()
    lines = ["a,b,c,d,species"]
    for row, kind in zip(iris.data, iris.target, strict=True):
        lines.append(",".join([*map(str, row), str(iris.target_names[kind])]))
    path = tmp_path_factory.mktemp("data") / "iris.csv"
    path.write_text("\n".join(lines) + "\n")
    other = path.with_name("other.csv")
    other.write_text(path.read_text().replace("5.1,3.5", "5.1,3.6", 1))
    return path, other


@pytest.mark.parametrize(
    "model",
    [
        sx.LinearSVM(multi_class="direct"),
        sx.KernelSVM(),
        sx.OneVsOne(sx.LinearSVM()),
        sx.LeastSquares(),
        sx.SGD(max_passes=5),
        make_pipeline(StandardScaler(), sx.lift.Polynomial(2), sx.LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_of_any_kind_is_proved_again(irises, tmp_path, model):
    data, other = irises
    table = sx.read(data, target="species")
    path = tmp_path / "model.sx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sx.save(model.fit(table.X, table.y), path, table=table)
    proved = run("verify", path, data)
    assert proved.returncode == 0, proved.stderr
    assert proved.stdout.startswith("proved: ")
    assert run("verify", path, other).returncode == 1
    ran = run("info", path)
    assert ran.returncode == 0
    assert "4 features; classes setosa, versicolor, virginica" in ran.stdout
    assert "trained on iris.csv" in ran.stdout
    if type(model).__name__ == "LinearSVM":
        assert "towards virginica:" in ran.stdout
        assert "a unit of c, " in ran.stdout
        assert "a standard deviation" in ran.stdout
    facts = json.loads(run("info", path, "--json").stdout)
    assert facts["classes"] == ["setosa", "versicolor", "virginica"]
    assert facts["about"]["data_sha256"] == table.sha256


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (sx.LinearSVM(multi_class="direct"), "multiclass-gap"),
        (sx.KernelSVM(), "kernel-gap"),
        (sx.ZeroOne(), "errors"),
        (sx.LinearSVM(), "duality-gap"),
        (sx.SGD(max_passes=5), "scaled-gap"),
    ],
)
def test_a_certificate_of_any_kind_is_proved_again(irises, tmp_path, model, kind):
    data, other = irises
    positive = [] if kind == "multiclass-gap" else ["--positive", "setosa"]
    table = sx.read(data, target="species")
    labels = table.y if not positive else (table.y == "setosa").astype(int)
    path = tmp_path / "proof.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path.write_text(model.fit(table.X, labels).certificate_.to_json())
    assert json.loads(path.read_text())["kind"] == kind
    proved = run("verify", path, data, "--target", "species", *positive)
    assert proved.returncode == 0, proved.stderr
    assert run("verify", path, other, "--target", "species", *positive).returncode == 1
    whole = json.loads(path.read_text())
    vital = ("weights", "exponents", "rows")
    missing = next(name for name in vital if name in whole["claim"])
    del whole["claim"][missing]
    path.write_text(json.dumps(whole))
    refused = run("verify", path, data, "--target", "species", *positive)
    assert refused.returncode == 1
    assert missing in refused.stdout


def test_a_direct_machine_with_a_kernel_is_proved_again(irises, tmp_path):
    data, other = irises
    table = sx.read(data, target="species")
    codes, costs = np.unique(table.y, return_inverse=True)[1], np.ones(len(table.y))
    multipliers, biases = of_linear_machine(table.X, codes, costs)
    proof = claimed(Kernel("rbf", 0.5), table.X, codes, 3, costs, multipliers, biases)
    proof = replace(proof, classes=tuple(str(name) for name in table.classes))
    path = tmp_path / "proof.json"
    path.write_text(proof.to_json())
    proved = run("verify", path, data, "--target", "species")
    assert proved.returncode == 0, proved.stderr
    assert proved.stdout.startswith("proved: no model of 3 weight vectors with this kernel")
    assert run("verify", path, other, "--target", "species").returncode == 1


def test_a_model_of_arrays_has_no_data_file(tmp_path):
    path = tmp_path / "model.sx"
    sx.save(sx.Fisher(direction="means").fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]), path)
    ran = run("info", path)
    assert "no proof" in ran.stdout
    assert "trained on arrays" in ran.stdout
    path.write_bytes(path.read_bytes()[:-1])
    assert run("info", path).returncode == 3


@pytest.fixture
def pair(irises, tmp_path):
    """Two species, as a file, with a certificate and a verdict on them."""
    data, _ = irises
    lines = data.read_text().splitlines()
    path = tmp_path / "pair.csv"
    path.write_text("\n".join([lines[0], *lines[51:]]) + "\n")
    table = sx.read(path, target="species")
    return path, sx.separability(table.X, table.y)


def verified(whole, data, tmp_path):
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(whole))
    return run("verify", path, data, "--target", "species")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes", ["virginica", "versicolor"]),
        ("classes", ["a", "b"]),
        ("classes", ["versicolor"]),
        ("rows", 999999),
        ("rows", 100.0),
        ("features", 5),
        ("features", float("inf")),
        ("sha256", ""),
        ("sha256", "0" * 64),
    ],
)
@pytest.mark.parametrize("separable", [True, False])
def test_what_a_certificate_says_of_its_data_is_compared(pair, tmp_path, name, value, separable):
    data, verdict = pair
    if separable:
        lines = data.read_text().splitlines()
        data.write_text("\n".join(lines[:40] + lines[-4:-2]) + "\n")
        table = sx.read(data, target="species")
        verdict = sx.separability(table.X, table.y)
    assert verdict.kind == ("separable" if separable else "overlapping")
    whole = json.loads(verdict.certificate.to_json())
    assert verified(whole, data, tmp_path).returncode == 0
    whole["data"][name] = value
    ran = verified(whole, data, tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.startswith("refused: ")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sentence", lambda value: "Separable: all is well."),
        ("classes", lambda value: value[::-1]),
        ("rows", lambda value: value + 1),
        ("infinite", lambda value: ["inf", *value[1:]]),
        ("infinite", lambda value: value[:-1]),
        ("boundary", lambda value: [0]),
        ("note", lambda value: "Certified by an expert."),
        ("bound", lambda value: "0x1.0p+0"),
        ("margin", lambda value: "0x1.0p+0"),
        ("weights", lambda value: ["0x1.0p+0"] * 4),
        ("kind", lambda value: "separable"),
        ("witness", lambda value: value | {"rows": value["rows"][:-1]}),
        ("witness", lambda value: value | {"rows": [*value["rows"][:-1], -1]}),
        ("certificate", lambda value: None),
        ("certificate", lambda value: 7),
    ],
)
def test_everything_that_a_verdict_says_is_compared(pair, tmp_path, name, change):
    data, verdict = pair
    whole = json.loads(verdict.to_json())
    proved = verified(whole, data, tmp_path)
    assert (proved.returncode, proved.stderr) == (0, "")
    assert proved.stdout.startswith(f"proved: {verdict}{NO_INTERCEPT}\nread: target 'species'")
    whole[name] = change(whole[name])
    ran = verified(whole, data, tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.startswith("refused: ")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"certificate":' * 100_000,
        '{"format": "separatrix-verdict-1"}',
        '{"format": "separatrix-certificate-1", "kind": "separation", "data": {}, "claim": {}}',
        "7",
        "null",
        "",
    ],
    ids=["deep list", "deep table", "verdict of nothing", "nothing", "number", "null", "empty"],
)
def test_what_is_no_certificate_is_refused_in_one_line(pair, tmp_path, text):
    path = tmp_path / "claim.json"
    path.write_text(text)
    ran = run("verify", path, pair[0], "--target", "species")
    assert ran.returncode in (1, 2, 3)
    assert len((ran.stdout + ran.stderr).strip().splitlines()) <= 6
    assert "Traceback" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("decimals", [[-1] * 4, [400] * 4, [10**9] * 4, ["a"] * 4, [1.5] * 4, [1]])
def test_decimals_that_are_none_are_refused(pair, tmp_path, decimals):
    data, verdict = pair
    whole = json.loads(verdict.certificate.to_json())
    whole["data"]["decimals"] = decimals
    ran = verified(whole, data, tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.startswith("refused: ")


# ---- what differs


def people(path, change=None):
    rng = np.random.default_rng(3)
    rows = [[round(float(v), 2), k % 5, "ab"[k % 2]] for k, v in enumerate(rng.normal(size=40))]
    rows = change(rows) if change else rows
    path.write_text("x,k,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def with_cell(row, column, value):
    def change(rows):
        rows[row][column] = value
        return rows

    return change


CHANGES = {
    "rows": (lambda rows: rows[:-3], "37 rows, where 40 were"),
    "values": (with_cell(7, 0, 99.0), "values of x"),
    "labels": (with_cell(7, 2, "a"), "labels, or the order of rows"),
    "classes": (with_cell(7, 2, "z"), "labels that were not there: z"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_model_says_how_the_file_differs_from_the_one_proved(tmp_path, what):
    model = tmp_path / "m.sx"
    assert run("fit", people(tmp_path / "a.csv"), "--target", "c", "-o", model).returncode == 0
    change, words = CHANGES[what]
    ran = run("verify", model, people(tmp_path / "b.csv", change))
    assert ran.returncode == 1
    assert f"The file differs from the one that was proved: {words}." in ran.stdout
    assert run("verify", model, tmp_path / "a.csv").returncode == 0


def test_a_certificate_says_how_the_file_differs(tmp_path):
    proof, data = tmp_path / "c.json", people(tmp_path / "a.csv")
    assert run("separable", data, "--target", "c", "--certificate", proof).returncode == 0
    expected = {
        "rows": "37 rows, where 40 were",
        "values": "values or labels, or the order of rows",
        "labels": "values or labels, or the order of rows",
        "classes": "labels that were not there: z",
    }
    for what, words in expected.items():
        ran = run("verify", proof, people(tmp_path / "b.csv", CHANGES[what][0]), "--target", "c")
        assert ran.returncode == 1
        assert f"The file differs from the one that was proved: {words}." in ran.stdout
    ran = run("verify", proof, data, "--target", "c", "--drop", "k")
    assert "names the columns ['x', 'k'], and it is ['x'] here" in ran.stdout
    whole = json.loads(proof.read_text())
    whole["kind"] = "separable"
    proof.write_text(json.dumps(whole))
    ran = run("verify", proof, data, "--target", "c")
    assert ran.returncode == 1
    assert "The file differs" not in ran.stdout


def test_a_model_saved_without_a_table_is_verified_given_the_target(tmp_path):
    data = people(tmp_path / "a.csv")
    table = sx.read(data, "c")
    sx.save(sx.LinearSVM().fit(table.X, table.y), tmp_path / "m.sx")
    ran = run("verify", tmp_path / "m.sx", data)
    assert (ran.returncode, "--target" in ran.stderr) == (2, True)
    ran = run("verify", tmp_path / "m.sx", data, "--target", "c")
    assert (ran.returncode, ran.stdout[:7]) == (0, "proved:"), ran.stderr
    ran = run("verify", tmp_path / "m.sx", data, "--target", "c", "--drop", "k")
    assert ran.returncode == 3
    assert "the model has 2 features, and these data give 1" in ran.stderr
    changed = people(tmp_path / "b.csv", CHANGES["labels"][0])
    assert run("verify", tmp_path / "m.sx", changed, "--target", "c").returncode == 1


def test_columns_of_a_model_saved_from_a_frame_are_found_by_name(tmp_path):
    import pandas as pd

    data = people(tmp_path / "a.csv")
    frame = pd.read_csv(data)
    sx.save(sx.LinearSVM().fit(frame[["k", "x"]], frame["c"]), tmp_path / "m.sx")
    ran = run("verify", tmp_path / "m.sx", data, "--target", "c")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_settings_of_a_model_are_printed(irises, tmp_path):
    """The bounds of an objective say little without its loss, costs and penalties."""
    data, _ = irises
    table = sx.read(data, target="species")
    model = sx.LinearSVM(2.0, multi_class="direct").fit(table.X, table.y)
    ran = verified(json.loads(model.certificate_.to_json()), data, tmp_path)
    assert ran.stdout.endswith("\nmodel: costs 2.0, bias penalty 0.0\n")


def test_decimals_are_said_to_be_the_shortest_of_stored_numbers(tmp_path, capsys):
    """Cells that differ as written are one float; nothing may be proved of them as written."""
    data, path = tmp_path / "data.csv", tmp_path / "claim.json"
    data.write_text("x,class\n0.1,a\n0.10000000000000001,b\n0.3,a\n0.2,b\n")
    ran = run("separable", data, "--decimal", "--certificate", path)
    assert ran.returncode == 0, ran.stderr
    words = "(of the shortest decimals of the stored numbers)"
    assert words in run("verify", path, data).stdout
    assert check_alone([str(path), str(data)]) == 3
    assert "is not an integer below 2**53" in capsys.readouterr().err
    verdict = tmp_path / "verdict.json"
    verdict.write_text(run("separable", data, "--decimal", "--json").stdout)
    assert words in run("verify", verdict, data).stdout
