"""JSON, ARFF and Excel give the table that a CSV of the same values gives, also by blocks."""

import io
import json
import random
import sys
import zipfile
from collections import Counter
from unittest import mock

import numpy as np
import openpyxl
import pytest

import separatrix as sx
from separatrix.data.row_blocks import row_blocks

ROWS = [
    {"age": 39, "job": "clerk", "rate": 0.1, "class": "no"},
    {"age": 50, "job": "cook, head", "rate": None, "class": "yes"},
    {"age": None, "job": 'a "b"', "rate": 1e-300, "class": "no"},
    {"age": 28, "job": "clerk", "rate": -2.5, "class": "yes"},
]
NAMES = list(ROWS[0])


def cell(value):
    if value is None:
        return ""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text


def write_csv(path, rows=ROWS):
    lines = [",".join(NAMES), *(",".join(cell(row[name]) for name in NAMES) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def write_lines(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_array(path, rows=ROWS):
    path.write_text(json.dumps(rows, indent=2))


def quoted(value):
    return "'" + value.replace("'", "\\'") + "'"


def write_arff(path, rows=ROWS):
    jobs = sorted({row["job"] for row in rows})
    lines = ["% a comment", "@RELATION people", "@attribute age numeric"]
    lines.append(f"@attribute job {{{', '.join(map(quoted, jobs))}}}")
    lines += ["@attribute rate real", "@attribute class {no,yes}", "", "@data"]
    for row in rows:
        job = quoted(row["job"])
        values = ["?" if row[name] is None else row[name] for name in ("age", "rate")]
        lines.append(f"{values[0]}, {job},{values[1]!r},{row['class']}".replace("'?'", "?"))
    path.write_text("\n".join(lines) + "\n")


def write_excel(path, rows=ROWS):
    book = openpyxl.Workbook()
    book.active.append(NAMES)
    for row in rows:
        book.active.append([row[name] for name in NAMES])
    book.save(path)


WRITERS = {
    "people.jsonl": write_lines,
    "people.json": write_array,
    "people.arff": write_arff,
    "people.xlsx": write_excel,
}


def same(one, other):
    X, Z = (getattr(each, "toarray", lambda each=each: each)() for each in (one.X, other.X))
    np.testing.assert_array_equal(X, Z)
    assert one.y.tolist() == other.y.tolist()


@pytest.fixture(params=WRITERS)
def pair(request, tmp_path):
    """Return a file of a format, and the CSV of the same values."""
    path, plain = tmp_path / request.param, tmp_path / "plain.csv"
    WRITERS[request.param](path)
    write_csv(plain)
    return path, plain


def test_the_table_is_that_of_a_csv(pair):
    path, plain = pair
    found, expected = sx.read(path, "class"), sx.read(plain, "class")
    same(found, expected)
    assert list(found.feature_names) == list(expected.feature_names)
    assert found.target == "class"
    assert found.kind == {"l": "json", "n": "json", "f": "arff", "x": "excel"}[path.name[-1]]


@pytest.mark.parametrize("size", [16, 300, 1 << 20])
def test_blocks_joined_are_the_whole(pair, size):
    path, plain = pair
    encoding = sx.read(plain, "class").encoding
    blocks = list(row_blocks(path, encoding, size=size))
    assert size > 16 or len(blocks) > 1
    whole = sx.read(plain, "class")
    X = np.vstack([block.X.toarray() for block in blocks])
    np.testing.assert_array_equal(X, whole.X.toarray())
    assert np.concatenate([block.y for block in blocks]).tolist() == whole.y.tolist()


def test_a_key_may_be_absent_from_a_block_but_not_from_all(tmp_path):
    path, rows = tmp_path / "x.jsonl", [{"a": k, "y": "np"[k % 2]} for k in range(40)]
    rows[35]["rare"] = 1.5
    write_lines(path, rows)
    whole = sx.read(path)
    blocks = list(row_blocks(path, whole.encoding, size=256))
    assert len(blocks) > 10
    found = [block.X.toarray() if hasattr(block.X, "toarray") else block.X for block in blocks]
    expected = whole.X.toarray() if hasattr(whole.X, "toarray") else whole.X
    np.testing.assert_array_equal(np.vstack(found), expected)
    del rows[35]["rare"]
    write_lines(path, rows)
    for size in (256, 1 << 20):
        with pytest.raises(sx.DataError, match="the column 'rare' of training cannot be found"):
            list(row_blocks(path, whole.encoding, size=size))
        assert list(row_blocks(path, whole.encoding, size=size, allow_missing=True))


def test_contents_count_before_the_name(pair):
    path, plain = pair
    other = path.with_name("data.txt")
    other.write_bytes(path.read_bytes())
    same(sx.read(other, "class"), sx.read(plain, "class"))
    renamed = path.with_name("people.csv")
    renamed.write_bytes(path.read_bytes())
    same(sx.read(renamed, "class"), sx.read(plain, "class"))


def test_compressed_or_from_standard_input(pair):
    import gzip

    path, plain = pair
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    same(sx.read(packed, "class"), sx.read(plain, "class"))
    stdin = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    with mock.patch.object(sys, "stdin", stdin):
        same(sx.read("-", "class"), sx.read(plain, "class"))


def refusal(path, text, **options):
    if isinstance(text, str):
        text = text.encode()
    path.write_bytes(text)
    with pytest.raises(sx.DataError) as caught:
        sx.read(path, **options)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"a": 1, "y": 0}\n{"a": 2, "y": }\n', 2, "JSON is broken"),
        ('{"a": 1, "y": 0}\n[1, 2]\n', 2, "an object"),
        ('[{"a": 1, "y": 0},\n 7]', 2, "records"),
        ('[{"a": 1, "y": 0},\n {"a": 2, "y": 1}', 2, "JSON is cut short"),
        ('[{"a": 1}, {"a": 2}]\n{"a": 3}', 2, "goes on"),
        ('{"a": 1, "a": 2, "y": 0}\n', 1, "'a' stands twice"),
        ('{"a": {"0": 1}, "y": {"0": 2}}', 1, "orient='records'"),
        ('{"a": [1, 2], "y": [0, 1]}', 1, "orient='records'"),
        ('{"a": {"b": 1}, "y": 0}\n{"a": {"b": 2}, "y": 1}\n', 1, "holds an object"),
        ('{"a": 1e999, "y": 0}\n{"a": 2, "y": 1}\n', 1, "too large"),
        ('{"a": ' + "9" * 5000 + ', "y": 0}\n{"a": 2, "y": 1}\n', 1, "JSON"),
        ('{"a": "\\ud800", "y": 0}\n{"a": "b", "y": 1}\n', 1, "surrogate"),
        ('{"a": ' + "[" * 100_000, 1, "JSON"),
        ("[]", 1, "no rows"),
        ('{"a": 1, "y": 3}\n{"a": 2, "y": 3}\n', 1, "one value only"),
    ],
)
def test_json_that_is_no_table_is_refused_with_its_line(tmp_path, text, line, words):
    error = refusal(tmp_path / "x.json", text)
    assert words in str(error)
    assert "JSON" in str(error)
    assert error.line == line
    assert "\n" not in str(error)


def test_an_absent_key_and_nan_are_missing_values(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1, "y": "n"}\n\n{"y": "p", "b": 5}\n{"a": NaN, "b": 7, "y": "n"}\n')
    table = sx.read(path)
    assert table.target == "y"
    assert table.feature_names == ["a", "a=(missing)", "b", "b=(missing)"]
    dense = table.X.toarray() if hasattr(table.X, "toarray") else table.X
    assert dense[:, 1].tolist() == [0, 1, 1]
    assert dense[:, 3].tolist() == [1, 0, 0]


def test_lists_of_numbers_are_an_embedding(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        "".join(f'{{"v": [{k}, {k * k}.5], "label": "{"ab"[k % 2]}"}}\n' for k in range(4))
    )
    table = sx.read(path)
    assert table.X.tolist() == [[k, k * k + 0.5] for k in range(4)]
    assert table.y.tolist() == ["a", "b", "a", "b"]


def embedding_of(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text('{"v": [0, 1], "y": "a"}\n{"v": [2, 3], "y": "b"}\n{"v": [4, 5], "y": "b"}\n')
    return sx.read(path).encoding


def test_a_label_absent_from_a_block_of_embeddings_is_a_missing_label(tmp_path):
    path, encoding = tmp_path / "x.jsonl", embedding_of(tmp_path)
    path.write_text('{"v": [0, 1], "y": "a"}\n{"v": [2, 3], "z": "b"}\n{"v": [4, 5], "y": "b"}\n')
    blocks = list(row_blocks(path, encoding, size=1))
    assert [label for block in blocks for label in block.y] == ["a", "", "b"]
    assert encoding.read_as(path, encoding).y.tolist() == ["a", "", "b"]


def outcome(blocks):
    """Return rows and labels as texts, those that are absent as "", or that it was refused."""
    X, y = [], []
    try:
        for block in blocks():
            X += np.asarray(block.X).tolist()
            y += [str(label) for label in block.y] or [""] * block.X.shape[0]
    except sx.DataError:
        return "refused"
    return X, y


ALTERATIONS = [
    *8 * [lambda row: row],
    lambda row: {"v": row["v"]},
    lambda row: {"w" if key == "v" else key: value for key, value in row.items()},
    lambda row: {"z" if key == "y" else key: value for key, value in row.items()},
    lambda row: row | {"w": row["v"]},
    lambda row: row | {"more": "text"},
    lambda row: row | {"v": [*row["v"], 1]},
    lambda row: row | {"v": None},
    lambda row: row | {"y": None},
    lambda row: row | {"y": 3},
]


def test_altered_embeddings_are_read_by_blocks_as_they_are_whole(tmp_path):
    path, encoding = tmp_path / "x.jsonl", embedding_of(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    draw, kinds = random.Random(3), Counter()
    for _ in range(150):
        path.write_text("".join(json.dumps(draw.choice(ALTERATIONS)(row)) + "\n" for row in rows))
        whole = outcome(lambda: [encoding.read_as(path, encoding)])
        for size in (1, 600):
            by_blocks = outcome(lambda size=size: row_blocks(path, encoding, size=size))
            assert by_blocks == whole, path.read_bytes()
        kinds["refused" if whole == "refused" else "read"] += 1
    assert min(kinds.values()) > 20


@pytest.mark.parametrize("other", ['"w"', '"\\u0085v"', '"v": 3, "w"'])
def test_an_embedding_stands_under_one_key_in_all_blocks(tmp_path, other):
    path, encoding = tmp_path / "x.jsonl", embedding_of(tmp_path)
    path.write_text('{"v": [0, 1], "y": "a"}\n{' + other + ': [2, 3], "y": "b"}\n')
    with pytest.raises(sx.DataError):
        encoding.read_as(path, encoding)
    with pytest.raises(sx.DataError):
        list(row_blocks(path, encoding, size=1))


def test_sparse_arff_rows_and_their_zeros(tmp_path):
    path = tmp_path / "x.arff"
    head = "@relation r\n@attribute 'a b' numeric\n@attribute c {x,y}\n@attribute z {n,p}\n@data\n"
    path.write_text(head + "{0 1.5, 1 y}\n{2 p}\n{ }\n{1 y,2 'p'}\n")
    table = sx.read(path, "z")
    assert table.y.tolist() == ["n", "p", "n", "p"]
    assert table.feature_names == ["a b", "c=x", "c=y"]
    assert table.X.toarray().tolist() == [[1.5, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_comments_of_arff_may_fill_a_block(tmp_path):
    path = tmp_path / "x.arff"
    head = "@relation r\n@attribute a real\n@attribute y {n,p}\n@data\n"
    path.write_text(head + "1,n\n2,p\n" + "% nothing here\n" * 20 + "3,n\n")
    whole = sx.read(path)
    blocks = list(row_blocks(path, whole.encoding, size=32))
    assert np.vstack([block.X for block in blocks]).tolist() == whole.X.tolist()
    path.write_text(head + "% nothing here\n")
    with pytest.raises(sx.DataError, match="no rows"):
        sx.read(path)


def test_nominal_numbers_of_arff_are_categories(tmp_path):
    path = tmp_path / "x.arff"
    path.write_text(
        "@relation r\n@attribute g {1,2,3}\n@attribute y {0,1}\n@data\n1,0\n2,1\n3,0\n1,1\n"
    )
    assert sx.read(path).feature_names == ["g=1", "g=2", "g=3"]


def test_arff_without_a_head_is_read_by_its_content(tmp_path):
    path = tmp_path / "x.arff"
    path.write_text("% no head\n1,2,'a, b'\n3,4,c\n5,6,'a, b'\n7,8,c\n")
    table = sx.read(path)
    assert table.X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert table.y.tolist() == ["a, b", "c", "a, b", "c"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n1,n\nx,p\n", 5, "as numbers"),
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n1,n\n2,q\n", 5, "none of the values"),
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n1,n\n2\n", 5, "1 fields"),
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n'1',n\n2\n", 5, "1 values"),
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n1,n,3\n2,p,4\n", 4, "3 values"),
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n1,n,{5}\n2,p\n", 4, "weight"),
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n{0 1, 0 2}\n", 4, "twice"),
        ("@attribute a numeric\n@attribute y {n,p}\n@data\n1,'n\n", 4, "not closed"),
        ("@attribute a relational\n@attribute y {n,p}\n@data\n", 1, "relational"),
        ("@attribute a wrong\n", 1, "no type"),
        ("@attribute a numeric\n1,2\n", 2, "expected @attribute"),
        ("@attribute a numeric\n@attribute a numeric\n@data\n1,2\n", 1, "are called"),
        ("@relation x\n@attribute a numeric\n", 3, "no @data"),
        ("@relation x\n@attribute a numeric\n@data\n", 4, "no rows"),
    ],
)
def test_broken_arff_is_refused_with_its_line(tmp_path, text, line, words):
    error = refusal(tmp_path / "x.txt", text)
    assert words in str(error)
    assert "ARFF" in str(error)
    assert error.line == line


def book_of(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


DATA = [["a", "y"], [1, "n"], [2.5, "p"], [None, "n"]]


def test_the_first_sheet_with_rows_is_read_or_the_one_named(tmp_path):
    other = [["b", "y"], [7, "u"], [8, "v"]]
    path = book_of(tmp_path / "x.xlsx", ("empty", []), ("one", DATA), ("two", other))
    table = sx.read(path)
    assert table.feature_names == ["a", "a=(missing)"]
    assert any("3 sheets" in note and "'one'" in note for note in table.notes)
    assert sx.read(path, sheet="two").y.tolist() == ["u", "v"]
    with pytest.raises(sx.DataError, match="no sheet 'none', only 'empty', 'one'"):
        sx.read(path, sheet="none")


def test_titles_above_and_gaps_beside_a_sheet_are_left_out(tmp_path):
    rows = [["Report of 2024"], [], [None, *DATA[0]], *([None, *row] for row in DATA[1:])]
    table = sx.read(book_of(tmp_path / "x.xlsx", ("s", rows)))
    assert table.feature_names == ["a", "a=(missing)"]
    assert any("above the table" in note for note in table.notes)


def test_dates_truth_values_and_errors_of_a_sheet(tmp_path):
    import datetime

    days = [datetime.datetime(2024, 1, day) for day in (1, 2, 1, 2)]
    rows = [["day", "flag", "v", "y"]]
    rows += [[day, k > 1, "#DIV/0!" if k == 0 else k, "np"[k % 2]] for k, day in enumerate(days)]
    path = book_of(tmp_path / "x.xlsx", ("s", rows))
    with pytest.raises(sx.DataError, match="'day' holds dates or times, such as '2024-01-01'"):
        sx.read(path, "y")
    table = sx.read(path, "y", drop="day")
    assert table.feature_names == ["flag=false", "flag=true", "v", "v=(missing)"]


def test_a_formula_without_a_value_is_refused_with_its_cell(tmp_path):
    rows = [["a", "b", "y"], [1, "=A2*2", "n"], [2, "=A3*2", "p"]]
    error = refusal(tmp_path / "y.xlsx", book_of(tmp_path / "x.xlsx", ("s", rows)).read_bytes())
    assert "Excel" in str(error)
    assert "formula" in str(error)
    assert (error.line, error.column) == (2, 2)


def test_a_sheet_that_claims_a_far_cell_takes_no_memory(tmp_path):
    path = book_of(tmp_path / "x.xlsx", ("s", DATA))
    book = openpyxl.load_workbook(path)
    book.active["XFD1048576"] = 1
    book.save(path)
    with pytest.raises(sx.DataError) as caught:
        sx.read(path)
    assert "Excel" in str(caught.value) or "(read as Excel)" in str(caught.value)


def test_entities_and_bombs_in_a_workbook_are_refused(tmp_path):
    path = book_of(tmp_path / "x.xlsx", ("s", DATA))
    for name, contents, words in (
        ("xl/styles.xml", b'<!DOCTYPE x [<!ENTITY a "b">]><x/>', "entities"),
        ("xl/media/big.bin", b"\0" * (64 << 20), "max_bytes"),
    ):
        changed = io.BytesIO()
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w", 8) as new:
            for each in old.namelist():
                if each != name:
                    new.writestr(each, old.read(each))
            new.writestr(name, contents)
        assert words in str(refusal(tmp_path / "y.xlsx", changed.getvalue()))


def test_without_openpyxl_one_sentence_says_what_to_install(tmp_path):
    path = book_of(tmp_path / "x.xlsx", ("s", DATA))
    with (
        mock.patch.dict(sys.modules, {"openpyxl": None}),
        pytest.raises(sx.DataError, match="pip install openpyxl"),
    ):
        sx.read(path)
