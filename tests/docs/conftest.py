"""What several tests of the pages need: a folder with the files they speak of, and the site."""

import gzip
import os
import shlex
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from safetensors.numpy import save_file
from tests.docs.test_made import DOCS, module
from tests.optional import module as installed

from separatrix.checker.pack import pack
from separatrix.data.lectures import breast_cancer


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages")
    table = breast_cancer()
    names = [name.replace(" ", "_") for name in table.feature_names[:6]]
    lines = [",".join([*names, "diagnosis"])]
    lines += [
        ",".join([*map(repr, map(float, row[:6])), label])
        for row, label in zip(table.X, table.y, strict=True)
    ]
    (place / "cells.csv").write_text("\n".join(lines) + "\n")
    (place / "new.csv").write_text("\n".join(lines[:11]) + "\n")
    people = ["age,hours,job,income"]
    people += [
        f"{20 + k},{30 + 7 * k % 20},{('clerk', 'sales', '?')[k % 3]},{('low', 'high')[k > 20]}"
        for k in range(40)
    ]
    for name in ("adult.csv", "adult-train.csv", "adult-test.csv"):
        (place / name).write_text("\n".join(people) + "\n")
    patients = ["exposed,age,smoker,ill"]
    patients += [
        f"{int(k < 12)},{25 + 7 * k % 50},{('yes', 'no')[k % 3 > 0]},{int(k < 12 or k % 3 == 0)}"
        for k in range(40)
    ]
    (place / "study.csv").write_text("\n".join(patients) + "\n")
    _write_more(place)
    _write_streams(place)
    pack(str(place / "separatrix-checker.pyz"))
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 8)).astype(np.float32), np.arange(60) % 2
    rows[:, 0] += labels
    np.save(place / "embeddings.npy", rows)
    np.save(place / "labels.npy", labels)
    np.save(place / "new.npy", rows[:5])
    save_file({"X": rows, "y": labels}, place / "embeddings.safetensors")
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), 8)
    table = pyarrow.table({"vector": lists, "label": labels})
    pyarrow.parquet.write_table(table, place / "embeddings.parquet")
    return place


def _write_more(place):
    """Loans of which few fail, reviews, and rows in LIBSVM's format, whole and in parts."""
    rng = np.random.default_rng(1)
    failed = rng.random(400) < 0.15
    loans = np.column_stack([rng.normal(size=400) + failed, rng.normal(size=400) - failed])
    pairs = list(zip(loans, failed.tolist(), strict=True))
    lines = [f"{a:.3f},{b:.3f},{('no', 'yes')[bad]}" for (a, b), bad in pairs]
    (place / "credit.csv").write_text("\n".join(["debt,income,default", *lines]) + "\n")
    words = {"good": ("fine", "warm", "short"), "bad": ("dull", "cold", "long")}
    reviews = [
        f"{kind}\ta {words[kind][k % 3]} film and {words[kind][k // 3 % 3]} talk number {k}"
        for k in range(30) for kind in words
    ]  # fmt: skip
    (place / "reviews.tsv").write_text("\n".join(reviews) + "\n")
    (place / "new.txt").write_text("a fine film\na dull and cold film\n")
    rows = [f"{(-1, 1)[bad]:+d} 1:{a:.3f} 2:{b:.3f}" for (a, b), bad in pairs]
    for name in ("heart.libsvm", "clicks.libsvm"):
        (place / name).write_text("\n".join(rows) + "\n")
    (place / "parts").mkdir()
    for part in range(2):
        (place / "parts" / f"{part}.libsvm").write_text("\n".join(rows[part::2]) + "\n")
    mails = [f"{a:.3f},{b:.3f},{b - a:.3f},{('ham', 'spam')[bad]}" for (a, b), bad in pairs[:120]]
    (place / "spambase.csv").write_text("\n".join(["free,meeting,money,type", *mails]) + "\n")


def _write_streams(place):
    """Files that are fed through a pipe, that grow, or that name a class too many."""
    rows = (place / "clicks.libsvm").read_bytes()
    (place / "rows.gz").write_bytes(gzip.compress(rows))
    (place / "growing.libsvm").write_bytes(rows)
    (place / "huge.csv.gz").write_bytes(gzip.compress((place / "new.csv").read_bytes()))
    labels = ["a", "b", "a", "b", "a", "b", "c", "a"]
    lines = [f"{label} 1:{k}\n" for k, label in enumerate(labels)]
    (place / "rows.libsvm").write_text("".join(lines))
    (place / "access.log").write_text("GET /a 200\nGET /b 500\n" * 30)
    script = place / "label.sh"
    script.write_text(
        "#!/bin/sh\nwhile read -r line; do\n"
        '  case "$line" in *" 200") label=ok ;; *) label=bad ;; esac\n'
        '  printf "%s\\t%s\\n" "$label" "$line"\ndone\n'
    )
    script.chmod(0o755)


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    """A PATH on which `separatrix` is the one that is tested, and `python` its Python."""
    place = tmp_path_factory.mktemp("bin")
    for name, words in (("separatrix", "-m separatrix"), ("python", "")):
        script = place / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        script.chmod(0o755)
    return f"{place}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The whole site, warnings as errors: a link or an anchor that leads nowhere is one."""
    installed("zensical", "make docs")
    place = tmp_path_factory.mktemp("book")
    module(DOCS / "made" / "site.py").build(place / "stage", place / "site")
    return place / "site"
