"""Machine code: the only place that imports numba, which is when the first loop runs.

Loops release the interpreter lock, and their machine code is kept on disk between processes. Three
things differ from ``numba.njit(cache=True)``:

- The cache is keyed by a hash of every source file that can hold a loop. (numba looks only at the
  file of the outer function, so a helper edited elsewhere would leave a stale loop behind.)
- Nothing about the cache can break a call. A read-only home, a full disk, a truncated or altered
  cache file: each is a cache miss, and the loop is compiled in memory.
- The cache lives in a folder of our own and numba's global settings stay as the user has them.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import caching, cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.extending import intrinsic, overload

from separatrix._write_aside import cache_home

__all__ = ["cache_home", "dispatcher_of", "overloaded", "prefetched", "source_stamp"]

_PACKAGE = Path(__file__).parent
_FOLDERS_WITH_LOOPS = ("problem", "solvers", "data", "infer")
_DAYS_KEPT = 30
_STAMP_PATTERN = re.compile("[0-9a-f]{16}")

# Sums may be reordered so that they use vector instructions; NaN and inf keep their meaning.
_REORDERED_SUMS = {"reassoc", "contract"}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": _REORDERED_SUMS}


def source_stamp() -> str:
    """Hash every source file that can hold a loop, and how loops are compiled."""
    digest = hashlib.sha256()
    files = [_PACKAGE / "_machine_code.py", _PACKAGE / "_compiled.py"]
    for folder in _FOLDERS_WITH_LOOPS:
        files += sorted((_PACKAGE / folder).rglob("*.py"))
    for file in files:
        name = file.relative_to(_PACKAGE).as_posix().encode()
        digest.update(name + b"\0" + file.read_bytes() + b"\0")
    if numba.config.BOUNDSCHECK:  # loops that check every index are other machine code
        digest.update(b"bounds")
    return digest.hexdigest()[:16]


def _forget_old_versions(home: Path, kept: str) -> None:
    """Remove machine code not added to for a month, and nothing else, so that it does not grow."""
    limit = time.time() - _DAYS_KEPT * 86400
    for version in home.iterdir():
        ours = _STAMP_PATTERN.fullmatch(version.name) and version.name != kept
        if ours and version.is_dir() and version.stat().st_mtime < limit:
            for file in (*version.glob("*.nbi"), *version.glob("*.nbc")):
                file.unlink(missing_ok=True)
            if not any(version.iterdir()):
                version.rmdir()


_STAMP = source_stamp()


class _Locator(caching._CacheLocator):
    """Puts all machine code of one state of the sources into one folder."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._disambiguator = f"{Path(code.co_filename).parent.name}-{code.co_firstlineno}"

    def get_cache_path(self) -> str:
        return str(cache_home() / _STAMP)

    def get_source_stamp(self) -> str:
        return _STAMP

    def get_disambiguator(self) -> str:
        return self._disambiguator

    def ensure_cache_path(self) -> None:
        folder = cache_home() / _STAMP
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old_versions(folder.parent, kept=_STAMP)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func)


class _Files(caching.IndexDataCacheFile):
    """Cache files that carry their own digest: altered machine code is never run."""

    def _dump(self, obj: object) -> bytes:
        payload: bytes = super()._dump(obj)
        return hashlib.sha256(payload).digest() + payload

    @staticmethod
    def _verified(data: bytes) -> Any:
        digest, payload = data[:32], data[32:]
        if hashlib.sha256(payload).digest() != digest:
            raise ValueError("the cache file was altered or cut short")
        return pickle.loads(payload)

    def _load_index(self) -> dict[Any, str]:
        try:
            with open(self._index_path, "rb") as file:
                version = pickle.load(file)
                stamp, overloads = self._verified(file.read())
        except Exception:
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _load_data(self, name: str) -> Any:
        return self._verified(Path(self._data_path(name)).read_bytes())


class _Kept(JITCodeLibrary):
    """Machine code from disk. What other loops link of it is parsed when the first one does."""

    _shared_module: Any

    def __init__(self, codegen: Any, name: str, machine_code: bytes, bitcode: bytes) -> None:
        super().__init__(codegen, name)
        self._bitcode = bitcode
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self._bitcode)
        return self._shared_module


class _Implementation(caching.CompileResultCacheImpl):
    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        # Whatever locators the user configured for numba, these loops use ours.
        self._locator = _Locator.from_function(py_func, "")
        name = f"{Path(py_func.__code__.co_filename).stem}.{py_func.__qualname__}"
        self._filename_base = self.get_filename_base(name, "")

    _locator_classes = [_Locator]

    def reduce(self, result: Any) -> Any:
        """Return what is kept: numba's own, and the names that the machine code defines."""
        module = result.library._get_module_for_linking()
        values = [*module.functions, *module.global_variables]
        return super().reduce(result), [v.name for v in values if not v.is_declaration]

    def rebuild(self, target_context: Any, kept: Any) -> Any:
        """Return the loop as numba would, which parses all that other loops might link."""
        ((name, kind, parts), *others), names = kept
        assert kind == "object"
        codegen = target_context.codegen()
        library = _Kept(codegen, name, *parts)
        codegen._engine._defined_symbols.update(names)
        context = SimpleNamespace(
            codegen=lambda: SimpleNamespace(unserialize_library=lambda _: library),
            get_executable=target_context.get_executable,
            typing_context=target_context.typing_context,
        )
        return CompileResult._rebuild(context, None, *others)._replace(
            target_context=target_context
        )


class _GuardedCache(caching.FunctionCache):
    """A cache whose every failure is a miss."""

    _impl_class = _Implementation

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _Files(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return kept machine code; it needs numba's runtime, and not all that numba compiles.

        numba would load that first, which takes a quarter of a second. To compile, it still does.
        """
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            self.disable()


def _options(in_order: bool) -> dict[str, Any]:
    return {**_OPTIONS, "fastmath": {"contract"}} if in_order else _OPTIONS


def dispatcher_of(function: Callable[..., Any], inline: bool, in_order: bool) -> Any:
    """Return what numba makes of a loop; a step to be inlined has no machine code of its own."""
    if inline:
        return numba.njit(inline="always", **_OPTIONS)(function)
    dispatcher = numba.njit(**_options(in_order))(function)
    if not numba.config.DISABLE_JIT and Path(function.__code__.co_filename).is_file():
        dispatcher._cache = _GuardedCache(function)
    return dispatcher


def overloaded(
    interpreted: Callable[..., Any], kind: type, implementation: Callable[..., Any], in_order: bool
) -> None:
    """Let numba take `implementation` for `interpreted` where the first argument is of `kind`."""

    @overload(interpreted, strict=False, jit_options=_options(in_order))
    def choose(rows: Any, *arguments: Any) -> Callable[..., Any] | None:
        return implementation if getattr(rows, "instance_class", None) is kind else None


def prefetched(interpreted: Callable[..., Any]) -> None:
    """Let numba take LLVM's prefetch (to read, into every cache) for `interpreted`."""

    @intrinsic
    def fetch(typing: Any, values: Any, place: Any) -> Any:
        def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            number = context.cast(builder, arguments[1], signature.args[1], types.intp)
            line = builder.bitcast(builder.gep(array.data, [number]), cgutils.voidptr_t)
            flag = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [line.type, flag, flag, flag])
            call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            builder.call(call, [line, flag(0), flag(3), flag(1)])
            return context.get_dummy_value()

        return types.void(values, place), generated

    @overload(interpreted, strict=False, jit_options=_OPTIONS)
    def choose(values: Any, place: Any) -> Callable[..., Any]:
        def implementation(values, place):  # type: ignore[no-untyped-def]
            fetch(values, place)

        return implementation
