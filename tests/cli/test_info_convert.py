import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli.main import app
from separatrix.data.summary import summarise
from tests.cli.command import separatrix

CSV = "age,job,twin,const,class\n1000,cook,1000,7,yes\n2,clerk,2,7,no\n1000,cook,1000,7,no\n"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text(CSV)
    return path


def run(*words, **options):
    return CliRunner().invoke(app, [str(word) for word in words], **options)


def test_info_in_words(csv):
    said = run("info", csv).stdout
    assert "csv, 3 rows, 5 features" in said
    assert "no 2 (66.7%), yes 1 (33.3%)" in said
    assert "constant columns: 1, as const" in said
    assert "age = twin" in said
    assert "rows with a twin of another label: 2 (no" in said
    assert f"next: separatrix separable {csv} --target class" in said


def test_info_as_data(csv):
    found = json.loads(run("info", csv, "--json").stdout)
    assert found["rows"] == 3
    assert found["classes"] == {"no": 2, "yes": 1}
    assert found["constant_columns"] == 1
    assert found["opposed_rows"] == 2
    assert found["duplicate_rows"] == 1


def test_sparse_and_dense_are_summed_up_alike():
    draw = np.random.default_rng(0)
    X = draw.integers(0, 2, (40, 6)).astype(float)
    X[:, 3], X[:, 4], X[:, 5] = 0.0, X[:, 0], 2.0
    y = draw.integers(0, 2, 40)
    fields = {"y": y, "feature_names": list("abcdef"), "classes": np.array([0, 1])}
    of = {"kind": "csv", "source": "", "sha256": ""}
    dense = summarise(sx.Table(X, **fields, **of))
    thin = summarise(sx.Table(sparse.csr_matrix(X), **fields, **of))
    assert (dense.pop("sparse"), thin.pop("sparse")) == (False, True)
    thin["constant_examples"] = sorted([*thin["constant_examples"], 3])
    assert dense == thin
    assert dense["constant_columns"] == 2
    assert dense["duplicate_columns"] == 1


@pytest.mark.parametrize("to", ["libsvm", "csv", "tsv", "parquet"])
def test_converted_data_read_the_same(csv, tmp_path, to):
    out = tmp_path / f"out.{to}"
    done = run("convert", csv, "--out", out)
    assert done.exit_code == 0
    assert "3 rows, 5 features" in done.stdout
    before, after = sx.read(csv), sx.read(out)
    as_dense = [
        table.X.toarray() if sparse.issparse(table.X) else table.X for table in (before, after)
    ]
    assert as_dense[0].tolist() == as_dense[1].tolist()
    assert before.y.tolist() == after.y.tolist()


def test_convert_says_what_it_did_as_data(csv, tmp_path):
    said = run("convert", csv, "--out", tmp_path / "o.svm", "--json").stdout
    assert json.loads(said)["to"] == "svm"
    with pytest.raises(sx.DataError, match="choose one of"):
        run("convert", csv, "--out", tmp_path / "o.xls", catch_exceptions=False)


def test_any_option_of_read_can_be_told(csv, tmp_path):
    found = json.loads(run("info", csv, "--json", "-O", "categorical=age,twin").stdout)
    assert found["features"] == 7
    lines = tmp_path / "lines.txt"
    lines.write_text("1\tgood film to see\n0\tnot a good film\n")
    words = ["-O", "ngrams=1,2", "-O", "max_features=4", "-O", "weighting=tfidf"]
    assert json.loads(run("info", lines, "--json", *words).stdout)["features"] == 4
    numbers = tmp_path / "n.libsvm"
    numbers.write_text("1 1:2\n0 2:1\n")
    assert (
        json.loads(run("info", numbers, "--json", "-O", "zero_based=yes").stdout)["features"] == 3
    )
    for wrong in ("colour=red", "ngrams", "ngrams=x"):
        with pytest.raises(sx.DataError, match=r"name=value|whole number"):
            run("info", csv, "-O", wrong, catch_exceptions=False)


def shell(*words, data=b""):
    command = [
        sys.executable,
        "-c",
        "from separatrix.cli.main import main; main()",
        *map(str, words),
    ]
    return subprocess.run(command, input=data, capture_output=True, check=False, env=os.environ)


def test_standard_input_to_standard_output():
    done = shell("convert", "-", "--out", "-", "--to", "libsvm", data=b"a,y\n1,0\n2,1\n")
    assert (done.returncode, done.stdout) == (0, b"0 1:1\n1 1:2\n")


def test_bad_data_is_one_line_and_exit_code_3(tmp_path):
    path = tmp_path / "bad.libsvm"
    path.write_bytes(b"1 1:2\n1 2:x\n")
    done = shell("info", path)
    assert done.returncode == 3
    assert done.stderr.decode().count("\n") == 1
    assert "line 2, column 5" in done.stderr.decode()


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from typer.testing import CliRunner; from separatrix.cli.main import app; "
        "assert CliRunner().invoke(app, ['info', '--help']).exit_code == 0; "
        "print([m for m in ('numba', 'scipy', 'sklearn', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


def test_the_next_command_leaves_out_what_info_advises(tmp_path):
    path = tmp_path / "people.csv"
    rows = "".join(f"{k},it's {k},{k % 5},{'np'[k % 2]}\n" for k in range(30))
    path.write_text("id,who 'I',a,y\n" + rows)
    ran = separatrix("info", path)
    next_line = ran.stdout.splitlines()[-1]
    assert next_line.startswith("next: separatrix separable ")
    words = shlex.split(next_line.removeprefix("next: "))
    assert words[words.index("--drop") :] == ["--drop", "id", "--drop", "who 'I'"]
    assert "identifier" not in separatrix("info", *words[2:]).stdout


def test_the_weights_of_words_are_told_in_english(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(
        "good film I like\t1\nbad film no good\t0\ngood good one here\t1\nbad it was\t0\n"
    )
    assert separatrix("fit", path, "-o", tmp_path / "m.sx").returncode == 0
    ran = separatrix("info", tmp_path / "m.sx").stdout
    assert " an occurrence" in ran
    assert " a occurrence" not in ran
