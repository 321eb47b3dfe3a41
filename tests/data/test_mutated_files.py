"""A small helping of what ``make fuzz`` does at length."""

import random

import pytest
from fuzz.reading import LABELS, SEEDS, mutated, npy_bytes, read_one

from tests.amounts import cases


@pytest.mark.parametrize("format_name", SEEDS)
def test_a_table_or_one_data_error(tmp_path, format_name):
    draw = random.Random(format_name)
    name = "case-images-idx3-ubyte" if format_name == "idx" else f"case.{format_name}"
    if format_name == "npy":
        (tmp_path / "labels.npy").write_bytes(npy_bytes(LABELS))
    outcomes = set()
    for _ in cases(2400):
        data = mutated(format_name, draw.choice(SEEDS[format_name]), draw, words=True)
        (tmp_path / name).write_bytes(data)
        outcomes.add(read_one(tmp_path / name))
    assert "refused" in outcomes
