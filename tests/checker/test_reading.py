"""The data file is read as it and the command line say; what a certificate says must agree."""

import bz2
import gzip
import json
import lzma
import os
import time

import numpy as np
import pytest

import separatrix as sx
from separatrix.checker.__main__ import main
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem

OVERLAP = "a,t\n1,0\n2,1\n3,0\n4,1\n5,0\n"


@pytest.fixture
def run(tmp_path, capsys):
    """Check a certificate (as data) against a file (as text); return the code and what was said."""

    def check(certificate, text, *options, name="data.csv"):
        (tmp_path / "c.json").write_text(
            certificate if isinstance(certificate, str) else json.dumps(certificate)
        )
        data = tmp_path / name
        data.write_bytes(text if isinstance(text, bytes) else text.encode())
        code = main([str(tmp_path / "c.json"), str(data), *options])
        said = capsys.readouterr()
        return code, said.out + said.err

    return check


def separation(X, signs, weights, classes=("0", "1"), **about):
    """A certificate whose fingerprint is that of these data."""
    X, signs = np.array(X, dtype=float).reshape(len(signs), -1), np.array(signs, dtype=float)
    data = {"rows": len(X), "features": X.shape[1], "intercept": True, "classes": list(classes)}
    data |= {"sha256": fingerprint(SignedProblem(X, signs)), **about}
    claim = {"weights": [[float(w).hex() for w in weights]]}
    return {
        "format": "separatrix-certificate-1", "kind": "separation", "data": data, "claim": claim
    }  # fmt: skip


def genuine(**about):
    return separation([1, 2, 3], [-1, -1, 1], [-2.5, 1.0], **about)


GOOD = "a,class\n1,0\n2,0\n3,1\n"
DOTS = "a,class\n1,no.\n2,no.\n3,yes.\n"
ENTRIES = "0 " + " ".join(f"{j}:1" for j in range(1, 9_000)) + "\n"


# ---- what an attack found


def test_the_target_is_no_feature(run):
    """It proved that any data are separable: by the labels themselves."""
    signs = [-1, 1, -1, 1, -1]
    forged = separation([0, 1, 0, 1, 0], signs, [-0.5, 1.0], columns=["t"], target="t")
    code, said = run(forged, OVERLAP)
    assert code == 1
    assert "the target is 't' (the last column" in said
    assert "the columns are ['a']" in said


def test_columns_are_those_of_the_file_in_its_order(run):
    text = "a,b,class\n1,5,0\n2,9,0\n3,7,1\n"
    left_out = separation([1, 2, 3], [-1, -1, 1], [-2.5, 1.0], columns=["a"], target="class")
    assert run(left_out, text)[0] == 1
    assert run(left_out, text, "--drop", "b")[0] == 0
    another = separation([1, 2, 3], [-1, -1, 1], [-2.5, 1.0], columns=["a"], target="b")
    assert run(another, text)[0] == 1
    assert run(genuine(columns=["a"], target="class"), GOOD)[0] == 0


def test_long_labels_are_not_rounded(run):
    """2**53 and 2**53 + 1 are different classes, and were one."""
    labels = (str(2**53), str(2**53 + 1))
    text = f"a,class\n1,{labels[0]}\n2,{labels[0]}\n3,{labels[1]}\n"
    code, said = run(genuine(classes=labels), text)
    assert code == 0, said
    assert f"{labels[0]!r} has the sign -1, {labels[1]!r} has +1" in said
    assert run(genuine(classes=(labels[0], labels[0])), text)[0] == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,class\n1,0,7\n2,0\n3,1\n", "line 2 has 3 fields of 2"),
        ("a,class\n1,0\n2\n3,1\n", "line 3 has 1 fields of 2"),
        ("a,a,class\n9,1,0\n9,2,0\n9,3,1\n", "each once"),
        ("class\n0\n0\n1\n", "two columns or more"),
        ("", "two columns or more"),
        ("a,class\n", "no row"),
        ("a,class\n1,0\ninf,0\n3,1\n", "'inf' is not a number"),
        ("a,class\n1,0\n1e99999999,0\n3,1\n", "not a number, or too long"),
        ("a,class\n1,0\n1e999,0\n3,1\n", "too large for a float64"),
        ("a,class\n1,0\n1_0,0\n3,1\n", "is not a number"),
        ("a,class\n1,0\n,0\n3,1\n", "separatrix verify"),
        ("a,class\n1,0\nred,0\n3,1\n", "row 1, column 0: 'red' is not a number"),
        ('a,class\n1,0\n"2,0\n3,1\n', "line 4"),
        ("a,class\n1,0\n" + "9" * 5000 + ",0\n3,1\n", "too long"),
    ],
)
def test_a_table_that_is_none_is_refused_in_one_line(run, text, words):
    code, said = run(genuine(), text)
    assert code == 3
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("cell", ["1e99999999", "1e-99999999", "1e999", "9e350"])
def test_decimals_of_any_size_are_refused_at_once(run, cell):
    """A power of ten of a hundred million digits took a minute."""
    code, said = run(genuine(decimals=[2]), f"a,class\n1,0\n{cell},0\n3,1\n")
    assert (code, "row 1, column 0" in said) == (3, True)


@pytest.mark.parametrize(
    ("decimals", "words"),
    [
        ([-3], "decimals: expected a whole number, at least 0"),
        ([10**9], "no float has so many"),
        ([1, 1], "one number a column"),
        ([True], "decimals: expected a whole number"),
        ("x", "decimals: expected a list"),
    ],
)
def test_decimals_that_are_none(run, decimals, words):
    code, said = run(genuine(decimals=decimals), GOOD)
    assert (code, words in said) == (1, True), said


def test_deep_certificates_are_refused(run):
    for text in ("[" * 100_000, '{"a":' * 100_000, "[" * 900 + "]" * 900):
        code, said = run(text, GOOD)
        assert code in (1, 3)
        assert "Traceback" not in said
    assert "nested too deeply" in run("[" * 100_000, GOOD)[1]


def test_a_deep_field_is_named_by_its_type(run):
    """To print a list as deep as JSON may be ended in a traceback."""
    for depth in range(900, 1000):
        deep = "[" * depth + "]" * depth
        code, said = run(f'{{"format": {deep}, "kind": 0, "data": 0, "claim": 0}}', GOOD)
        assert (code, said.count("\n")) == (1, 1)
        assert "expected text, got list" in said or "nested too deeply" in said


def test_a_deep_tree_of_cases_is_refused(run):
    tree = {"loads": [], "denominator": "0x1"}
    for _ in range(2000):
        tree = {"row": 0, "wrong": tree, "right": {"loads": [], "denominator": "0x1"}}
    whole = genuine() | {"kind": "errors"}
    whole["claim"] = {"errors": 0, "lower": 0, "unit": ["0x1", "0x1"], "sample_weight_sha256": ""}
    whole["claim"] |= {"by": "witnesses", "witnesses": [], "weights": [(-2.5).hex(), (1.0).hex()]}
    text = json.dumps(whole | {"claim": whole["claim"] | {"tree": "HERE"}})
    written = text.replace('"HERE"', _written(tree))
    code, said = run(written, GOOD)
    assert (code, "nested too deeply" in said) == (1, True), said


def _written(tree):
    """Write a tree as JSON without recursion: cases are nested in `wrong` alone."""
    parts, ends = [], []
    while "row" in tree:
        parts.append('{"row": 0, "wrong": ')
        ends.append(f', "right": {json.dumps(tree["right"])}}}')
        tree = tree["wrong"]
    return "".join(parts) + json.dumps(tree) + "".join(reversed(ends))


def test_bounds_with_decimals_say_of_what_they_speak(run):
    X, y = np.array([[0.1], [0.2], [0.9]]), [0, 0, 1]
    proof = sx.Kozinec(epsilon=0.1).fit(10.0 * X, y).certificate_
    whole = json.loads(proof.to_json())
    whole["data"]["sha256"] = fingerprint(
        SignedProblem(np.round(10.0 * X), np.array([-1.0, -1, 1]))
    )
    whole["data"]["decimals"] = [1]
    text = "a,class\n0.1,0\n0.2,0\n0.9,1\n"
    code, said = run(whole, text)
    assert code == 0, said
    assert "of columns times powers of ten" in said
    machine = json.loads(sx.LinearSVM().fit(X, y).certificate_.to_json())
    machine["data"]["decimals"] = [1]
    code, said = run(machine, text)
    assert (code, "a duality-gap speaks of the numbers as they are stored" in said) == (1, True)


# ---- the rest


def test_target_and_classes_by_rule_and_by_option(run):
    text = "label,a,last\n0,1,5\n0,2,5\n1,3,5\n"
    proof = separation([[1, 5], [2, 5], [3, 5]], [-1, -1, 1], [-2.5, 1.0, 0.0])
    code, said = run(proof, text)
    assert (code, "target: 'label' (by its name" in said) == (0, True)
    assert run(proof, text, "--target", "last")[0] == 1
    assert run(proof, text, "--target", "label")[0] == 0
    assert run(proof, text, "--target", "nothing")[0] == 3
    assert run(proof, text, "--drop", "nothing")[0] == 3


def test_classes_are_in_the_order_of_their_values(run):
    """As text "10" comes before "9": the certificate may not choose."""
    text = "a,class\n1,9\n2,9\n3,10\n"
    assert run(genuine(classes=("9.0", "10")), text)[0] == 0
    code, said = run(genuine(classes=("10", "9")), text)
    assert (code, "they are ('9', '10')" in said) == (1, True)
    words = "a,class\n1, no\n2,no\n3,yes\n"
    assert run(genuine(classes=("no", "yes")), words)[0] == 0
    assert run(genuine(classes=("no", "maybe")), words)[0] == 1


def test_one_class_against_all_others(run):
    text = "a,class\n1,x\n2,y\n3,z\n"
    code, said = run(genuine(), text, "--positive", "z")
    assert (code, "1 (the sign +1) is 'z'" in said) == (0, True)
    assert run(genuine(), text)[0] == 1
    assert run(genuine(), text, "--positive", "w")[0] == 3


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files(run, pack):
    ending = {gzip.compress: "gz", bz2.compress: "bz2", lzma.compress: "xz"}[pack]
    assert run(genuine(), pack(GOOD.encode()), name=f"d.csv.{ending}")[0] == 0
    assert run(genuine(), pack(GOOD.encode())[:20], name=f"d.csv.{ending}")[0] == 3


def test_tabs_byte_order_marks_and_blank_lines(run):
    tabs = GOOD.replace(",", "\t")
    assert run(genuine(), tabs, name="d.tsv")[0] == 0
    assert run(genuine(), tabs, "--kind", "tsv", name="d.txt")[0] == 0
    assert run(genuine(), b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n\r\n").encode())[0] == 0
    assert run(genuine(), b"\xff\xfe\x00")[0] == 3
    assert run(genuine(), b"a,class\n1,0\n\x002,0\n3,1\n")[0] == 3


def test_libsvm_columns_are_counted_by_the_file(run):
    X = [[1, 0, 7], [2, 0, 0], [3, 0, 0]]
    one = separation(X, [-1, -1, 1], [-2.5, 1.0, 0.0, 0.0])
    text = "0 1:1 3:7\n0 1:2\n1 1:3\n"
    assert run(one, text, name="d.libsvm")[0] == 0
    assert run(one | {"data": one["data"] | {"zero_based": True}}, text, name="d.libsvm")[0] == 1
    zero = separation(X, [-1, -1, 1], [-2.5, 1.0, 0.0, 0.0], zero_based=True)
    shifted = "0 0:1 2:7\n0 0:2\n1 0:3\n"
    code, said = run(zero, shifted, name="d.libsvm")
    assert (code, "counted from 0" in said) == (0, True)
    wide = separation([[*x, 0] for x in X], [-1, -1, 1], [-2.5, 1.0, 0.0, 0.0, 0.0])
    assert run(wide, text, name="d.libsvm")[0] == 1
    assert run(wide, text, "--features", "4", name="d.libsvm")[0] == 0
    named = separation(X, [-1, -1, 1], [-2.5, 1.0, 0.0, 0.0], columns=["a", "b", "c"])
    assert run(named, text, name="d.libsvm")[0] == 1
    assert run(zero, GOOD)[0] == 1


@pytest.mark.parametrize(
    "text", ["0 1:1 1:2\n", "0 2:1 1:2\n", "0 1\n", "0 x:1\n", "0 -1:1\n", "0 9999999999:1\n"]
)
def test_libsvm_text_that_is_none(run, text):
    assert run(genuine(), text, name="d.libsvm")[0] == 3


def test_a_verdict_holds_its_certificate_and_a_study_is_left_to_verify(run):
    verdict = sx.separability(np.array([[1.0], [2.0], [3.0]]), [0, 0, 1])
    code, said = run(verdict.to_json(), GOOD)
    assert (code, "only its certificate is checked" in said) == (0, True)
    study = {"format": "separatrix-study-certificates-1", "training_rows": [0], "verdict": []}
    code, said = run(study, GOOD)
    assert (code, "separatrix verify" in said) == (1, True)


def test_a_field_that_is_unknown_or_named_twice_is_refused_by_name(run):
    code, said = run(genuine(weather="fair"), GOOD)
    assert (code, "data must not hold 'weather'" in said) == (1, True)
    twice = json.dumps(genuine()).replace('"rows": 3', '"rows": 3, "rows": 3')
    assert run(twice, GOOD)[1].startswith("refused: a JSON object names a field twice")
    nan = json.dumps(genuine()).replace('"rows": 3', '"rows": NaN')
    assert run(nan, GOOD)[1].startswith("refused: NaN is no number")


def test_a_line_without_end_is_refused(run, monkeypatch):
    monkeypatch.setattr("separatrix.checker.reading._LONGEST_LINE", 100)
    assert run(genuine(), GOOD + "4," + "0" * 200 + "\n")[0] == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.csv.xz", b"no archive at all"),
        ("d.csv.xz", lzma.compress(GOOD.encode() * 99)[:90] + bytes(40)),
        ("d.csv.gz", gzip.compress(GOOD.encode(), mtime=0)[:10] + bytes([255] * 40)),
        ("d.csv", '"a"b,class\n1,0\n'),
        ("d.csv", "a" * 200_000 + ",class\n1,0\n"),
    ],
    ids=["no archive", "half an archive", "no block", "a quote", "a long field"],
)
def test_files_that_were_once_a_traceback(run, name, text):
    code, said = run(genuine(), text, name=name)
    assert (code, said.startswith("cannot be read: ")) == (3, True)


@pytest.mark.parametrize("hidden", ["\x1b[2J", "\ud800"], ids=["escape", "surrogate"])
def test_no_name_controls_the_terminal_or_ends_the_program(run, hidden):
    forged = genuine()
    forged["data"]["rows"] = hidden
    code, said = run(forged, GOOD)
    assert (code, ascii(hidden)[1:-1] in said, hidden in said) == (1, True, False)
    if hidden.isascii():
        code, said = run(genuine(), GOOD.replace("a,", f"a{hidden},"))
        assert (code, hidden in said) == (0, False)


def test_wide_tables_and_many_labels_take_no_square_of_their_number(run):
    """Each took minutes: a column was looked for in all, and so was a class."""
    names = ",".join(f"c{j}" for j in range(20_000))
    begun = time.process_time()
    assert run(genuine(), f"{names},t\n{'1,' * 20_000}1\n")[0] == 1
    assert run(genuine(), "a,t\n" + "".join(f"1,{k}\n" for k in range(20_000)))[0] == 1
    assert time.process_time() - begun < 5.0


def test_one_class_is_refused(run):
    """Bounds on its margins ended in a traceback."""
    one = separation([1, 2], [-1, -1], [-2.5, 1.0], classes=["0"])
    one["kind"] = "margin-bounds"
    one["claim"] |= {"lower": "0x0p+0", "upper": "0x1p+4", "rows": [0], "multipliers": ["0x1p+0"]}
    code, said = run(one, "a,class\n1,0\n2,0\n")
    assert (code, "two classes" in said) == (1, True)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("d.csv.bz2", GOOD + "9,0\n" * 9_000, "there are more"),
        ("d.csv.bz2", GOOD + "\n" * 90_000, "unpack it first"),
        ("d.csv.bz2", ",".join(map(str, range(9_000))) + "\n", "there are more"),
        ("d.libsvm.bz2", "0\n" * 9_000, "there are more"),
        (
            "d.libsvm.bz2",
            "0 " + "".join(f"{j}:1 " for j in range(1, 9_000)) + "\n",
            "there are more",
        ),
    ],
    ids=["rows", "blank lines", "header", "lines", "entries"],
)
def test_what_a_small_file_unpacks_to_is_not_all_read(run, monkeypatch, name, text, words):
    """A packed file of 943 bytes took 938 MB."""
    if "unpack" in words:
        monkeypatch.setattr("separatrix.checker.reading._SMALL", 1 << 10)
    code, said = run(genuine(), bz2.compress(text.encode()), name=name)
    assert (code, words in said) == (3 if "unpack" in words else 1, True), said


@pytest.mark.parametrize("role", ["certificate", "data"])
def test_a_device_or_a_pipe_is_no_file(tmp_path, capsys, role):
    """Neither ended: one was read for ever, the other was waited for."""
    (tmp_path / "c.json").write_text(json.dumps(genuine()))
    (tmp_path / "d.csv").write_text(GOOD)
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path / "pipe", "/dev/zero"):
        c, d = (odd, tmp_path / "d.csv") if role == "certificate" else (tmp_path / "c.json", odd)
        assert main([str(c), str(d)]) == 3
        assert "no regular file" in capsys.readouterr().err


def test_a_certificate_too_long_is_not_read(run, monkeypatch):
    monkeypatch.setattr("separatrix.checker.__main__._LONGEST", 100)
    assert run(genuine(), GOOD)[0] == 3


@pytest.mark.parametrize("blank", ["\xa0", "\f", "\v"])
def test_only_spaces_and_tabs_are_blanks(run, blank):
    """The library refuses others, and here they ended a word."""
    text = "0 1:1\n0\t 1:2\n1 1:3\n"
    assert run(genuine(), text, name="d.libsvm")[0] == 0
    code, said = run(genuine(), text.replace("1 1:3", f"1{blank}1:3"), name="d.libsvm")
    assert (code, "line 3 has a blank" in said) == (3, True)


@pytest.mark.parametrize(
    "text",
    ["1,no\n2,no\n3,yes\n", GOOD.replace(",", ";"), f"# a comment\n{GOOD}", DOTS],
    ids=["no header", "semicolons", "a comment", "labels with dots"],
)
def test_forms_of_files_that_only_the_library_reads_name_it(run, text):
    """Their honest certificates were refused as if they were false."""
    code, said = run(genuine(columns=["a"], target="class", classes=["no", "yes"]), text)
    assert (code in (1, 3), "separatrix verify CERTIFICATE DATA" in said) == (True, True)
