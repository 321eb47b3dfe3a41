import numpy as np
import pytest

import separatrix as sx


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


LINES = [("I like this a lot", "1"), ("not good at all", "0"), ("never\x85ever again", "0")]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_label_on_either_side(write, order, end):
    lines = ["\t".join((text, label)[::order]) for text, label in LINES]
    table = sx.read(write(end.join(lines) + end))
    assert table.kind == "text"
    assert table.y.tolist() == [1, 0, 0]
    assert {"ever", "never", "again"} <= set(table.feature_names)


def test_a_header_is_left_out_and_said(write):
    lines = ["label\ttext", *(f"{label}\t{text}" for text, label in LINES * 2)]
    table = sx.read(write("\n".join(lines)))
    assert table.classes.tolist() == [0, 1]
    assert "header" in " ".join(table.notes)


def test_two_files_are_two_classes(write, tmp_path):
    pos = write("good film\nfine\n", "films/rt.pos")
    neg = write("bad film\nd\xe9j\xe0 vu\n".encode("latin-1"), "films/rt.neg")
    for source in ([neg, pos], tmp_path / "films"):
        table = sx.read(source)
        assert sorted(table.y.tolist()) == ["neg", "neg", "pos", "pos"]
        assert "déjà" in table.feature_names
        assert "latin-1" in " ".join(table.notes)
    with pytest.raises(sx.DataError, match="not utf-8"):
        sx.read([neg, pos], encoding="utf-8")
    with pytest.raises(sx.DataError, match="no encoding"):
        sx.read([neg, pos], encoding="utf-99")


def test_a_folder_per_class(write, tmp_path):
    for name, text in (("a/1.txt", "one two"), ("a/2.txt", "two\nlines"), ("b/3.txt", "three")):
        write(text, f"corpus/{name}")
    table = sx.read(tmp_path / "corpus")
    assert table.y.tolist() == ["a", "a", "b"]
    assert table.feature_names == ["lines", "one", "three", "two"]
    later = table.encoding.transform(tmp_path / "corpus")
    assert (later.X != table.X).nnz == 0


def test_folders_that_are_no_corpus(write, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(sx.DataError, match="at least two"):
        sx.read(tmp_path / "empty")
    write("a b", "mixed/a.txt")
    write("a b", "mixed/b/c.txt")
    with pytest.raises(sx.DataError, match="both files and folders"):
        sx.read(tmp_path / "mixed")
    write("", "hollow/a.txt")
    write("one", "hollow/b.txt")
    with pytest.raises(sx.DataError, match="fewer than two"):
        sx.read(tmp_path / "hollow")
    with pytest.raises(sx.DataError, match="same class"):
        sx.read([write("x", "p/a.txt"), write("z", "q/a.csv.txt".replace(".csv", ""))])


def test_files_whose_lines_have_labels_are_joined(write, tmp_path):
    lines = "\n".join(f"{text}\t{label}" for text, label in LINES)
    write(lines, "both/one.txt")
    two = write(lines.replace("lot", "bit"), "both/two.txt")
    table = sx.read(tmp_path / "both")
    assert table.y.tolist() == [1, 0, 0] * 2
    assert {"lot", "bit"} <= set(table.feature_names)
    with pytest.raises(sx.DataError, match="those of other files have none"):
        sx.read([two, write("plain words\nwithout labels\n", "plain.txt")])


def test_what_is_no_text_is_refused(write, tmp_path):
    write(b"\0\1\2", "odd/a")
    write("words", "odd/b")
    with pytest.raises(sx.DataError, match="zero byte"):
        sx.read(tmp_path / "odd")
    with pytest.raises(sx.DataError, match="one class"):
        sx.read(write("good film\n", "film.pos"))


def test_a_table_with_a_column_of_sentences(write):
    rows = ["0,a film that I did not like at all", '1,"well, this is a film to see twice"']
    path = write("label,review\n" + "\n".join(rows), "reviews.csv")
    table = sx.read(path)
    assert table.target == "label"
    assert "film" in table.feature_names
    later = table.encoding.transform(path)
    assert (later.X != table.X).nnz == 0
    path = write("label,year,review\n0,1,so so film\n1,2,good film\n", "more.csv")
    assert sx.read(path, text="review").feature_names == ["film", "good", "so"]


def test_broken_lines_are_named(write):
    path = write("\n".join(["one two three\t1", "four five six\t0"] * 40 + ["no tab here"]))
    with pytest.raises(sx.DataError, match="no tab") as caught:
        sx.read(path)
    assert (caught.value.line, caught.value.column) == (81, 1)
    with pytest.raises(sx.DataError, match="cannot tell the label"):
        sx.read(write("a b c\td e f\ng h i\tj k l\n"), kind="text")


def test_options_reach_the_words(write):
    path = write("\n".join(f"{label}\t{text}" for text, label in LINES))
    assert "not good" in sx.read(path, ngrams=(1, 2)).feature_names
    assert len(sx.read(path, max_features=3).feature_names) == 3
    assert sx.read(path, hashing=16).X.shape == (3, 16)
    assert sx.read(path, weighting="binary").X.max() == 1
    assert "not" not in sx.read(path, stop_words=["not"]).feature_names


def test_another_kind_of_data_is_refused_later(write):
    text = sx.read(write("\n".join(f"{label}\t{text}" for text, label in LINES)))
    table = sx.read(write("a,y\n1,0\n2,1\n", "t.csv"))
    numbers = sx.read(write("1 1:2\n0 2:1\n", "t.libsvm"))
    with pytest.raises(sx.DataError, match="another kind"):
        text.encoding.transform(write("a,y\n1,0\n2,1\n", "u.csv"))
    with pytest.raises(sx.DataError, match="another kind"):
        table.encoding.transform(write("1 1:2\n0 2:1\n", "u.libsvm"))
    with pytest.raises(sx.DataError, match="none of the columns"):
        table.encoding.transform(write("b,y\n1,0\n2,1\n", "u.csv"))
    wider = numbers.encoding.transform(write("1 1:2 3:1\n0 2:1\n", "w.libsvm"))
    assert wider.X.shape == (2, 2)
    assert "left out" in " ".join(wider.notes)
    assert numbers.encoding.transform(write("1 1:2\n", "n.libsvm")).X.shape == (1, 2)


ROWS = {
    "libsvm": ("1 1:25 3:1\n-1 2:1\n1 1:3\n", "LIBSVM"),
    "csv": ("a,b,y\n12,2,0\n3,4,1\n", "a table"),
    "tsv": ("a\tb\ty\n12\t2\tx\n3\t4\tz\n", "a table"),
    "data": ("a;b;y\n1,55;2;x\n3;4;z\n", "a table"),
    "txt": ("1\t1:2 3:1 4:1\n-1\t2:1 5:1 6:1\n1\t1:3 2:2 3:1\n", "LIBSVM"),
}


@pytest.mark.parametrize("ending", ROWS)
def test_several_files_of_rows_are_not_taken_for_texts(write, tmp_path, ending):
    text, words = ROWS[ending]
    files = [write(text, f"rows/{name}.{ending}") for name in ("1", "2")]
    for source in (files, tmp_path / "rows"):
        with pytest.raises(sx.DataError, match=f"this is {words}.*--memory 1GB") as caught:
            sx.read(source)
        assert caught.value.file == str(files[0])
    if ending != "txt":
        assert sx.read(files, kind="text").classes.tolist() == [1, 2]
    with pytest.raises(sx.DataError, match="a table"):
        sx.read(files, kind="csv")


def test_folders_of_rows_are_not_taken_for_texts(write, tmp_path):
    for name in ("train/a.csv", "test/b.csv"):
        write(ROWS["csv"][0], f"sets/{name}")
    with pytest.raises(sx.DataError, match="this is a table"):
        sx.read(tmp_path / "sets")
    assert sx.read(tmp_path / "sets", kind="text").classes.tolist() == ["test", "train"]


def test_several_arrays_are_not_taken_for_texts(tmp_path):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, np.ones((3, 2)))
    with pytest.raises(sx.DataError, match="this is an array"):
        sx.read(tmp_path)


def test_texts_with_commas_are_still_texts_and_the_classes_are_said(write, tmp_path):
    good = write("a fine film, well made\na joy, really\n", "films/good.txt")
    bad = write("a dull film, badly made\na bore, really\n", "films/bad.txt")
    for source in ([good, bad], tmp_path / "films"):
        table = sx.read(source)
        assert table.classes.tolist() == ["bad", "good"]
        assert "each file is taken as one class" in " ".join(table.notes)
    write("a text, of one file\n", "folders/a/1")
    write("1, 2\n3, 4\n", "folders/b/2")
    assert "each folder is taken as one class" in sx.read(tmp_path / "folders").notes[0]


def test_a_tsv_file_without_names_may_be_labelled_text(write):
    lines = [
        "neg\tdull dull plot",
        "pos\ta joy to see",
        "neg\tnot worth it",
        "pos\tgood film indeed",
    ]
    table = sx.read(write("\n".join(lines), "films.tsv"))
    assert (table.kind, table.y.tolist()) == ("text", ["neg", "pos", "neg", "pos"])
    named = sx.read(write("\n".join(["film review\tclass", *lines]), "named.tsv"), target=1)
    assert (named.kind, named.target) == ("csv", "film review")
    rows = sx.read(write("a\tb\n1\tx\n2\tz\n", "rows.tsv"))
    assert (rows.kind, rows.target) == ("csv", "b")
