import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import CliRunner

import separatrix as sx
from separatrix.checker import check
from separatrix.checker.__main__ import main
from separatrix.cli.main import app
from separatrix.data.lectures import two_irises
from separatrix.plots.trace import save_trace
from separatrix.problem.canonical import as_checker_data
from separatrix.problem.signed import SignedProblem
from tests.cli.command import separatrix


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "points.csv"
    rows = ["a,b,extra,class", "0,2,9,up", "1,3,9,up", "2,0,9,down", "3,1,9,down"]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_prints_every_update_and_the_proof():
    run = separatrix("trace", "--method", "perceptron")
    assert run.returncode == 0, run.stderr
    assert "kozinec" not in run.stdout
    assert "proved: all 100 rows lie strictly on their own side" in run.stdout
    assert "petal width, cm" in run.stdout
    assert run.stderr == ""


def test_json_is_the_replay_to_the_last_bit_and_its_certificate_checks():
    run = separatrix("trace", "--method", "kozinec", "--epsilon", "0.05", "--json")
    assert run.returncode == 0
    ran = json.loads(run.stdout)
    table = two_irises()
    frames = list(sx.replay(sx.Kozinec(epsilon=0.05, max_updates=1000), table.X, table.y))
    assert [frame["weights"] for frame in ran["frames"]] == [f.weights.tolist() for f in frames]
    assert [frame["errors"] for frame in ran["frames"]] == [f.errors for f in frames]
    assert ran["status"] == "epsilon"
    signed = SignedProblem(table.X, np.where(table.y == "versicolor", 1.0, -1.0))
    assert "largest margin" in check(ran["certificate"], as_checker_data(signed))


def test_rows_of_three_classes_are_rows_of_the_file(tmp_path):
    path = tmp_path / "three.csv"
    rows = ["0,0,[x]", "1,0,[x]", "0,1,[x]", "5,0,y", "6,0,y", "0,5,z", "1,6,z"]
    path.write_text("\n".join(["a,b,class", *rows]) + "\n")
    ran = json.loads(separatrix("trace", path, "-m", "perceptron", "--json").stdout)
    used = [(frame["row"], frame["rival"]) for frame in ran["frames"]]
    assert used[0] == (None, None)
    assert {row for row, _ in used[1:]} <= set(range(7))
    classes = [row.split(",")[2] for row in rows]
    assert all(rival in {"[x]", "y", "z"} - {classes[row]} for row, rival in used[1:])
    table = separatrix("trace", path, "-m", "perceptron").stdout
    cells = [line.split("│")[2:4] for line in table.splitlines() if line.startswith("│")]
    assert [(row.strip(), rival.strip()) for row, rival in cells[1:]] == [
        (str(row), rival) for row, rival in used[1:]
    ]
    assert "row: the row of the data used, counted from 0; rival: the class that it was" in table
    drawn = separatrix("trace", path, "-m", "perceptron", "-o", tmp_path / "x.svg")
    assert "Got 3 classes; keep the rows of two" in drawn.stderr
    assert "rival" not in separatrix("trace", "-m", "perceptron").stdout


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "gif"])
def test_draws(csv, tmp_path, ending):
    out = tmp_path / "pictures" / f"trace.{ending}"
    run = separatrix("trace", csv, "--features", "a,b", "--target", "class", "-o", out)
    assert run.returncode == 0, run.stderr
    head = out.read_bytes()[:5]
    assert head == {"svg": b"<?xml", "png": b"\x89PNG\r", "pdf": b"%PDF-", "gif": b"GIF89"}[ending]
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    if ending == "gif":
        with Image.open(out) as picture:
            assert picture.n_frames >= 2


def test_a_budget_that_ends_the_run_is_told_by_the_exit_code(tmp_path):
    path = tmp_path / "xor.libsvm"
    path.write_text("1 1:1 2:1\n1 1:-1 2:-1\n-1 1:1 2:-1\n-1 1:-1 2:1\n")
    run = separatrix("trace", path, "--method", "perceptron", "--max-updates", "7")
    assert run.returncode == 4
    assert "budget" in run.stdout
    assert "refuted: row" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["trace", "nowhere.csv"], 3, "nowhere.csv: there is no such file"),
        (["trace", "--method", "magic"], 2, "magic"),
        (["trace", "--epsilon", "0.1", "--method", "perceptron"], 2, "does not go with perceptron"),
        (["trace", "--rate", "-1", "--method", "perceptron"], 2, "--rate"),
        (["trace", "--order", "foo"], 2, "--order"),
        (["trace", "--max-updates", "0"], 2, "--max-updates"),
        (["trace", "--target", "y"], 2, "--target needs DATA"),
        (["trace", "--order", "worst", "--update", "batch", "-m", "perceptron"], 2, "goes with"),
        (["trace", "--rate", "99", "--method", "delta-rule"], 2, "diverges above"),
        (["trace", "--out", "picture.bmp"], 2, ".svg, .png, .pdf, .gif or .html"),
        (["trace", "--features", "nose"], 2, "no column 'nose'"),
        (["trace", "--init", "0,one", "-m", "perceptron"], 2, "--init takes numbers"),
        (["trace", "--storyboard"], 2, "needs a file to draw into"),
        (["trace", "--thresholded", "-m", "perceptron"], 2, "--thresholded does not go with"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_errors_are_one_plain_line(arguments, code, words, tmp_path):
    run = separatrix(*arguments, cwd=tmp_path)
    assert run.returncode == code, run.stderr
    assert words in " ".join(run.stderr.replace("│", " ").split())
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


def test_bad_files(tmp_path):
    (tmp_path / "ragged.csv").write_text("a,b,y\n1,2\n")
    (tmp_path / "bad.libsvm").write_text("1 1:1\nnot a row\n")
    (tmp_path / "wide.csv").write_text("a,b,c,y\n1,2,3,0\n4,5,6,1\n")
    for name, words in [
        ("ragged.csv", "ragged.csv"),
        ("bad.libsvm", "bad.libsvm"),
    ]:
        run = separatrix("trace", tmp_path / name)
        assert run.returncode == 3
        assert words in run.stderr
        assert len(run.stderr.strip().splitlines()) == 1
    run = separatrix("trace", tmp_path / "wide.csv", "-o", tmp_path / "x.svg")
    assert "two features" in run.stderr
    assert not (tmp_path / "x.svg").exists()
    run = separatrix("trace", tmp_path / "wide.csv", "--target", "z")
    assert "no column 'z'" in run.stderr


@pytest.mark.long
@pytest.mark.parametrize("form", ["--json", "--seed=0"])
def test_a_closed_pipe_is_no_error(form):
    command = f"{sys.executable} -m separatrix trace --epsilon 0.05 {form} | head -c 10"
    command += "; exit ${PIPESTATUS[0]}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert run.stderr == ""


def test_debug_shows_the_traceback_wherever_it_stands():
    for arguments in (["--debug", "trace", "nowhere.csv"], ["trace", "nowhere.csv", "--debug"]):
        with pytest.raises(sx.DataError):
            separatrix(*arguments)


def test_names_that_look_like_markup_stay_text(tmp_path):
    path = tmp_path / "a[b].csv"
    path.write_text("$\\foo$,[/b],class\n0,2,$x$\n1,3,$x$\n2,0,[red]\n3,1,[red]\n")
    run = separatrix("trace", path, "--target", "class", "-o", tmp_path / "x.svg")
    assert run.returncode == 0, run.stderr
    assert "a[b].csv" in run.stdout
    assert "[/b]" in run.stdout


def test_the_certificate_of_a_file_is_checked_by_the_checker_alone(csv, tmp_path):
    (tmp_path / "zero.libsvm").write_text("a 0:1\nb 0:-1 3:0.5\n")
    (tmp_path / "one.libsvm").write_text("a 1:1\nb 1:-1 3:0.5\n")
    for data in (csv, tmp_path / "zero.libsvm", tmp_path / "one.libsvm"):
        ran = json.loads(separatrix("trace", data, "--json").stdout)
        proof = tmp_path / "certificate.json"
        proof.write_text(json.dumps(ran["certificate"]))
        assert main([str(proof), str(data)]) == 0
        assert separatrix("verify", proof, data).returncode == 0


def test_help_and_import_need_neither_numba_nor_scipy():
    script = """
import sys, separatrix
assert "Kozinec" in dir(separatrix)
try:
    separatrix.nonsense
except AttributeError as error:
    assert "nonsense" in str(error)
from typer.testing import CliRunner
from separatrix.cli.main import app
outcome = CliRunner().invoke(app, ["--help"])
assert outcome.exit_code == 0 and "trace" in outcome.output
assert CliRunner().invoke(app, ["--version"]).output.startswith("separatrix ")
heavy = {"numba", "scipy", "sklearn", "numpy", "matplotlib", "pyarrow"} & set(sys.modules)
assert not heavy, heavy
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment
    )
    assert run.returncode == 0, run.stderr


def test_where_is_kozinec():
    home = Path(sx.__file__).parent
    found = sorted(str(path.relative_to(home)) for path in home.rglob("kozinec.py"))
    assert found == ["estimators/kozinec.py", "solvers/updates/kozinec.py"]


def _raised(act):
    try:
        act()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_exit_codes_tell_data_options_and_faults_apart():
    from sklearn.utils import check_array

    from separatrix.cli.main import exit_code

    X, y = [[0.0], [1.0]], [0, 1]
    assert exit_code(_raised(lambda: sx.separability([[np.nan], [1.0]], y))) == 3
    assert exit_code(_raised(lambda: check_array([[np.nan]]))) == 3
    assert exit_code(_raised(Path("there is no such file").read_bytes)) == 3
    assert exit_code(_raised(b"\xff".decode)) == 3
    assert exit_code(_raised(lambda: sx.Perceptron(order="best").fit(X, y))) == 2
    assert exit_code(_raised(lambda: np.ones(2) + np.ones(3))) == 70
    assert exit_code(_raised(lambda: {}["missing"])) == 70
    assert exit_code(ValueError("never raised")) == 70


@pytest.mark.parametrize("method", ["kozinec", "delta-rule"])
def test_three_classes_have_an_answer_of_the_shell(tmp_path, method):
    path = tmp_path / "three.csv"
    path.write_text("a,b,c\n" + "".join(f"{k},{k * k},c{k // 4}\n" for k in range(12)))
    ran = separatrix("trace", path, "--method", method)
    assert ran.returncode == 2
    said = " ".join(ran.stderr.replace("│", " ").split())
    assert "there are 3 (c0, c1, c2)" in said
    assert "--positive NAME" in said
    assert "sx." not in said
    ran = separatrix("trace", path, "--method", method, "--positive", "c0", "--json")
    assert ran.returncode in (0, 4), ran.stderr
    facts = json.loads(ran.stdout)
    assert facts["classes"] == ["0", "1"]
    if facts["proved"]:
        (tmp_path / "c.json").write_text(json.dumps(facts["certificate"]))
        again = separatrix("verify", tmp_path / "c.json", path, "--positive", "c0")
        assert again.returncode == 0, again.stdout


def traced(*arguments):
    done = CliRunner().invoke(app, ["trace", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def five(tmp_path):
    """The five points of lecture 000."""
    path = tmp_path / "five.csv"
    path.write_text("x,y,class\n1,1,1\n2,-2,-1\n-1,-1.5,-1\n-2,1,1\n1.5,-0.5,1\n")
    return path


def test_the_worked_example_on_the_shell(five):
    given = ["-m", "perceptron", "--init", "0,1,0.5", "--rate", "0.2", "--json"]
    ran = json.loads(traced(five, *given))
    weights = [np.round(frame["weights"], 9).tolist() for frame in ran["frames"]]
    assert weights == [[0, 1, 0.5], [-0.2, 0.6, 0.9], [0, 0.2, 1.1], [0.2, 0.5, 1.0]]
    assert [frame["visits"] for frame in ran["frames"]] == [1, 3, 4, 10]
    assert [frame["errors_before"] for frame in ran["frames"]] == [None, 2, 1, 1]
    assert ran["frames"][1]["step"] == pytest.approx(0.6)
    assert ran["frames"][0]["radius"] == 3.0
    ran = json.loads(traced(five, "-m", "delta-rule", "--thresholded", "--update", "minibatch",
                            "--batch-size", "2", "--json"))  # fmt: skip
    expected = list(sx.replay(
        sx.DeltaRule(thresholded=True, update="minibatch", batch_size=2, max_updates=1000),
        *points_of(five),
    ))  # fmt: skip
    assert [frame["weights"] for frame in ran["frames"]] == [f.weights.tolist() for f in expected]
    assert [frame["criterion"] for frame in ran["frames"]] == [f.criterion for f in expected]


def points_of(path):
    table = sx.read(str(path))
    return table.X, table.y


def test_a_storyboard_has_a_panel_for_every_update(five, tmp_path):
    out = tmp_path / "steps.svg"
    traced(five, "-m", "perceptron", "--storyboard", "-o", out)
    frames = list(sx.replay(sx.Perceptron(max_updates=1000), *points_of(five)))
    groups = ElementTree.parse(out).getroot().findall(".//{http://www.w3.org/2000/svg}g")
    axes = [group for group in groups if (group.get("id") or "").startswith("axes_")]
    assert len(axes) == len(frames)


def test_one_feature_and_lifts_are_drawn(tmp_path):
    path = tmp_path / "line.csv"
    rows = ["-2,a", "-1.5,a", "0,b", "0.3,b", "-0.4,b", "1.8,a", "2.2,a"]
    path.write_text("\n".join(["x,class", *rows]) + "\n")
    for more in ([], ["--storyboard"]):
        out = tmp_path / f"line{len(more)}.svg"
        said = traced(path, "-m", "perceptron", "--lift", "polynomial:2", *more, "-o", out)
        assert "x^2" in said
        assert out.read_bytes()[:5] == b"<?xml"
    refused = CliRunner().invoke(app, ["trace", str(path), "-m", "perceptron", "--lift",
                                       "polynomial:2", "-o", str(tmp_path / "x.gif")])  # fmt: skip
    assert refused.exit_code != 0


def test_a_page_that_plays_holds_the_replay(five, tmp_path):
    out = tmp_path / "steps.html"
    traced(five, "-m", "perceptron", "-o", out)
    text = out.read_text()
    given = json.JSONDecoder().raw_decode(text, text.index("const REPLAY = ") + 15)[0]
    frames = list(sx.replay(sx.Perceptron(max_updates=1000), *points_of(five)))
    columns = given["panes"][0]["result"]["replay"]["columns"]
    assert columns["weights"] == [frame.weights.tolist() for frame in frames]
    assert (given["step"], len(given["points"])) == (0, 5)
    assert "src=" not in text.split("<script")[0]


def test_the_legend_stands_below_the_curves(five, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    X, y = points_of(five)
    frames = list(sx.replay(sx.Kozinec(), X, y))
    codes = (np.asarray(y, dtype=float) > 0).astype(int)
    with contextlib.suppress(FileNotFoundError):
        save_trace(frames, X, codes, ["a", "b"], ["x", "y"], "", "", tmp_path / "x.svg")
    figure = drawn[0]
    FigureCanvasAgg(figure).draw()
    for axes in figure.axes:
        if axes.get_legend() is not None:
            assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0
