import io
import json
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import stream_kills

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.data.readers.libsvm import write_libsvm
from separatrix.storage.model_file import read_model
from tests.cli.command import separatrix as run
from tests.naive import sgd as naive

CLASSES = [-1, 1]


def rows(n=300, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random(size=(n, d)) < 0.5)
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1, -1)


@pytest.fixture
def libsvm(tmp_path):
    X, y = rows()
    write_libsvm(tmp_path / "rows.libsvm", X, y)
    return tmp_path / "rows.libsvm", X, y


def piped(text, *arguments):
    """Run with this on standard input."""
    stdin = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(text)))
    with mock.patch.object(sys, "stdin", stdin):
        return run("stream", *arguments)


def reports(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_error_told_is_that_of_rows_before_they_are_learned(libsvm, tmp_path):
    path, X, y = libsvm
    model = tmp_path / "model.sx"
    done = run("stream", "-m", model, path, "--every", "100", "--window", "50", "--json")
    assert done.returncode == 0, done.stderr
    told = reports(done)
    assert [each["rows"] for each in told] == [100, 200, 300, 300]
    slow = naive.Stream(X.shape[1], "logistic")
    thought = np.array([slow.learn(*row) for row in zip(X, y, strict=True)])
    missed = np.where(thought > 0, 1, -1) != y
    assert [each["errors"] for each in told[:3]] == [sum(missed[:n]) for n in (100, 200, 300)]
    assert told[2]["recent_error"] == np.mean(missed[-50:])
    machine = sx.SGD("logistic", C=np.inf, average=False)
    machine.partial_fit(sp.csr_array(X), y, classes=CLASSES)
    kept = sx.load(model)
    assert np.array_equal(kept.coef_, machine.coef_)
    assert kept.status_ == "streaming"
    assert "learned up to" in done.stderr
    assert f"line 300 (byte {path.stat().st_size:,})" in done.stderr
    scored = run("predict", "-m", model, path)
    assert scored.returncode == 0


def test_a_run_goes_on_where_the_last_one_ended(libsvm, tmp_path):
    path, _, _ = libsvm
    whole, model, growing = tmp_path / "a.sx", tmp_path / "b.sx", tmp_path / "growing.libsvm"
    lines = path.read_bytes().splitlines(keepends=True)
    run("stream", "-m", whole, path)
    for upto in (0, 120, 121, 300):
        growing.write_bytes(b"".join(lines[:upto]))
        done = run("stream", "-m", model, growing, "--classes", "-1,1")
        assert done.returncode == (3 if upto == 0 else 0)
    assert "after line 121" in done.stderr
    a, b = sx.load(whole), sx.load(model)
    assert np.array_equal(a.coef_, b.coef_)
    assert a.n_iter_ == b.n_iter_ == 300
    again = run("stream", "-m", model, growing, "--json")
    assert [each["rows"] for each in reports(again)] == [300]
    rest = piped(b"".join(lines[:5]), "-m", model, "-")
    assert rest.returncode == 0
    assert sx.load(model).n_iter_ == 305
    resumed = piped(b"".join(lines[:5]), "-m", model, "-")
    assert "feed it line 6 on" in resumed.stderr


def test_a_changed_file_is_refused(libsvm, tmp_path):
    path, _, _ = libsvm
    model = tmp_path / "model.sx"
    run("stream", "-m", model, path)
    before = model.read_bytes()
    contents = path.read_bytes()
    for changed, said in [
        (b"3" + contents[1:], "reads otherwise"),
        (contents[:-3] + b"\n", "cut short or replaced"),
    ]:
        path.write_bytes(changed)
        done = run("stream", "-m", model, path)
        assert done.returncode == 3
        assert said in done.stderr
        assert model.read_bytes() == before
    assert run("stream", "-m", model, path, "--fresh").returncode == 0


def test_bad_lines_are_named_and_what_came_before_is_kept(tmp_path):
    model, good = tmp_path / "model.sx", b"+1 1:1\n-1 1:-1\n"
    done = piped(good * 2 + b"+1 1:x\n" + good, "-m", model, "--classes", "-1,1")
    assert done.returncode == 3
    assert "standard input, line 5, column 6: expected a number after the colon" in done.stderr
    assert sx.load(model).n_iter_ == 4
    done = piped(good * 2 + b"+1 1:x\n" + good, "-m", model, "--fresh", "--skip-bad", "1")
    assert done.returncode == 0
    assert "left out: standard input, line 5" in done.stderr
    assert sx.load(model).n_iter_ == 6
    two = good + b"oops:\n" + good + b"-1 0:1\n"
    done = piped(two, "-m", model, "--fresh", "--skip-bad", "1")
    assert done.returncode == 3
    assert "line 6" in done.stderr
    assert "0-based" in done.stderr


def test_classes_must_be_declared_before_they_come(tmp_path):
    model, good = tmp_path / "model.sx", b"a 1:1\nb 1:-1\n"
    done = piped(good * 3 + b"c 2:1\n", "-m", model, "--classes", "a,b")
    assert done.returncode == 3
    assert "line 7, column 1: the label 'c' is none of the classes (a, b)" in done.stderr
    assert sx.load(model).classes_.tolist() == ["a", "b"]
    before = sx.load(model).coef_
    done = piped(b"", "-m", model, "--classes", "c,a")
    assert done.returncode == 0
    after = sx.load(model)
    assert after.classes_.tolist() == ["a", "b", "c"]
    assert np.array_equal(after.coef_, [-before[0], before[0], 0.0 * before[0]])
    more = piped(b"c 2:1\nb 1:-2\n" * 40, "-m", model, "--classes", "c")
    assert more.returncode == 0, more.stderr
    kept = sx.load(model)
    assert kept.classes_.tolist() == ["a", "b", "c"]
    assert kept.coef_.shape == (3, 2)
    assert kept.predict([[0.0, 1.0], [-2.0, 0.0]]).tolist() == ["c", "b"]
    one = piped(b"a 1:1\n" * 9, "-m", tmp_path / "one.sx")
    assert one.returncode == 3
    assert "one class only" in one.stderr
    wrong = piped(good, "-m", model, "--classes", "1,2")
    assert wrong.returncode == 2


def test_a_table_of_amounts_is_refused(tmp_path):
    for number, price in enumerate((lambda k: f"{k + 100}", lambda k: f"{k % 150}.5")):
        table = tmp_path / f"{number}.csv"
        table.write_text("a,price\n" + "".join(f"{k % 7},{price(k)}\n" for k in range(400)))
        done = run("stream", "-m", tmp_path / "model.sx", table)
        assert done.returncode == 3
        assert "'price' holds numbers" in done.stderr
    classes = "".join(f"{k % 7},{k * 7919 % 300}\n" for k in range(400))
    (tmp_path / "many.csv").write_text("a,y\n" + classes)
    assert run("stream", "-m", tmp_path / "model.sx", tmp_path / "many.csv").returncode == 0


def test_comments_and_decimal_commas_of_a_stream(tmp_path):
    lines = [f"{k % 9},5;{k % 9 > 4}" for k in range(200)]
    text = "# by hand\na;y\n" + "\n".join(lines) + "\n#x;1;True\n"
    done = piped(text.encode(), "-m", tmp_path / "model.sx", "--kind", "csv")
    assert done.returncode == 3
    assert "line 203" in done.stderr
    done = piped(text[:-10].encode(), "-m", tmp_path / "model.sx", "--kind", "csv", "--json")
    assert done.returncode == 0, done.stderr
    assert reports(done)[-1]["error"] < 0.2


def test_tables_and_texts(tmp_path):
    rng = np.random.default_rng(0)
    ages, jobs = rng.integers(20, 70, size=400), rng.choice(["clerk", "smith"], size=400)
    labels = np.where(ages > 45, "yes", "no")
    table = tmp_path / "table.csv"
    lines = [f"{a},{b},{c}" for a, b, c in zip(ages, jobs, labels, strict=True)]
    table.write_text("age,job,paid\n" + "\n".join(lines) + "\n")
    model = tmp_path / "table.sx"
    done = run("stream", "-m", model, table, "--target", "paid", "--json")
    assert done.returncode == 0, done.stderr
    assert reports(done)[-1]["rows"] == 400
    assert reports(done)[-1]["error"] < 0.15
    with table.open("a") as file:
        file.write("50,baker,yes\n30,clerk\n")
    done = run("stream", "-m", model, table)
    assert done.returncode == 3
    assert f"{table}, line 403" in done.stderr
    assert sx.load(model).n_iter_ == 401
    assert run("predict", "-m", model, table.parent / "table.csv").returncode == 3
    texts = b"".join(
        b"good\tI like this film a lot\nbad\tnot at all a good one, \xc3\xa9t\xc3\xa9\n"
        for _ in range(60)
    )
    model = tmp_path / "texts.sx"
    done = piped(texts, "-m", model, "--kind", "text", "--bits", "10", "--ngrams", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert reports(done)[-1]["error"] < 0.1
    assert sx.load(model).n_features_in_ == 1024
    done = piped(b"good\tfilm\ngood film\n", "-m", model)
    assert done.returncode == 3
    assert "line 122, column 1" in done.stderr  # lines are counted on from the last run
    assert "no tab" in done.stderr
    done = piped(b"good\tcaf\xe9\n", "-m", tmp_path / "latin.sx", "--kind", "text")
    assert done.returncode == 3
    assert "--encoding latin-1" in done.stderr


def test_drift_is_shown(tmp_path):
    n = 1600 if is_interpreted() else 6000
    X, y = rows(n)
    y[n // 2 :] *= -1  # what was right is now wrong
    write_libsvm(tmp_path / "turning.libsvm", X, y)
    done = run("stream", "-m", tmp_path / "model.sx", tmp_path / "turning.libsvm", "--json")
    drifts = [each["row"] for each in reports(done) if each["event"] == "drift"]
    assert len(drifts) >= 1
    assert n // 2 < drifts[0] < n // 2 + 600
    told = run("stream", "-m", tmp_path / "model.sx", tmp_path / "turning.libsvm", "--fresh")
    assert "drift: the error has gone up (Page-Hinkley)" in told.stdout
    X, y = rows(n)
    write_libsvm(tmp_path / "calm.libsvm", X, y)
    done = run("stream", "-m", tmp_path / "calm.sx", tmp_path / "calm.libsvm", "--json")
    assert not [each for each in reports(done) if each["event"] == "drift"]


def test_wrong_options_and_other_models_are_refused(libsvm, tmp_path):
    path, X, y = libsvm
    assert run("stream", "-m", tmp_path / "m.sx", path, "--kind", "xml").returncode == 2
    assert run("stream", "-m", tmp_path / "m.sx", path, "--window", "0").returncode == 2
    assert run("stream", "-m", tmp_path / "m.sx", path, "-c", "much").returncode == 2
    assert run("stream", "-m", tmp_path / "m.sx", path, "-c", "-1").returncode == 2
    assert run("stream", "-m", tmp_path / "m.sx", tmp_path / "none.libsvm").returncode == 3
    sx.save(sx.LinearSVM().fit(X, y), tmp_path / "svm.sx")
    done = run("stream", "-m", tmp_path / "svm.sx", path)
    assert done.returncode == 3
    assert "was not made by a stream" in done.stderr
    few = run("stream", "-m", tmp_path / "m.sx", path, "--max-features", "4")
    assert few.returncode == 3
    assert "--max-features" in few.stderr
    packed = tmp_path / "rows.gz"
    packed.write_bytes(b"\x1f\x8b" + b"0" * 20)
    done = run("stream", "-m", tmp_path / "m.sx", packed)
    assert done.returncode == 3
    assert "zcat" in done.stderr


def started(*arguments, **options):
    command = [sys.executable, "-m", "separatrix", "stream", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="the stream runs in a process of its own, compiled")
def test_a_followed_file_is_learned_as_it_grows_and_an_interrupt_keeps_it(tmp_path):
    X, y = rows(400)
    path, model = tmp_path / "growing.libsvm", tmp_path / "model.sx"
    write_libsvm(path, X, y)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:150]))
    process = started("-m", model, path, "--follow", "--every", "50", "--json", "--classes", "-1,1")
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(iter(process.stdout.readline, b"")))
    reader.start()

    def wait_for(rows):
        until = time.monotonic() + 120
        while not any(json.loads(line)["rows"] >= rows for line in list(seen)):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < until, seen
            time.sleep(0.05)

    wait_for(150)
    with path.open("ab") as file:
        file.write(b"".join(lines[150:])[:-3])  # the last line is not whole yet
    wait_for(350)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    reader.join()
    assert b"learned up to" in process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert sx.load(model).n_iter_ == 399
    path.write_bytes(b"".join(lines))
    assert run("stream", "-m", model, path).returncode == 0
    run("stream", "-m", tmp_path / "whole.sx", path)
    assert np.array_equal(sx.load(model).coef_, sx.load(tmp_path / "whole.sx").coef_)


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="the stream runs in a process of its own, compiled")
def test_a_reader_that_has_gone_is_no_error(libsvm, tmp_path):
    path, _, _ = libsvm
    process = started("-m", tmp_path / "model.sx", path, "--every", "1", bufsize=0)
    process.stdout.close()
    assert process.wait(120) == 0, process.stderr.read()
    process.stderr.close()
    kept = read_model(tmp_path / "model.sx")
    assert kept.about["stream"]["places"][0]["lines"] == kept.model.n_iter_ > 0


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="the stream runs in a process of its own, compiled")
def test_a_kill_loses_nothing_that_was_written():
    told = stream_kills.run(1, seed=1, rows=30_000, calm_runs=1, say=lambda *_, **__: None)
    assert told["kills"] == 1
