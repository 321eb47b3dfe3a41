import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import separatrix as sx
from separatrix.data.encodings.columns import is_number
from separatrix.data.readers import delimited
from separatrix.data.readers.delimited import parse_delimited, read_grid
from separatrix.data.sources.streams import Source, open_source

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.integers(0, 10**22).map(lambda digits: f"0.{digits:022d}"),
    st.sampled_from(["+1", ".5", "5.", "1E3", "-0", "1e-400", "1e999", "00012", "-.5e-3"]),
)
words = st.sampled_from(
    ["?", "NA", "a b", "-", ".", "e5", "1e", "1.2.3", "été", "0x10", "--1", "1-2"]
)
cells = st.one_of(numbers, numbers, st.just(""), words)


@st.composite
def tables(draw):
    """Rows of cells with blanks around them, and the text that holds them."""
    separator = draw(st.sampled_from(",;\t"))
    width = draw(st.integers(2, 4))
    rows = draw(
        st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=6).filter(
            lambda rows: all(any(row) for row in rows)
        )
    )
    blanks = [" ", ""] if separator == "\t" else [" ", "", "\t"]
    end = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    lines = [
        separator.join(
            draw(st.sampled_from(blanks)) + cell + draw(st.sampled_from(blanks)) for cell in row
        )
        for row in rows
    ]
    return rows, separator, (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


@given(tables(), st.integers(1, 60))
def test_agrees_with_float(table, chunk):
    rows, separator, data = table
    before, delimited.CHUNK = delimited.CHUNK, chunk
    try:
        values, marked, fault = read_grid(Source("x", data), separator, len(rows[0]), 0)
    finally:
        delimited.CHUNK = before
    assert fault == -1
    assert values.shape == (len(rows), len(rows[0]))
    for place in range(len(rows[0])):
        column = [row[place] for row in rows]
        assert marked[place] == any(cell and not is_number(cell) for cell in column)
        for cell, value in zip(column, values[:, place].tolist(), strict=True):
            if is_number(cell):
                assert math.copysign(1, value) == math.copysign(1, float(cell))
                assert value == float(cell)
            else:
                assert math.isnan(value)


@given(tables(), st.data())
def test_a_line_of_another_width_is_found(table, data):
    rows, separator, text = table
    lines = text.split(b"\n")
    held = [number for number, line in enumerate(lines) if line.strip(b"\r")]
    broken = data.draw(st.sampled_from(held))
    lines[broken] = lines[broken].rstrip(b"\r") + separator.encode() + b"7"
    source = Source("x", b"\n".join(lines))
    _, _, fault = read_grid(source, separator, len(rows[0]), 0)
    assert fault == len(b"\n".join([*lines[:broken], b""]))


def test_quoted_and_plain_cells_read_the_same(tmp_path):
    draw = np.random.default_rng(0)
    numbers = draw.normal(size=(40, 3)).round(12)
    plain = "\n".join(
        ",".join(map(repr, [*row, at % 2])) for at, row in enumerate(numbers.tolist())
    )
    (tmp_path / "plain.csv").write_text(plain)
    quoted = "\n".join(
        ",".join(f'"{cell}"' for cell in line.split(",")) for line in plain.split("\n")
    )
    (tmp_path / "quoted.csv").write_text(quoted)
    tables = [sx.read(tmp_path / name) for name in ("plain.csv", "quoted.csv")]
    assert (numbers == tables[0].X).all()
    assert (numbers == tables[1].X).all()
    assert (tables[0].y == tables[1].y).all()


def test_numbers_of_many_digits_are_settled_by_python(tmp_path):
    path = tmp_path / "long.csv"
    half = str(2 * (2**53 - 1) + 1) + ".00000000000000000000000000001"
    path.write_text(f"a,y\n{half},0\n1,1\n")
    assert sx.read(path).X[0, 0] == float(half)
    path.write_text("a,y\n1.79769313486231580794e308,0\n1,1\n")
    with pytest.raises(sx.DataError, match="too large"):
        sx.read(path)


def test_columns_of_finite_numbers_are_known_to_be_plain(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b,c,y\n1,2,x,0\n3,,z,1\n5,6,x,0\n")
    columns = parse_delimited(open_source(path)).columns
    assert [column.is_plain for column in columns] == [True, False, False, True]
    table = sx.read(path, target="y")
    assert any("b: 1 missing" in note for note in table.notes)
