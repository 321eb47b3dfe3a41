"""What commands print on a terminal steers it nowhere; in pipes and files data stay as they are."""

import contextlib
import io
import sys
from unittest import mock

import pytest

import separatrix as sx
from separatrix._terminal import cleansed, print_pieces
from separatrix.cli.main import main
from tests.cli.command import separatrix as run

ESCAPE = "a\x1b[2J\x1b]0;owned\x07"
LINES = ["x,y,class", *(f"{k},{k % 3},{'b' if k > 3 else ESCAPE}" for k in range(8))]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(*words):
    out, err = Terminal(), Terminal()
    with (
        mock.patch.object(sys, "argv", ["separatrix", *map(str, words)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        main()
    return out.getvalue(), err.getvalue()


@pytest.fixture
def files(tmp_path):
    data, model = tmp_path / "data.csv", tmp_path / "model.sx"
    data.write_text("\n".join(LINES) + "\n")
    table = sx.read(data, target="class")
    sx.save(sx.LinearSVM().fit(table.X, table.y), model, table=table)
    return data, model


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "-m", "MODEL", "DATA"),
        ("predict", "-m", "MODEL", "DATA", "--json"),
        ("info", "MODEL"),
        ("export", "MODEL", "-o", "-", "--to", "csv"),
        ("export", "MODEL", "-o", "-", "--to", "liblinear"),
        ("export", "MODEL", "-o", "-", "--to", "liblinear", "--number-classes"),
        ("verify", "MODEL", "DATA"),
        ("separable", "DATA", "--target", "class"),
        ("separable", "DATA", "--target", "class", "--positive", "c"),
        ("trace", "DATA", "--target", "class"),
        ("fit", "DATA", "--target", "class"),
        ("info", "DATA"),
        ("path", "DATA", "--target", "class", "--folds", "2"),
        ("stream", "-m", "STREAM", "DATA", "--target", "class"),
        ("stream", "-m", "STREAM", "DATA", "--target", "class", "--classes", "b,c"),
        ("study", "DATA", "--target", "class", "-o", "FOLDER", "--folds", "2"),
    ],
    ids=" ".join,
)
def test_no_escape_code_of_the_data_reaches_a_terminal(files, words):
    data, model = files
    named = {"MODEL": model, "DATA": data, "STREAM": data.with_name("s.sx")}
    named["FOLDER"] = data.with_name("study")
    out, err = on_a_terminal(*(named.get(word, word) for word in words))
    assert out + err
    for code in ("\x1b[2J", "\x1b]0", "\x07"):
        assert code not in out
        assert code not in err


def test_in_a_pipe_the_names_are_what_they_are(files):
    data, model = files
    told = run("predict", "-m", model, data)
    assert ESCAPE in told.stdout
    out, _ = on_a_terminal("predict", "-m", model, data)
    assert r"a\x1b[2J\x1b]0;owned\x07" in out


def test_no_text_of_a_model_file_begins_a_line(files):
    data, model = files
    table = sx.read(data, target="class")
    about = {"source": "x\nforged: all", "made_with": "y\r\nforged: more\x85forged\u2028forged"}
    sx.save(sx.LinearSVM().fit(table.X, table.y), model, table=table, about=about)
    done = run("info", model)
    assert "x\\nforged: all" in done.stdout
    assert not [line for line in done.stdout.splitlines() if line.startswith("forged")]


def test_what_is_cleansed_is_what_steers():
    assert cleansed("tab\tand\nnewline, é, 中") == "tab\tand\nnewline, é, 中"
    assert cleansed("\r\x9b\u202e") == r"\r\x9b\u202e"


def test_bytes_that_are_no_text_are_shown_as_text(monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    print_pieces([b"\xff\x1b", b"ok\n"])
    assert out.getvalue() == "\ufffd\\x1bok\n"
