"""Mutated files, by the hundred thousand: each must give a table or one DataError, and quickly.

    python -m fuzz.reading --files 200000            all formats, as `make fuzz` runs it
    python -m fuzz.reading --files 5000 --format csv --seed 7

A file fails the run if reading it raises anything but a DataError that names file, line and column,
takes over a second, or makes the process grow by over 64 MB. Errors on JSON, ARFF and Excel name
the format. Half of the Excel files are mutated within: a part of the workbook, packed again.
The failing file is kept in the folder given by --keep.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import random
import resource
import struct
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
from pyarrow import feather, parquet

import separatrix as sx

SLOWEST = 1.0
MOST_GROWTH = 64 << 20
TEXT_FORMATS = ("libsvm", "csv", "text", "jsonl", "json", "arff")
# What a file may have become, by its first bytes.
OTHERS = (
    "JSON", "ARFF", "Excel", "(read as ", "this is a", "the file is empty", ".gz file", ".bz2 file",
    ".xz file", ".zst file",
)  # fmt: skip
TITLES = {"jsonl": "JSON", "json": "JSON", "arff": "ARFF", "xlsx": "Excel"}

LIBSVM = b"+1 1:0.5 3:-2e-3 # note\n-1 2:1 7:12345678901234567890.5\r\n\n1 qid:3 1:.5 4:4.9e-324\n"
CSV = (
    b'age,job,"long, name",y\n39,cook,?,yes\n50, clerk ,1.5,no\n28,"a ""b""\nc",2,yes\n,x,3e2,no\n'
)
PLAIN = b"39, Private, 77516, <=50K\n50, ?, 83311, >50K\n38, Private, 215646, <=50K\n"
COMMAS = (
    b"# of 2019\n#\nid;a;b;share;y\n1;0,125;-1,5e3;12,5%;no\n2;1,234;;$4.50;yes\n3;7;2;1.250,5;no\n"
)
TEXT = "a very good film\t1\nnot a good film \x85 at all\t0\nété comme hiver oui\t1\n".encode()
SPECIAL = [
    b"\n", b"\r", b"\t", b",", b";", b":", b'"', b"#", b" ", b"\0", b"\xff", b"\xc2\x85", b"-",
    b"+", b"e", b".", b"1e999", b"1e-999", b"nan", b"inf", b"9" * 30, b"qid:", b"0:", b"?",
    b"2147483647:1", b"1" * 400, b'""', b"\xef\xbb\xbf", b"\xed\xa0\x80", b"NA", b"2020-01-01",
    b"\n\n\n", b"{", b"}", b"[", b"]", b"\\", b"'", b"%", b"@data\n", b"null", b"NaN", b'{"a":',
    b"\\ud800", b"true", b"[[[[[[", b"1e400", b"{0 1}", b"@attribute q {a,b}\n", b"{5}",
]  # fmt: skip


JSON_LINES = (
    b'{"age": 39, "job": "cook", "x": null, "y": "yes"}\n'
    b'{"age": 50.5, "job": "a \\"b\\"", "y": "no"}\n\n'
    b'{"age": -1e-3, "x": 7, "y": "yes", "more": true}\n{"age": 28, "job": "\\u00fc", "y": "no"}\n'
)
JSON_VECTORS = b'{"v": [0.5, 1], "y": 0}\n{"v": [1.5, -2e3], "y": 1}\n{"v": [2, 3], "y": 1}\n'
ARRAY = b'[\n {"a": 1, "y": "n"},\n {"a": 2.5,\n  "y": "p"}, {"a": NaN, "y": "n"}\n]\n'
ARFF = (
    b"% of 2019\n@RELATION people\n@attribute age numeric\n@attribute 'the job' {cook,'a clerk'}\n"
    b"@attribute note string\n@attribute class {no,yes}\n\n@data\n39,cook,'it\\'s',no\n"
    b"50, 'a clerk' ,?,yes\n% more\n28,cook,\"b, c\",no\n{0 1, 2 'x', 3 yes}\n"
)
PLAIN_ARFF = b"@relation r\n@attribute a real\n@attribute y {n,p}\n@data\n1,n\n2.5,p\n?,n\n"


def excel_bytes() -> bytes:
    book = openpyxl.Workbook()
    for row in (
        ["a", "job", "on", "y"],
        [1, "x", True, "n"],
        [2.5, "y", None, "p"],
        [3, "x", False, "n"],
    ):
        book.active.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


# A workbook of the parts that none can do without: read in half the time that a full one takes.
_SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_BARE_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_KIND}.sharedStrings+xml"/>'
    "</Types>",
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_SPREADSHEET}" xmlns:r="{_RELATIONS}"><sheets>'
    '<sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>'
    "</Relationships>",
    "xl/sharedStrings.xml": f'<sst xmlns="{_SPREADSHEET}" count="5" uniqueCount="5">'
    "<si><t>a</t></si><si><t>y</t></si><si><t>n</t></si><si><t>p</t></si><si><t>?</t></si></sst>",
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SPREADSHEET}"><dimension ref="A1:B5"/>'
    '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
    '<row r="2"><c r="A2"><v>1</v></c><c r="B2" t="s"><v>2</v></c></row>'
    '<row r="3"><c r="A3"><f>A2*2.5</f><v>2.5</v></c><c r="B3" t="s"><v>3</v></c></row>'
    '<row r="4"><c r="A4" t="e"><v>#N/A</v></c><c r="B4" t="s"><v>2</v></c></row>'
    '<row r="5"><c r="A5"><v>-3e-2</v></c><c r="B5" t="s"><v>3</v></c></row>'
    "</sheetData></worksheet>",
}


def packed(parts: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as book:
        for name, part in parts.items():
            book.writestr(zipfile.ZipInfo(name), part)
    return sink.getvalue()


def bare_excel_bytes(formula: bool) -> bytes:
    parts = {name: part.encode() for name, part in _BARE_PARTS.items()}
    if not formula:
        sheet = "xl/worksheets/sheet1.xml"
        parts[sheet] = parts[sheet].replace(b"<f>A2*2.5</f>", b"")
    return packed(parts)


@cache
def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        return {name: book.read(name) for name in book.namelist()}


def repacked(data: bytes, draw: random.Random) -> bytes:
    """Mutate one part of a workbook and pack it again."""
    parts = parts_of(data)
    sheets = [name for name in parts if "sheet" in name or "shared" in name]
    chosen = draw.choice(sheets if draw.random() < 0.7 else list(parts))
    return packed(parts | {chosen: mutate(parts[chosen], draw, True)})


def mutated(format_name: str, data: bytes, draw: random.Random, words: bool) -> bytes:
    if format_name == "xlsx" and draw.random() < 0.5:
        return repacked(data, draw)
    return mutate(data, draw, words)


def arrow_table() -> pa.Table:
    return pa.table({"a": [1.5, None, 3.0], "job": ["x", "y", None], "y": [0, 1, 1]})


def parquet_bytes() -> bytes:
    sink = io.BytesIO()
    parquet.write_table(arrow_table(), sink)
    return sink.getvalue()


ROWS = np.array([[0.5, -1.0, 2.0], [1.5, 0.0, -2.0], [3.0, 1.0, 1.0]], dtype=np.float32)
LABELS = np.array([0, 1, 1])


def npy_bytes(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=array.dtype.kind == "O")
    return sink.getvalue()


def npz_bytes(save: object, **arrays: np.ndarray) -> bytes:
    sink = io.BytesIO()
    save(sink, **arrays)  # type: ignore[operator]
    return sink.getvalue()


def safetensors_bytes(**arrays: tuple[str, np.ndarray]) -> bytes:
    """Write tensors as their format says, types that NumPy does not know included."""
    index, data = {}, b""
    for name, (kind, array) in arrays.items():
        octets = array.tobytes()
        places = [len(data), len(data) + len(octets)]
        index[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": places}
        data += octets
    header = json.dumps(index).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def embedding_bytes() -> bytes:
    kind = pa.list_(pa.float32(), 3)
    rows = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), type=kind)
    sink = io.BytesIO()
    parquet.write_table(pa.table({"embedding": rows, "label": ["a", "b", "b"]}), sink)
    return sink.getvalue()


def arrow_bytes() -> bytes:
    sink = io.BytesIO()
    feather.write_feather(arrow_table(), sink, compression="uncompressed")
    return sink.getvalue()


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


SEEDS = {
    "libsvm": [LIBSVM, b"0 0:1 1:2\n1 5:1\n", b"cat 1:1\ndog 2:2\n"],
    "csv": [CSV, PLAIN, COMMAS, b"a;b\n1,5;x\n2,5;y\n", b"k\tv\nd\tc\nclass\t\nx\t1\ny\t2\n"],
    "text": [TEXT, b"ham\tgo there now please\nspam\tfree money for you\nham\tok then see you\n"],
    "jsonl": [JSON_LINES, JSON_VECTORS],
    "json": [ARRAY, JSON_LINES],
    "arff": [ARFF, PLAIN_ARFF, PLAIN],
    "xlsx": [excel_bytes(), *5 * [bare_excel_bytes(False)], bare_excel_bytes(True)],
    "parquet": [parquet_bytes(), embedding_bytes()],
    "npy": [npy_bytes(ROWS), npy_bytes(np.asfortranarray(ROWS.astype(np.float64)))],
    "npz": [
        npz_bytes(np.savez, X=ROWS, y=LABELS),
        npz_bytes(np.savez_compressed, embeddings=ROWS, labels=np.array(["a", "b", "b"])),
    ],
    "safetensors": [
        safetensors_bytes(X=("F32", ROWS), y=("I64", LABELS)),
        safetensors_bytes(
            labels=("U8", LABELS.astype(np.uint8)),
            embeddings=("BF16", (ROWS.view(np.uint32) >> 16).astype(np.uint16)),
        ),
    ],
    "arrow": [arrow_bytes()],
    "idx": [struct.pack(">BBBB3I", 0, 0, 8, 3, 2, 2, 1) + bytes([1, 2, 3, 4])],
    "gz": [gzip.compress(LIBSVM), gzip.compress(CSV)],
    "bz2": [bz2.compress(LIBSVM)],
    "xz": [lzma.compress(LIBSVM)],
    "zst": [zstd(LIBSVM)],
}


def mutate(data: bytes, draw: random.Random, words: bool) -> bytes:
    """Change a few bytes, insert or repeat pieces, or cut the file short."""
    mutated = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        at = draw.randrange(len(mutated) + 1)
        length = draw.choice((1, 1, 2, 5, 20))
        choice = draw.random()
        if choice < 0.3 and mutated:
            mutated[min(at, len(mutated) - 1)] = draw.randrange(256)
        elif choice < 0.5 and words:
            mutated[at:at] = draw.choice(SPECIAL)
        elif choice < 0.65:
            del mutated[at : at + length]
        elif choice < 0.8:
            mutated[at:at] = mutated[at : at + length] * draw.choice((1, 2, 50))
        elif choice < 0.9:
            mutated[at : at + length] = draw.randbytes(length)
        else:
            del mutated[at:]
    return bytes(mutated)


def read_one(path: Path) -> str:
    """Return what happened, in a word; raise for what may not happen."""
    title = TITLES.get(path.suffix[1:])
    beside = path.with_name("labels.npy")
    try:
        table = sx.read(path, labels=beside if beside.exists() else None)
    except sx.DataError as error:
        if error.file is None or "\n" in str(error):
            raise AssertionError(
                f"the error does not name the file in one line: {error}"
            ) from error
        if not (error.line and error.column):
            raise AssertionError(f"the error has no line and column: {error}") from error
        if title is not None and not any(each in str(error) for each in OTHERS):
            raise AssertionError(f"the error does not name the format: {error}") from error
        return "refused"
    if len(table.y) != table.X.shape[0] or len(table.feature_names) != table.X.shape[1]:
        raise AssertionError("the table does not fit together")
    return "read"


def largest_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fuzz(format_name: str, files: int, seed: int, keep: Path) -> bool:
    """Read many mutated files of one format; return whether all went well."""
    draw = random.Random(f"{format_name} {seed}")
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as where:
        path = Path(where) / f"case.{format_name}"
        if format_name == "idx":
            path = Path(where) / "case-images-idx3-ubyte"
            labels = struct.pack(">BBBBI", 0, 0, 8, 1, 2) + bytes([0, 1])
            path.with_name("case-labels-idx1-ubyte").write_bytes(labels)
        if format_name == "npy":
            path.with_name("labels.npy").write_bytes(npy_bytes(LABELS))
        alone = ("idx", "npy")  # their labels are in a file beside them
        for name, seeds in SEEDS.items():  # compile and import first, so that no file pays for it
            if (format_name in alone or name in alone) and name != format_name:
                continue
            for data in seeds:
                path.write_bytes(data)
                read_one(path)
        memory = largest_memory()
        started = time.perf_counter()
        for number in range(files):
            seeds = SEEDS[format_name]
            data = mutated(format_name, draw.choice(seeds), draw, format_name in TEXT_FORMATS)
            path.write_bytes(data)
            begun = time.process_time()
            try:
                outcomes[read_one(path)] += 1
            except Exception:
                kept = keep / f"{format_name}-{seed}-{number}"
                keep.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
                traceback.print_exc()
                print(f"{format_name}: file {number} failed; kept as {kept}")
                return False
            slowest = max(slowest, time.process_time() - begun)
        wall = time.perf_counter() - started
    growth = largest_memory() - memory
    print(
        f"{format_name:8} {files:7} files, {outcomes['read']:6} read, {outcomes['refused']:6} "
        f"refused, slowest {slowest * 1000:.0f} ms, memory +{growth / 2**20:.0f} MB, {wall:.0f} s",
        flush=True,
    )
    return slowest <= SLOWEST and growth <= MOST_GROWTH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--format", choices=SEEDS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"))
    told = parser.parse_args()
    fine = [fuzz(name, told.files, told.seed, told.keep) for name in told.format or SEEDS]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
