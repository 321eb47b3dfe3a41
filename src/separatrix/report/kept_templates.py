"""Templates of pages in byte code, kept on disk: to compile them takes a quarter of a second.

Nothing about the cache can break a page. A read-only home, a full disk, an altered file: each is a
miss, and the template is compiled in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from functools import cached_property
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from separatrix._write_aside import cache_home, write_whole
from separatrix.report import words

__all__ = ["KeptTemplates"]

_DIGEST = 32


class KeptTemplates(BytecodeCache):
    """One file a template: its own digest, then the byte code, which names the source it is of."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what was kept, if it is whole and of this source."""
        try:
            kept = self._path(bucket).read_bytes()
        except OSError:
            return
        if kept[:_DIGEST] == self._digest(kept[_DIGEST:]):
            bucket.load_bytecode(io.BytesIO(kept[_DIGEST:]))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template that was compiled."""
        made = bucket.bytecode_to_string()
        with contextlib.suppress(OSError):
            write_whole(self._path(bucket), self._digest(made) + made)

    def _path(self, bucket: Bucket) -> Path:
        return cache_home() / "pages" / bucket.key

    def _digest(self, made: bytes) -> bytes:
        return hashlib.sha256(self._filters + made).digest()

    @cached_property
    def _filters(self) -> bytes:
        """The source of the filters: compiled templates hold constants that went through them."""
        return Path(words.__file__).read_bytes()
