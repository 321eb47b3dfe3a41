import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pyarrow import feather, parquet
from scipy import sparse

import separatrix as sx
from separatrix.data.row_blocks import row_blocks
from separatrix.data.table import encoding_from_dict
from tests.naive.table import encode


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def dense(table):
    return table.X.toarray() if sparse.issparse(table.X) else table.X


def rows_of(table):
    names = table.feature_names
    return [
        {name: value for name, value in zip(names, row, strict=True) if value}
        for row in dense(table).tolist()
    ]


cells = st.sampled_from(
    ["1", "2.5", "-3", "+4", "1e3", "red", "blue", " red ", "?", "", "NA", "x,y"]
)


@given(st.lists(st.tuples(cells, cells, cells), min_size=2, max_size=8), st.integers(1, 4))
def test_agrees_with_the_naive_encoding(tmp_path_factory, cells, cap):
    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    lines = ["a,b,c,target"]
    for number, row in enumerate(cells):
        lines.append(",".join(f'"{cell}"' for cell in row) + f",{'np'[number % 2]}")
    path.write_text("\n".join(lines))
    expected = encode(["a", "b", "c"], [list(row) for row in cells], cap)
    if not any(expected):
        return
    table = sx.read(path, target="target", max_categories=cap)
    assert rows_of(table) == expected
    assert table.y.tolist() == ["np"[number % 2] for number in range(len(cells))]
    again = encoding_from_dict(json.loads(json.dumps(table.encoding.to_dict()))).transform(path)
    assert_array_equal(dense(again), dense(table))
    assert_array_equal(again.y, table.y)


def test_numbers_give_dense_rows(write):
    table = sx.read(write("a,b,y\n1,2.5,0\n-3,+4,1\n"))
    assert isinstance(table.X, np.ndarray)
    assert table.X.tolist() == [[1, 2.5], [-3, 4]]
    assert table.y.tolist() == [0, 1]
    assert table.target == "y"
    assert len(table.sha256) == 64


def test_signs_are_labels(write):
    table = sx.read(write("x,label\n1,+1\n2,-1\n3,+1\n"))
    assert table.y.tolist() == [1, -1, 1]
    assert table.classes.tolist() == [-1, 1]


def test_no_header_is_seen_or_told(write):
    assert sx.read(write("1,a\n2,b\n3,a\n")).feature_names == ["column1"]
    assert sx.read(write("red,a\nblue,b\nred,b\nblue,a\n")).feature_names == [
        "column1=blue",
        "column1=red",
    ]
    assert sx.read(write("colour,kind\nblue,b\nred,b\nblue,a\n")).target == "kind"
    told = sx.read(write("colour,kind\nblue,b\nred,b\n"), header=False)
    assert told.X.shape[0] == 3
    assert sx.read(write("0,1,2,kind\n5,6,7,b\n8,9,7,a\n")).feature_names == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a;y\n1,5;x\n2,5;z\n", "data.csv"),
        ("a\ty\n1,5\tx\n2,5\tz\n", "data.tsv"),
        ("a|y\n1,5|x\n2,5|z\n", "data.txt"),
        ("\ufeffa,y\r\n1,x\r\n2,z\r\n", "data.csv"),
        ('a,y\n"1",x\n"2","z"', "data.csv"),
    ],
)
def test_separators_and_line_ends(write, text, name):
    table = sx.read(write(text, name))
    assert table.y.tolist() == ["x", "z"]
    assert table.feature_names[0].startswith("a")


def test_quoted_cells_hold_separators_and_lines(write):
    table = sx.read(write('a,y\n"one, two\nthree",0\n"say ""hi""",1\n'))
    assert table.feature_names == ["a=one, two\nthree", 'a=say "hi"']


def test_unseen_and_absent_are_handled_and_said(write):
    trained = sx.read(write("age,job,y\n10,cook,0\n20,clerk,1\n30,cook,1\n"))
    new = write("extra,job\n9,pilot\n8,?\n7,clerk\n", "new.csv")
    with pytest.raises(sx.DataError, match="the column 'age' of training cannot be found"):
        trained.encoding.transform(new)
    later = trained.encoding.transform(new, allow_missing=True)
    assert later.feature_names == ["age", "job=clerk", "job=cook"]
    assert dense(later).tolist() == [[20, 0, 0], [20, 0, 0], [20, 1, 0]]
    assert len(later.y) == 0
    said = " ".join(later.notes)
    assert all(word in said for word in ("'pilot'", "age", "extra", "missing"))


def test_labels_that_are_missing_do_not_stop_a_prediction(write):
    trained = sx.read(write("age,y\n10,0\n20,1\n"))
    later = trained.encoding.transform(write("age,y\n10,\n20,\n", "new.csv"))
    assert later.X.tolist() == [[10], [20]]
    assert len(later.y) == 0
    assert "labels were not used" in " ".join(later.notes)


def test_missing_in_training_has_a_place_later(write):
    trained = sx.read(write("age,job,y\n10,cook,0\n?,,1\n30,cook,1\n50,clerk,0\n"))
    assert trained.feature_names == [
        "age", "age=(missing)", "job=clerk", "job=cook", "job=(missing)",
    ]  # fmt: skip
    assert dense(trained)[1].tolist() == [30, 1, 0, 0, 1]
    later = trained.encoding.transform(write("job\nNA\n", "new.csv"), allow_missing=True)
    assert dense(later).tolist() == [[30, 1, 0, 0, 1]]


def test_what_is_missing_only_later_becomes_the_median(write):
    trained = sx.read(write("age,y\n10,0\n20,1\n60,1\n"))
    assert trained.feature_names == ["age"]
    again = encoding_from_dict(json.loads(json.dumps(trained.encoding.to_dict())))
    for encoding in (trained.encoding, again):
        later = encoding.transform(write("age,y\n?,0\n70,1\n", "new.csv"))
        assert later.X.tolist() == [[20], [70]]
        assert "each became 20" in " ".join(later.notes)


def test_the_median_of_many_rows_is_that_of_an_even_sample():
    values = np.arange(300_001.0)
    table = sx.read(pa.table({"a": values, "y": np.arange(len(values)) % 2}))
    assert table.encoding.codes[0].median == pytest.approx(150_000, abs=2)


def test_pooled_values_take_in_the_unseen(write):
    text = "c,y\n" + "".join(f"{value},{value in 'aab'}\n" for value in "aaabbcde")
    trained = sx.read(write(text), max_categories=2)
    assert trained.feature_names == ["c=a", "c=b", "c=(other)"]
    assert "pooled" in " ".join(trained.notes)
    later = trained.encoding.transform(write("c\nzebra\n", "new.csv"))
    assert dense(later).tolist() == [[0, 0, 1]]


def test_a_number_column_that_turns_to_text_is_refused_later(write):
    trained = sx.read(write("age,y\n10,0\n20,1\n"))
    with pytest.raises(sx.DataError, match="held numbers") as caught:
        trained.encoding.transform(write("age\n1\nold\n", "new.csv"))
    assert (caught.value.line, caught.value.column) == (3, 1)


@pytest.mark.parametrize(
    ("text", "target", "line", "column", "words"),
    [
        ("", None, 1, 1, "empty"),
        ("a,y\n", None, 1, 1, "no rows"),
        ("a,b,y\n1,2,0\n1,2\n", None, 3, 1, "2 fields"),
        ("a,b,y\n1,2,0\n\n1,2,3,4\n", None, 4, 1, "4 fields"),
        ("a,a,y\n1,2,0\n1,2,1\n", None, 1, 2, "both called 'a'; rename one of them"),
        ("# of 2019\n#\na,a,y\n1,2,0\n1,2,1\n", None, 3, 2, "both called 'a'"),
        ("# of 2019\na,b,y\n1,2,0\n1,2\n", None, 4, 1, "2 fields"),
        (b"a,y\n\xe9t\xe9,0\n", None, 2, 1, "latin-1"),
        ("a,y\n1,0\n2,0\n", None, 1, 2, "one value only"),
        ("a,y\n1,7\n2,8\n3,9\n", None, 1, 2, "as many rows"),
        ("a,income\n1,7\n2,8\n", "incme", 1, 1, "did you mean 'income'?"),
        ("a,y\n1,0\n2,?\n", None, 3, 2, "is missing here"),
        ("d,y\n2020-01-02,0\n2021-03-04,1\n", None, 2, 1, "dates"),
        ("t,y\n10:30,0\n11:45,1\n", None, 2, 1, "dates or times"),
        ("a,y\n1e999,0\n2,1\n", None, 2, 1, "too large"),
        ("y\n0\n1\n", None, 1, 1, "no column of features"),
        (b"a,y\n\0,0\n", None, 2, 1, "zero byte"),
    ],
)
def test_what_is_broken_is_named(write, text, target, line, column, words):
    path = write(text)
    with pytest.raises(sx.DataError) as caught:
        sx.read(path, target=target)
    assert words in str(caught.value)
    assert caught.value.file == str(path)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_one_word_among_many_numbers_is_a_mistake(write):
    lines = [f"{number},{number % 2}" for number in range(100)]
    lines[41] = "4l,1"
    path = write("a,y\n" + "\n".join(lines))
    with pytest.raises(sx.DataError, match="'4l' is not a number") as caught:
        sx.read(path)
    assert (caught.value.line, caught.value.column) == (43, 1)
    assert "a=(missing)" in sx.read(path, missing=["4l"]).feature_names
    assert "a=4l" in sx.read(path, categorical=["a"]).feature_names


def test_a_target_can_be_numbered_and_columns_dropped(write):
    path = write("k,a,when\nx,1,2020-01-01\nz,2,2020-01-02\nx,3,2020-01-03\n")
    for target in (1, "1", -3, "k"):
        assert sx.read(path, target=target, drop=["when"]).target == "k"
    assert sx.read(path, target="k", drop=["3"]).feature_names == ["a"]
    with pytest.raises(sx.DataError, match="did you mean 'when'"):
        sx.read(path, target="k", drop=["wen"])


def test_columns_without_any_value_are_left_out(write):
    table = sx.read(write("a,b,y\n,1,0\n?,2,1\n"))
    assert table.feature_names == ["b"]
    assert "a: no value" in " ".join(table.notes)


def test_latin_1_can_be_told(write):
    table = sx.read(write("c,y\nété,0\nautre,1\n".encode("latin-1")), encoding="latin-1")
    assert table.feature_names == ["c=autre", "c=été"]
    with pytest.raises(sx.DataError, match="no encoding"):
        sx.read(write("c,y\na,0\n"), encoding="latin-99")


def test_dots_after_labels_are_removed_and_said(write):
    table = sx.read(write("a,y\n1,yes.\n2,no.\n"))
    assert table.classes.tolist() == ["no", "yes"]
    assert "dot" in " ".join(table.notes)
    assert sx.read(write("a,y\n1,1.\n2,2.\n")).classes.tolist() == [1, 2]


FRAME = {"age": [1.5, None, 3.0], "job": ["cook", "clerk", None], "ok": [True, False, True]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, pl.LazyFrame])
def test_frames_of_every_make(make):
    table = sx.read(make({**FRAME, "y": ["a", "b", "a"]}), target="y")
    assert table.kind == "frame"
    assert table.feature_names == [
        "age", "age=(missing)", "job=clerk", "job=cook", "job=(missing)", "ok",
    ]  # fmt: skip
    assert dense(table)[1].tolist() == [2.25, 1, 1, 0, 0, 0]
    later = table.encoding.transform(make({"age": [7.0], "job": ["cook"], "ok": [False]}))
    assert dense(later).tolist() == [[7, 0, 0, 1, 0, 0]]


def test_parquet_and_arrow_files(tmp_path):
    arrow = pa.table({"a": pa.array([1, 2, 3], pa.int8()), "c": ["x", "z", "x"], "y": [0, 1, 1]})
    parquet.write_table(arrow, tmp_path / "a.parquet")
    feather.write_feather(arrow, tmp_path / "a.arrow")
    for name, kind in (("a.parquet", "parquet"), ("a.arrow", "arrow")):
        table = sx.read(tmp_path / name)
        assert table.kind == kind
        assert dense(table).tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
        damaged = tmp_path / f"damaged-{name}"
        damaged.write_bytes((tmp_path / name).read_bytes()[:-30])
        with pytest.raises(sx.DataError, match="damaged"):
            sx.read(damaged)


def test_a_parquet_file_that_would_fill_memory_is_refused(tmp_path):
    path = tmp_path / "zeros.parquet"
    parquet.write_table(pa.table({"a": np.zeros(100_000), "y": np.arange(100_000) % 2}), path)
    assert sx.read(path).X.shape == (100_000, 1)
    with pytest.raises(sx.DataError, match="max_bytes"):
        sx.read(path, max_bytes=1_000_000)


def test_a_line_of_separators_is_no_table(write):
    with pytest.raises(sx.DataError, match="columns of text"):
        sx.read(write("a," * 6000 + "b\n" + "c," * 6000 + "d\n"), header=False)


def test_single_precision_is_kept():
    frame = pa.table({"a": pa.array([1, 2], pa.float32()), "y": [0, 1]})
    assert sx.read(frame).X.dtype == np.float32


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([[1], [2]]), "cannot be a feature"),
        (pa.array([b"1", b"2"]), "cannot be a feature"),
        (pa.array([0, 1], pa.timestamp("s")), "dates"),
        (pa.array([1.0, float("inf")]), "infinite"),
    ],
)
def test_types_that_cannot_be_features(column, words):
    frame = pa.table({"a": column, "b": [1.0, 2.0], "y": [0, 1]})
    with pytest.raises(sx.DataError, match=words):
        sx.read(frame)
    assert sx.read(frame, drop=["a"]).feature_names == ["b"]


def test_orange_headers_are_understood(write):
    table = sx.read(write("kind\tsize\nd\tc\nclass\t\n\nx\t1.5\nz\t2\n", "o.tab"))
    assert (table.target, table.feature_names) == ("kind", ["size"])


def test_what_is_no_source_is_refused():
    with pytest.raises(TypeError, match="a path"):
        sx.read(3)
    with pytest.raises(sx.DataError, match="kind must be"):
        sx.read("x", kind="sheet")
    with pytest.raises(TypeError, match="colour"):
        sx.read("x", colour="red")


def test_a_table_shows_itself(write):
    assert repr(sx.read(write("a,y\n1,0\n2,1\n"))).startswith("Table(2 rows x 1 features, 2 cl")


def test_an_unknown_target_of_a_file_without_header_says_how_to_name_one(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("1,2,a\n3,4,b\n5,6,a\n")
    with pytest.raises(sx.DataError, match=r"no header: give the number of the column, -1"):
        sx.read(path, target="income")
    assert sx.read(path, target=-1).classes.tolist() == ["a", "b"]


GERMAN = "a;b;n;class\n0,1257;-0,1321;3;nein\n2,5;;4;ja\n1,250;1,5e3;5;nein\n"


def test_decimal_commas_where_commas_do_not_separate(write):
    table = sx.read(write(GERMAN))
    assert table.feature_names == ["a", "b", "b=(missing)", "n"]
    assert dense(table)[:, 0].tolist() == [0.1257, 2.5, 1.25]
    assert dense(table)[:, 1].tolist() == [-0.1321, (1500 - 0.1321) / 2, 1500]
    assert "a: decimal commas" in " ".join(table.notes)
    again = encoding_from_dict(json.loads(json.dumps(table.encoding.to_dict())))
    for encoding in (table.encoding, again):
        # Alone, 1,234 might be a thousand and more; and n had no fraction in training.
        later = encoding.transform(write("a;b;n\n1,234;1;2,5\n7,125;2;3,125\n", "new.csv"))
        assert dense(later).tolist() == [[1.234, 1, 0, 2.5], [7.125, 2, 0, 3.125]]
        blocks = list(row_blocks(write("a;b;n\n1,234;1;2\n", "new.csv"), encoding))
        assert blocks[0].X.tolist() == [[1.234, 1, 0, 2]]
    plain = table.encoding.transform(write("a,b,n\n1.5,2,3\n", "new.csv"))
    assert dense(plain).tolist() == [[1.5, 2, 0, 3]]


def test_decimal_commas_without_a_header(write):
    table = sx.read(write("0,5;1,5;nein\n0,25;1;ja\n2;2;ja\n"))
    assert table.X.tolist() == [[0.5, 1.5], [0.25, 1], [2, 2]]


def test_commas_that_may_divide_thousands_are_left_to_the_user(write):
    path = write("a\ty\n1,234\tx\n5,678\tz\n", "data.tsv")
    assert sx.read(path).feature_names == ["a=1,234", "a=5,678"]
    assert "decimal=','" in " ".join(sx.read(path).notes)
    assert sx.read(path, decimal=",").X.tolist() == [[1.234], [5.678]]
    later = sx.read(path, decimal=",").encoding.transform(path)
    assert later.X.tolist() == [[1.234], [5.678]]
    sure = write("a\ty\n1,234\tx\n5,67\tz\n", "data.tsv")
    assert sx.read(sure, decimal=".").feature_names == ["a=1,234", "a=5,67"]
    both = write("a\ty\n1.234,5\tx\n5,67\tz\n", "data.tsv")
    assert "looks like numbers" in " ".join(sx.read(both).notes)
    with pytest.raises(sx.DataError, match="decimal must be"):
        sx.read(path, decimal=";")


def test_decimal_commas_seen_only_below_the_first_rows(write):
    rows = [f"{number};{'xz'[number % 2]}" for number in range(400)]
    table = sx.read(write("a;y\n" + "\n".join([*rows, "0,5;x"])))
    assert table.X[-1].tolist() == [0.5]
    rows[300] = "3o0;x"
    with pytest.raises(sx.DataError, match="'3o0' is not a number"):
        sx.read(write("a;y\n" + "\n".join([*rows, "0,5;x"])))


@pytest.mark.parametrize("cells", [("1,250", "3,000"), ("4%", "5"), ("$4", "£5"), ("1.250,5", "7")])
def test_numbers_that_leave_a_doubt_are_said_to_be_categories(write, cells):
    table = sx.read(write(f'a,y\n"{cells[0]}",0\n"{cells[1]}",1\n'))
    assert len(table.feature_names) == 2
    assert f"a: looks like numbers, such as '{cells[0]}'" in " ".join(table.notes)
    assert "looks like" not in " ".join(sx.read(write("a,y\nb 1,0\nc 2,1\n")).notes)


@pytest.mark.parametrize(
    ("cells", "values", "left_out"),
    [
        (("12.3%", "4%"), [12.3, 4.0], "'%'"),
        (("$4.50", "-$ 3"), [4.5, -3.0], "'$'"),
        (("7 €", "1,250.75 €"), [7.0, 1250.75], "'€' and commas between thousands"),
        (("1,234,567", "890"), [1234567.0, 890.0], "commas between thousands"),
    ],
)
def test_numbers_of_a_spreadsheet(write, cells, values, left_out):
    text = "a,y\n" + "".join(f'"{cell}",{k // 6}\n' for k, cell in enumerate((*cells, ""), 5))
    table = sx.read(write(text))
    assert dense(table)[:2, 0].tolist() == values
    assert dense(table)[2].tolist() == [np.median(values), 1.0]
    assert f"a: read as numbers, without {left_out}" in table.notes
    again = encoding_from_dict(json.loads(json.dumps(table.encoding.to_dict())))
    assert again == table.encoding
    blocks = list(row_blocks(write(text, "new.csv"), again, size=1))
    assert [value for block in blocks for value in block.X[:, 0].tolist()][:2] == values
    frame = pd.DataFrame({"a": cells})
    assert sx.Encoder().fit_transform(frame)[:, 0].tolist() == values
    assert sx.Encoder().fit(frame.astype("category")).get_feature_names_out()[0].startswith("a=")


@pytest.mark.parametrize(("later", "named"), [("26.5", "26.5"), ("$3", "$3"), ("1,000%", "1,000%")])
def test_later_numbers_are_written_as_in_training(write, later, named):
    encoding = sx.read(write("a,y\n5%,0\n7%,1\n")).encoding
    with pytest.raises(
        sx.DataError, match=f"with '%', in training, but here is '{re.escape(named)}'"
    ):
        encoding.transform(write(f'a\n"{later}"\n', "new.csv"))


def test_comments_above_the_names_are_left_out_and_said(write):
    table = sx.read(write("# measured in 2019, by hand\n# see notes\n\na,b,y\n1,2,0\n3,4,1\n"))
    assert (table.feature_names, table.X.tolist()) == (["a", "b"], [[1, 2], [3, 4]])
    assert "2 lines of comment (#) above the table left out" in table.notes
    assert sx.read(write("# a, b, y\na,b,y\n1,2,0\n3,4,1\n")).feature_names == ["a", "b"]
    assert sx.read(write("#a,b,y\n1,2,0\n3,4,1\n")).feature_names == ["#a", "b"]
    assert sx.read(write("#one,1,0\n#two,2,1\nthree,4,1\n")).X.shape == (3, 4)
    bare = sx.read(write("# by hand\n1,2,0\n3,4,1\n"))
    assert bare.X.tolist() == [[1, 2], [3, 4]]


def test_comments_above_are_left_out_of_blocks_too(write):
    trained = sx.read(write("# by hand\n#\na,b,y\n1,2,0\n3,4,1\n"))
    rows = "".join(f"{number},{number}\n" for number in range(50))
    path = write("# by hand\n#\na,b\n" + rows, "new.csv")
    blocks = list(row_blocks(path, trained.encoding, size=64))
    assert len(blocks) > 1
    assert np.vstack([block.X for block in blocks])[:, 0].tolist() == list(range(50))
    path.write_text("# by hand\n#\na,b\n" + rows + "x,2\n")
    with pytest.raises(sx.DataError, match="held numbers") as caught:
        list(row_blocks(path, trained.encoding, size=64))
    assert caught.value.line == 54


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([k % 24 for k in range(48)], "24 different ones in 48 rows"),
        ([f"{k % 30},5" for k in range(60)], "30 different ones in 60 rows"),
        ([k % 150 + 0.5 for k in range(1500)], "150 different ones in 1,500 rows"),
    ],
)
def test_amounts_are_no_classes(write, values, words):
    rows = "".join(f"{k % 7};{value}\n" for k, value in enumerate(values))
    path = write("a;price\n" + rows)
    with pytest.raises(sx.DataError, match=f"'price' holds numbers, {words}") as caught:
        sx.read(path)
    assert caught.value.column == 2
    assert sx.read(path, target="a").target == "a"


@pytest.mark.parametrize(
    "values",
    [[k % 20 for k in range(40)], [k % 30 for k in range(90)], [k % 20 / 2 for k in range(60)]],
)
def test_codes_of_many_classes_are_classes(write, values):
    rows = "".join(f"{k % 7},{value}\n" for k, value in enumerate(values))
    assert len(sx.read(write("a,y\n" + rows)).classes) == len(set(values))


def noted(write, head, rows):
    text = head + "".join(f"{row},{'xz'[k % 2]}\n" for k, row in enumerate(rows))
    return [note for note in sx.read(write(text)).notes if "identifier" in note]


def test_identifiers_are_said_and_kept(write):
    names = [f"{k % 3},A{k:03}" for k in range(40)]
    found = noted(write, "a,code,y\n", names)
    assert found == [
        "code: a different value in every row, looks like an identifier; leave it out with "
        "drop=['code'] (--drop 'code')"
    ]
    assert "nearly" in noted(write, "a,code,y\n", [*names, "1,A001"])[0]
    assert noted(write, "a,code,y\n", [f"{k % 3},A{k // 2}" for k in range(40)]) == []
    assert noted(write, "a,code,y\n", names[:9]) == []
    for first in (0, 1):
        counted = [f"{k + first},{k % 5}" for k in range(12)]
        assert noted(write, ",a,y\n", counted)[0].startswith("column1: counts the rows")
    assert noted(write, "a,b,y\n", [f"{k % 5},{k}" for k in range(12)]) == []
    assert noted(write, "a,b,y\n", [f"{k % 5},{k}%" for k in range(12)]) == []
    assert noted(write, "a,b,y\n", [f"{k + 2},{k % 5}" for k in range(12)]) == []
    assert "every row" in noted(write, "a,row_id,y\n", [f"{k % 5},{7 * k}" for k in range(12)])[0]
    assert noted(write, "a,group_id,y\n", [f"{k % 5},{k // 2}" for k in range(12)]) == []
    assert noted(write, "id,b,y\n", [f"{k % 5}.5,{k % 2}" for k in range(12)]) == []


# ---- decimal commas where columns have types

WRITTEN = {
    "a": ["0,1257", "2,5", "1,250", None],
    "b": ["1,234", "5,678", "NA", "2,000"],
    "c": ["x,y", "1,5", "z", "q"],
    "class": ["nein", "ja", "nein", "ja"],
}


def as_parquet(tmp_path, columns):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def framed(kind):
    return lambda _, columns: kind(columns)


@pytest.mark.parametrize(
    "make", [as_parquet, framed(pd.DataFrame), framed(pl.DataFrame), framed(pa.table)]
)
def test_decimal_commas_of_texts_that_have_a_type(make, tmp_path):
    table = sx.read(make(tmp_path, WRITTEN), target="class")
    names = ["a", "a=(missing)", "b", "b=(missing)"]
    assert table.feature_names == [*names, "c=1,5", "c=q", "c=x,y", "c=z"]
    assert dense(table)[:, 0].tolist() == [0.1257, 2.5, 1.25, 1.25]
    assert dense(table)[:, 2].tolist() == [1.234, 5.678, 2.0, 2.0]
    assert "a: decimal commas, read as numbers" in table.notes
    again = encoding_from_dict(json.loads(json.dumps(table.encoding.to_dict())))
    # Alone, 1,234 might be a thousand and more.
    later = again.transform(make(tmp_path, {"a": ["1,234"], "b": ["7"], "c": ["q"]}))
    assert dense(later)[0, :4].tolist() == [1.234, 0.0, 7.0, 0.0]
    numbers = again.transform(make(tmp_path, {"a": [1.5], "b": [7.0], "c": ["q"]}))
    assert dense(numbers)[0, :4].tolist() == [1.5, 0.0, 7.0, 0.0]
    with pytest.raises(sx.DataError, match="held numbers in training, but here is '5o'"):
        again.transform(make(tmp_path, {"a": ["1,5", "5o"], "b": ["7", "7"], "c": ["q", "q"]}))


def test_texts_that_have_a_type_and_may_be_thousands_stay_categories():
    thousands = {"b": ["1,234", "5,678"], "class": ["nein", "ja"]}
    assert sx.read(pa.table(thousands)).feature_names == ["b=1,234", "b=5,678"]
    assert "say decimal=','" in " ".join(sx.read(pa.table(thousands)).notes)
    assert sx.read(pa.table(thousands), decimal=",").X.tolist() == [[1.234], [5.678]]
    sure = {"b": ["1,5", "5,25"], "class": ["nein", "ja"]}
    assert sx.read(pa.table(sure)).X.tolist() == [[1.5], [5.25]]
    assert sx.read(pa.table(sure), decimal=".").feature_names == ["b=1,5", "b=5,25"]
    assert sx.read(pa.table(sure), categorical=["b"]).feature_names == ["b=1,5", "b=5,25"]
    mixed = {"b": ["1,5", "about 2,5"], "class": ["nein", "ja"]}
    assert sx.read(pa.table(mixed)).feature_names == ["b=1,5", "b=about 2,5"]


def test_a_type_of_categories_says_what_it_is_unless_told():
    frame = pd.DataFrame({"b": ["1,5", "5,25"], "class": ["nein", "ja"]}).astype({"b": "category"})
    assert sx.read(frame).feature_names == ["b=1,5", "b=5,25"]
    assert sx.read(frame, decimal=",").X.tolist() == [[1.5], [5.25]]


def test_amounts_with_decimal_commas_in_a_frame_are_no_classes():
    prices = [f"{k % 30},5" for k in range(60)]
    with pytest.raises(sx.DataError, match="'price' holds numbers, 30 different ones in 60 rows"):
        sx.read(pa.table({"a": list(range(60)), "price": prices}))


# ---- the target where none is named


def lines_of(*columns):
    return "\n".join(",".join(map(str, row)) for row in zip(*columns, strict=True)) + "\n"


def test_a_usual_name_of_many_numbers_is_no_target(write):
    income = ["income", *(1000 + 7 * (k % 400) for k in range(2000))]
    kept = ["bought", *("yn"[k % 2] for k in range(2000))]
    table = sx.read(write(lines_of(income, kept)))
    assert table.target == "bought"
    assert "the target is 'bought', the last column" in table.notes
    table = sx.read(write(lines_of(kept, income)))
    assert table.target == "bought"
    assert any("'bought', the last column that looks like classes" in each for each in table.notes)


def test_a_usual_name_of_few_values_is_the_target_wherever_it_stands(write):
    income = ["income", *(["<=50K", ">50K"][k % 2] for k in range(40))]
    ages = ["age", *(20 + k % 7 for k in range(40))]
    table = sx.read(write(lines_of(income, ages)))
    assert table.target == "income"
    assert "the target is 'income', by its name" in table.notes


def test_a_usual_name_over_texts_that_all_differ_is_no_target(write):
    income = ["income", *(f'"{k + 10},{100 + k}.50"' for k in range(40))]
    bought = ["bought", *(["no", "yes"][k % 2] for k in range(40))]
    assert sx.read(write(lines_of(income, bought))).target == "bought"
    assert sx.read(write(lines_of(bought, income))).target == "bought"


def test_where_no_column_names_classes_the_last_is_refused(write):
    rows = [[k + 0.5 for k in range(60)], [k / 7 for k in range(60)]]
    with pytest.raises(sx.DataError, match="choose another"):
        sx.read(write(lines_of(["a", *rows[0]], ["b", *rows[1]])))


def test_a_last_column_of_names_gives_way_to_classes(write):
    names = ["name", *(f"someone {k}" for k in range(30))]
    kept = ["bought", *("yn"[k % 2] for k in range(30))]
    table = sx.read(write(lines_of(["a", *range(30)], kept, names)), drop="name")
    assert table.target == "bought"
    assert sx.read(write(lines_of(["a", *range(30)], kept, names))).target == "bought"
