"""``python -m separatrix.checker certificate.json data``: prove one certificate, or refuse it.

Exit code 0: the claim holds. 1: it does not. 2: usage. 3: a file cannot be read.
"""

from __future__ import annotations

import lzma
import sys
import zlib
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from .codec import VERIFY, Refused, parsed
from .kinds import about, check, posed
from .reading import Unreadable, read_data, require_file


def main(arguments: Sequence[str]) -> int:
    """Check one certificate against one data file."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stopped:
        return int(stopped.code or 0)
    try:
        path = Path(options.certificate)
        require_file(path, _LONGEST)
        certificate = parsed(path.read_text("utf-8"))
        if isinstance(certificate, dict) and isinstance(certificate.get("certificate"), dict):
            certificate = certificate["certificate"]  # a verdict holds its certificate
            _say("of a verdict, only its certificate is checked")
        if isinstance(certificate, dict) and "training_rows" in certificate:
            raise Refused(f"the certificates of a study speak of encoded columns; {VERIFY}")
        data, said = read_data(options, about(certificate))
        proved = f"proved: {check(certificate, data)}"
        for line in (*said, *posed(certificate), proved):
            _say(line)
    except Unreadable as reason:
        _say(f"cannot be read: {options.data}, {reason}", sys.stderr)
        return 3
    except Refused as reason:
        _say(f"refused: {reason}")
        return 1
    except (*_STUMBLES, *_PACKED) as error:
        _say(f"cannot be read: {type(error).__name__} {error}", sys.stderr)
        return 3
    return 0


_STUMBLES = OSError, EOFError, ValueError, MemoryError, ArithmeticError, RecursionError
_PACKED = lzma.LZMAError, zlib.error
_LONGEST = 1 << 28  # characters of a certificate


def _say(line: str, file: TextIO | None = None) -> None:
    """Print a line; what is not printable in it, such as a code that controls a terminal, escaped.

    >>> _say("a\x1b[2J")
    a\\x1b[2J
    """
    file = file or sys.stdout
    escaped = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)
    coding = file.encoding or "utf-8"
    print(escaped.encode(coding, "backslashreplace").decode(coding), file=file)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="separatrix-checker", description=__doc__)
    parser.add_argument("certificate", help="the certificate, as JSON")
    parser.add_argument("data", help="CSV, TSV or LIBSVM text, also as .gz, .bz2 or .xz")
    parser.add_argument("--target", help="the column of labels in a CSV or TSV file")
    parser.add_argument("--drop", action="append", default=[], help="leave out this column")
    parser.add_argument("--kind", choices=["csv", "tsv", "libsvm"], help="if the name does not say")
    parser.add_argument("--positive", help="set this class against all others")
    parser.add_argument("--zero-based", action="store_true", help="LIBSVM columns count from 0")
    parser.add_argument("--features", type=int, help="columns of LIBSVM text, where the last are 0")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
