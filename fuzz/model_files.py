"""Mutated model files by the million: refused, or loaded as numbers; no crash, no hang, no memory.

    python -m fuzz.model_files --files 1000000       as `make harden` runs it
    python -m fuzz.model_files --files 2000 --seed 7

Three kinds of mutants. *Altered*: bytes changed, nothing else; every one must be refused.
*Resealed*: bytes changed behind the hash and the hash put right. *Forged*: the header read, a value
in its tree exchanged for a hostile one (or a branch moved, doubled, dropped; an array given another
type or shape), and all put together again. Resealed and forged files may load, since who can write
a file can write its hash; what loads predicts a row, what was learned from a stream learns on, and
some are saved again. Some mutants run under a line tracer: one that reaches a line no other has
reached joins the seeds (coverage guidance).

Fails the run: an error that is no ModelFileError, over a second of processor time, over 256 MB, an
altered file that loads, or the death of the process that loads them (each batch has a forked one).
Such a file is kept, and the rest of the batch goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import marshal
import os
import random
import resource
import struct
import sys
import time
import traceback
import warnings
from collections import Counter
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import separatrix as sx
from fuzz.model_seeds import model_files
from fuzz.reading import mutate
from separatrix.storage.model_file import MAGIC, from_bytes, to_bytes
from separatrix.storage.stream_checkpoint import checkpoint_of

SLOWEST = 1.0
MOST_MEMORY = 256 << 20
TRACED = 16  # one mutant in so many
SAVED_AGAIN = 8
HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**53, -(2**62), 10**30, 0.5, 1e308, "", "x", "0x0",
    "-0x1", "inf", "nan", "__class__", "predict", "os.system", "\ud800", "é" * 9, "x" * 3000, [],
    {}, [[]], [None], {"is": "eval"}, {"is": "float", "hex": "nan"}, {"is": "float", "hex": "inf"},
    {"is": "array", "number": "0", "columns": True}, {"is": "array", "number": "1", "columns": 0},
    {"is": "tuple", "items": []}, {"is": "dict", "pairs": [[1, 2]]}, {"is": "integer", "hex": "f"},
    {"is": "texts", "of": "text", "shape": [1], "items": ["a"]},
    {"is": "texts", "of": "object", "shape": [-1, 2], "items": ["a", "b"]},
    {"is": "fraction", "parts": ["0x1", "0x0"]}, {"is": "status", "name": "OPTIMAL"},
    {"is": "record", "name": "Calibration", "fields": {}},
    {"is": "estimator", "estimator": "LinearSVM", "parameters": {}, "fitted": {}},
    {"is": "sparse", "of": "csr_array", "shape": [2**40, 2**40], "parts": []},
]  # fmt: skip
DTYPES = ("F64", "F32", "I64", "I32", "U8", "BOOL", "F16", "BF16", "U64")


# ---- mutants


def sealed(body: bytes) -> bytes:
    """Return a file whose hash is right, whatever the body."""
    return MAGIC + hashlib.sha256(MAGIC + body).digest() + body


@lru_cache(maxsize=4096)
def _kept(contents: bytes) -> tuple[bytes, bytes, list[tuple[Any, ...]]]:
    """Return the header in a form that is fast to read again, the arrays, and all places."""
    header, arrays = parts(contents)
    return marshal.dumps(header), arrays, places(header)


def copied(plain: Any) -> Any:
    """Return a copy of plain data: much faster than `copy.deepcopy`."""
    return marshal.loads(marshal.dumps(plain))


def parts(contents: bytes) -> tuple[Any, bytes]:
    (length,) = struct.unpack_from("<Q", contents, 40)
    header = json.loads(contents[48 : 48 + length].decode("utf-8", "surrogatepass"))
    return header, contents[48 + length :]


def joined(header: Any, arrays: bytes) -> bytes:
    text = json.dumps(header, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return sealed(struct.pack("<Q", len(text)) + text + arrays)


def places(tree: Any) -> list[tuple[Any, ...]]:
    """List every place in a tree, as the keys that lead to it."""
    found: list[tuple[Any, ...]] = []
    left: list[tuple[tuple[Any, ...], Any]] = [((), tree)]
    while left and len(found) < 4000:
        path, node = left.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            found.append((*path, key))
            if isinstance(value, dict | list):
                left.append(((*path, key), value))
    return found


def holder_of(tree: Any, found: list[tuple[Any, ...]], draw: random.Random) -> tuple[Any, Any]:
    """Return the container and the key of a place that is still there."""
    while True:
        *path, key = draw.choice(found)
        node = tree
        try:
            for each in path:
                node = node[each]
            node[key]
        except (LookupError, TypeError):
            continue
        if isinstance(node, dict | list):
            return node, key


def forge_tree(header: Any, found: list[tuple[Any, ...]], draw: random.Random) -> None:
    """Exchange, move, double or drop a few branches."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if not header:
            return
        holder, key = holder_of(header, found, draw)
        choice = draw.random()
        if choice < 0.5:
            holder[key] = copied(draw.choice(HOSTILE))
        elif choice < 0.6 and isinstance(holder[key], int):
            holder[key] += draw.choice((-1, 1, 1000, 2**33))
        elif choice < 0.8:
            other, its_key = holder_of(header, found, draw)
            holder[key] = copied(other[its_key])
        elif choice < 0.9 and isinstance(holder, dict):
            holder[draw.choice(("extra_", "classes_", "coef_", "is", "fields"))] = copied(
                holder[key]
            )
        elif isinstance(holder, dict):
            del holder[key]
        else:
            holder += copied(holder)


def forge_arrays(arrays: bytes, draw: random.Random) -> bytes:
    """Give an array another type, shape, place or name, or its numbers odd values."""
    (length,) = struct.unpack_from("<Q", arrays, 0)
    table, data = json.loads(arrays[8 : 8 + length]), bytearray(arrays[8 + length :])
    named = [name for name in table if name != "__metadata__"]
    if not named:
        return arrays
    one = table[draw.choice(named)]
    choice = draw.randrange(5)
    if choice == 0:
        one["dtype"] = draw.choice(DTYPES)
    elif choice == 1:
        one["shape"] = draw.choice(([], [0], [1], [2, 2], [2**40], one["shape"][::-1], [-1]))
    elif choice == 2:
        one["data_offsets"] = sorted(draw.randrange(len(data) + 9) for _ in range(2))
    elif choice == 3:
        table[draw.choice(("0", "7", "x"))] = one
    elif len(data) >= 8:
        at = draw.randrange(len(data) // 8) * 8
        odd = draw.choice((np.nan, np.inf, -0.0, 1e308, 5e-324))
        data[at : at + 8] = struct.pack("<d", odd)
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def mutant(seed: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Return a mutant and its kind."""
    choice = draw.random()
    if choice < 0.25:
        altered = seed
        while altered == seed:
            altered = mutate(seed, draw, words=False)
        return "altered", altered
    if choice < 0.45:
        body = mutate(seed[40:], draw, words=draw.random() < 0.5)
        return "resealed", sealed(body)
    kept, arrays, found = _kept(seed)
    header = marshal.loads(kept)
    if choice < 0.9:
        forge_tree(header, found, draw)
    if choice >= 0.8:
        arrays = forge_arrays(arrays, draw)
    return "forged", joined(header, arrays)


# ---- coverage


class Lines:
    """The lines of the file format's code that were reached, by a tracer of this process alone."""

    def __init__(self) -> None:
        root = Path(sx.__file__).parent
        self._files = {str(path) for path in (root / "storage").glob("*.py")}
        self._files |= {
            str(root / "data" / "encodings" / name) for name in ("labels.py", "encoding.py")
        }
        self.reached: set[tuple[str, int]] = set()

    def _trace(self, frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        if event == "line":
            self.reached.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace

    def watch(self, function: Any, *arguments: Any) -> tuple[Any, bool]:
        """Run, and say whether a new line was reached."""
        before, other = len(self.reached), sys.gettrace()
        sys.settrace(self._trace)
        try:
            return function(*arguments), len(self.reached) > before
        finally:
            sys.settrace(other)  # whoever measures the tests goes on measuring


# ---- one file, one batch, all


def load_one(kind: str, contents: bytes) -> str:
    """Return what happened, in a word; raise for what may not happen."""
    try:
        whole = from_bytes(contents)
    except sx.ModelFileError:
        return "refused"
    if kind == "altered":
        raise AssertionError("an altered file was accepted")
    if hasattr(whole.model, "_stream"):
        go_on(whole)
    if len(contents) % SAVED_AGAIN:
        return "loaded"
    try:
        to_bytes(whole.model)
    except sx.ModelFileError:
        return "loaded, not kept"
    return "loaded"


def go_on(whole: Any) -> None:
    """Learn two more rows: shapes from the file are what compiled loops write by.

    Parameters may be nonsense, and are refused as such; the process must live.
    """
    model = whole.model
    rows, labels = np.ones((2, model.n_features_in_)), model.classes_[:2]
    with contextlib.suppress(sx.ModelFileError, sx.DataError):
        if "stream" in whole.about:
            learner = checkpoint_of(whole, 1 << 20).learner
            learner.learn(rows, np.arange(2))
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(rows, labels)


@cache
def seeds() -> tuple[bytes, ...]:
    """Return the files to start from, made once."""
    return tuple(model_files().values())


def batch(files: int, seed: int, keep: Path, guided: bool = True) -> Counter[str]:
    """Load many mutants in this process."""
    draw = random.Random(seed)
    corpus = list(seeds())
    for contents in corpus:  # import and compile first, so that no mutant pays for it
        load_one("seed", contents)
    lines, outcomes = Lines(), Counter[str]()
    for number, contents in enumerate(corpus):
        lines.watch(load_one, "seed", contents)
        outcomes["seeds"] = number + 1
    memory = largest_memory()
    for number in range(files):
        parent = draw.choice(corpus)
        kind, contents = mutant(parent, draw)
        begun, word, new = time.process_time(), "failed", False
        try:
            if guided and number % TRACED == 0:
                word, new = lines.watch(load_one, kind, contents)
            else:
                word = load_one(kind, contents)
        except Exception:
            traceback.print_exc()
        if new and kind != "altered" and is_readable(contents) and len(contents) < 1 << 16:
            corpus.append(contents)
            outcomes["seeds"] += 1
        spent, growth = time.process_time() - begun, largest_memory() - memory
        if spent > SLOWEST or growth > MOST_MEMORY:
            print(f"{kind}: {spent:.2f} s, {growth >> 20} MB", file=sys.stderr)
            memory, word = largest_memory(), "failed"
        if word == "failed":
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"model-{seed}-{number}").write_bytes(contents)
        outcomes[f"{kind}, {word}"] += 1
        outcomes["slowest, microseconds"] = max(outcomes["slowest, microseconds"], int(1e6 * spent))
    outcomes["memory, MB"] = (largest_memory() - memory) >> 20
    outcomes["lines reached"] = len(lines.reached)
    return outcomes


def is_readable(contents: bytes) -> bool:
    """Whether a mutant can be mutated again as a tree."""
    try:
        header, arrays = parts(contents)
        json.loads(arrays[8 : 8 + struct.unpack_from("<Q", arrays, 0)[0]])
        return isinstance(header, dict) and len(arrays) >= 8
    except Exception:
        return False


def largest_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def together(all_of_them: Counter[str], one: dict[str, int]) -> None:
    for word, count in one.items():
        most = any(part in word for part in ("slowest", "memory", "lines", "seeds"))
        all_of_them[word] = max(all_of_them[word], count) if most else all_of_them[word] + count


def in_a_worker(files: int, seed: int, keep: Path) -> dict[str, int] | None:
    """Run a batch in a forked child, which has the seeds already; None where the child died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            with os.fdopen(writer, "w") as pipe:
                json.dump(batch(files, seed, keep), pipe)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    return None if os.waitpid(child, 0)[1] else json.loads(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"))
    told = parser.parse_args()
    outcomes, done, failed = Counter[str](), 0, 0
    begun = time.perf_counter()
    for contents in seeds():  # imported and compiled once, for all workers
        load_one("seed", contents)
    while done < told.files:
        count = min(told.batch, told.files - done)
        seed = told.seed + done
        found = in_a_worker(count, seed, told.keep)
        done += count
        if found is None:
            failed += 1
            print(f"the worker of the batch of seed {seed} died")
        else:
            together(outcomes, found)
        print(f"{done} files, {failed} workers died, {dict(outcomes)}", flush=True)
    print(f"separatrix {sx.__version__}, {time.strftime('%Y-%m-%d')}, seed {told.seed}:")
    print(f"{done} files in {time.perf_counter() - begun:.0f} s, {failed} workers died")
    for word in sorted(outcomes):
        print(f"  {word}: {outcomes[word]:,}")
    wrong = sum(count for word, count in outcomes.items() if "failed" in word)
    sys.exit(1 if failed or wrong else 0)


if __name__ == "__main__":
    main()
