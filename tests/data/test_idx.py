import struct

import pytest

import separatrix as sx


def idx(*shape, body=b""):
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + body


def test_images_and_labels_beside_them(tmp_path):
    (tmp_path / "t-images-idx3-ubyte").write_bytes(idx(2, 2, 1, body=bytes([1, 2, 3, 4])))
    (tmp_path / "t-labels-idx1-ubyte").write_bytes(idx(2, body=bytes([7, 9])))
    table = sx.read(tmp_path / "t-images-idx3-ubyte")
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.y.tolist() == [7, 9]
    assert list(table.feature_names) == ["pixel0", "pixel1"]
    assert table.encoding.transform(tmp_path / "t-images-idx3-ubyte").X.shape == (2, 2)


@pytest.mark.parametrize(
    ("images", "labels", "words"),
    [
        (idx(2, 2, 1, body=b"123"), b"", "promises"),
        (b"\0\0\x08\x03\0\0\0\x01", b"", "cut short"),
        (idx(1, 1, 1, body=b"1"), None, "beside it"),
        (idx(1, 1, 1, body=b"1"), idx(2, body=b"12"), "1 images"),
        (idx(2**31, 2**31, 2**31, body=b"1"), b"", "promises"),
        (idx(0, 2**32 - 1, 2**32 - 1), b"", "promises 0 bytes"),
    ],
)
def test_what_is_broken_is_named(tmp_path, images, labels, words):
    (tmp_path / "t-images-idx3-ubyte").write_bytes(images)
    if labels is not None:
        (tmp_path / "t-labels-idx1-ubyte").write_bytes(labels)
    with pytest.raises(sx.DataError, match=words):
        sx.read(tmp_path / "t-images-idx3-ubyte")
