"""Every command reads every format alike: each answers as it does on the CSV of the same values."""

import io
import json
import sys
from unittest import mock

import numpy as np
import openpyxl
import pytest

from separatrix.storage.model_file import read_model
from tests.cli.command import separatrix as run

NAMES = ["height", "job", "class"]
FORMATS = ["jsonl", "json", "arff", "xlsx"]


def rows():
    rng = np.random.default_rng(4)
    heights = np.round(rng.normal(size=60), 3).tolist()
    jobs = [["cook", "clerk"][k] for k in (rng.random(60) < 0.5).astype(int)]
    noise = rng.normal(size=60) / 3
    sums = [h + (j == "cook") + e for h, j, e in zip(heights, jobs, noise, strict=True)]
    classes = ["yes" if total > 0.5 else "no" for total in sums]
    return [list(row) for row in zip(heights, jobs, classes, strict=True)]


def write(folder, ending):
    path, held = folder / f"people.{ending}", rows()
    if ending == "csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in [NAMES, *held]) + "\n")
    elif ending == "jsonl":
        lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in held]
        path.write_text("\n".join(lines) + "\n")
    elif ending == "json":
        path.write_text(json.dumps([dict(zip(NAMES, row, strict=True)) for row in held], indent=1))
    elif ending == "arff":
        head = "@relation people\n@attribute height real\n@attribute job {clerk,cook}\n"
        lines = [",".join(map(str, row)) for row in held]
        path.write_text(head + "@attribute class {no,yes}\n@data\n" + "\n".join(lines) + "\n")
    else:
        book = openpyxl.Workbook()
        for row in [NAMES, *held]:
            book.active.append(row)
        book.save(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("formats")
    for ending in ("csv", *FORMATS):
        write(place, ending)
    assert (
        run("fit", place / "people.csv", "--target", "class", "-o", place / "m.sx").returncode == 0
    )
    return place


@pytest.mark.parametrize("ending", FORMATS)
def test_info_fit_and_predict(folder, ending):
    path = folder / f"people.{ending}"
    found, expected = (
        json.loads(run("info", folder / f"people.{each}", "--json").stdout)
        for each in (ending, "csv")
    )
    for name in ("rows", "features", "nonzeros", "target", "classes", "notes", "duplicate_rows"):
        assert found[name] == expected[name]
    assert run("fit", path, "--target", "class", "-o", folder / f"{ending}.sx").returncode == 0
    plain = run("predict", "-m", folder / "m.sx", folder / "people.csv")
    assert run("predict", "-m", folder / f"{ending}.sx", path).stdout == plain.stdout
    ran = run("predict", "-m", folder / "m.sx", path)
    assert (ran.stdout, ran.stderr) == (plain.stdout, plain.stderr)
    assert run("verify", folder / f"{ending}.sx", path).returncode == 0


@pytest.mark.parametrize("ending", FORMATS)
def test_stream_learns_the_same_rows_and_goes_on(folder, ending, tmp_path):
    path = folder / f"people.{ending}"
    ran = [
        run("stream", "-m", tmp_path / f"{each}.sx", folder / f"people.{each}", "--json")
        for each in (ending, "csv")
    ]
    ends = [json.loads(each.stdout.splitlines()[-1]) for each in ran]
    for name in ("rows", "errors", "features"):
        assert ends[0][name] == ends[1][name]
    assert ends[0]["rows"] == 60
    assert "the target is 'class'" in ran[0].stderr
    again = run("stream", "-m", tmp_path / f"{ending}.sx", path, "--json")
    assert json.loads(again.stdout.splitlines()[-1])["rows"] == 60
    predicted = [
        run("predict", "-m", tmp_path / f"{each}.sx", folder / "people.csv").stdout
        for each in (ending, "csv")
    ]
    assert predicted[0] == predicted[1]


@pytest.mark.parametrize("ending", FORMATS)
def test_study_reads_it(folder, tmp_path, ending):
    data = folder / f"people.{ending}"
    ran = run("study", data, "--target", "class", "-o", tmp_path / "s", "--Cs", "2")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "s" / "report.html").exists()


def test_what_a_stream_cannot_read_is_said(folder, tmp_path):
    ran = run("stream", "-m", tmp_path / "m.sx", folder / "people.json", "--follow")
    assert (ran.returncode, "cannot be followed" in ran.stderr) == (3, True)
    octets = (folder / "people.json").read_bytes()
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(octets))):
        ran = run("stream", "-m", tmp_path / "m.sx", "-")
    assert (ran.returncode, "jq -c" in ran.stderr) == (3, True)
    ran = run("stream", "-m", tmp_path / "m.sx", "https://example.org/a.csv")
    assert (ran.returncode, "an address (URL)" in ran.stderr) == (3, True)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n1 0 obj\n")
    ran = run("stream", "-m", tmp_path / "m.sx", tmp_path / "a.pdf")
    assert (ran.returncode, "a PDF document" in ran.stderr) == (3, True)


def test_a_bad_line_of_json_is_named_and_may_be_left_out(tmp_path):
    lines = [json.dumps({"a": k, "y": "np"[k % 2]}) for k in range(8)]
    (tmp_path / "x.jsonl").write_text("\n".join([*lines[:4], '{"a": }', *lines[4:]]) + "\n")
    ran = run("stream", "-m", tmp_path / "m.sx", tmp_path / "x.jsonl")
    assert ran.returncode == 3
    assert "line 5" in ran.stderr
    assert "JSON" in ran.stderr
    ran = run("stream", "-m", tmp_path / "k.sx", tmp_path / "x.jsonl", "--skip-bad", "1", "--json")
    assert json.loads(ran.stdout.splitlines()[-1])["rows"] == 8


HEADED = "Label\tText\nham\tsee you there now\nspam\tfree money for you\nham\tok then see you\n"


@pytest.mark.parametrize("name", ["sms.txt", "sms.tsv", "sms"])
def test_a_stream_sees_the_line_of_names_as_info_does(tmp_path, name):
    path = tmp_path / name
    path.write_text(HEADED + "spam\tfree free money now\n")
    assert json.loads(run("info", path, "--json").stdout)["classes"] == {"ham": 2, "spam": 2}
    ran = run("stream", "-m", tmp_path / "m.sx", path, "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1])["rows"] == 4
    assert read_model(tmp_path / "m.sx").model.classes_.tolist() == ["ham", "spam"]


def test_a_sheet_is_named(folder, tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a note", "and another"])
    sheet = book.create_sheet("people")
    for row in [NAMES, *rows()]:
        sheet.append(row)
    book.save(path := tmp_path / "book.xlsx")
    fitted = run(
        "fit", path, "--target", "class", "--sheet", "people", "-o", tmp_path / "m.sx", "-q"
    )
    assert fitted.returncode == 0, fitted.stderr
    expected = run("predict", "-m", folder / "m.sx", folder / "people.csv").stdout
    assert run("predict", "-m", tmp_path / "m.sx", path, "--sheet", "people").stdout == expected
    absent = run("predict", "-m", tmp_path / "m.sx", path, "--sheet", "animals")
    assert absent.returncode != 0
    assert "no sheet 'animals'" in absent.stderr
