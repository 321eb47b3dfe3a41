"""Numbers and texts as a reader wants them: few digits, and nothing that breaks a page.

Frozen dataclasses as plain data and back, by their field types: what JSON can hold, and no more.

A field is a str, bool, int, float, another dataclass, a tuple of one of these (``tuple[T, ...]``),
or one of these or None. Floats that are not finite become texts, for JSON has no word for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from separatrix.checker.exact import at_least, at_most
from separatrix.core.thresholds import as_written

__all__ = [
    "clean",
    "cut",
    "fixed",
    "from_plain",
    "least",
    "listed",
    "most",
    "number",
    "opened",
    "percent",
    "plural",
    "rate",
    "seconds",
    "share_at_least",
    "share_at_most",
    "spelled",
    "to_plain",
    "whole",
]


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_THIN = "\u202f"
_BLANKS = re.compile(r"[ \t\n\r\f\v]+")
_COUNTED = 160
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# Control characters but tab and newline, those that turn the direction of what follows them, and
# halves of characters that no encoding can write.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def number(value: float | None, digits: int = 3) -> str:
    """Write a number to so many significant digits.

    >>> number(0.31622), number(1234.5), number(-2.5e-9), number(math.inf), number(None)
    ('0.316', '1,230', '−2.5\\xa0×\\xa010⁻⁹', '∞', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0.0:
        return "0"
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    if -4 <= int(power) < 6:
        places = max(0, digits - 1 - int(power))
        text = f"{round(value, digits - 1 - int(power)):,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa}\u00a0×\u00a010{str(int(power)).translate(_RAISED)}"
    return text.replace("-", "−")


def least(value: float | None, digits: int = 3) -> str:
    """Write what a number is at least: what is proved of it, and never more.

    >>> least(0.31699), most(0.31601), least(2.5e-9, 1), most(None)
    ('0.316', '0.317', '2\\xa0×\\xa010⁻⁹', '–')
    """
    return _bound(at_least, value, digits)


def most(value: float | None, digits: int = 3) -> str:
    """Write what a number is at most."""
    return _bound(at_most, value, digits)


def _bound(rounded: Callable[[float, int], str], value: float | None, digits: int) -> str:
    return number(None if value is None else float(rounded(value, digits)), digits)


def share_at_least(rate: float | None) -> str:
    """Write in per cent what a share is at least.

    >>> share_at_least(0.95), share_at_least(1 - 1e-9), share_at_most(0.07), share_at_most(0.01421)
    ('95\\u202f%', '99.9\\u202f%', '7\\u202f%', '1.43\\u202f%')
    """
    return _share(at_least, rate)


def share_at_most(rate: float | None) -> str:
    """Write in per cent what a share is at most."""
    return _share(at_most, rate)


def _share(rounded: Callable[[Fraction, int], str], rate: float | None) -> str:
    if rate is None or not math.isfinite(rate):
        return "–"
    return rounded(100 * as_written(rate), 3) + _THIN + "%"


def percent(rate: float | None) -> str:
    """Write a rate as a percentage with as many digits as one would say.

    >>> percent(0.0351), percent(0.16), percent(0.0), percent(0.00042), percent(1.0)
    ('3.5\\u202f%', '16\\u202f%', '0\\u202f%', '0.042\\u202f%', '100\\u202f%')
    """
    if rate is None or not math.isfinite(rate):
        return "–"
    share = 100.0 * rate
    if share == round(share):
        text = f"{share:.0f}"
    elif abs(share) >= 0.095:
        text = f"{share:.1f}"
    else:
        text = f"{share:.2g}"
    return text.replace("-", "−") + _THIN + "%"


def fixed(value: float | None, places: int) -> str:
    """Write a number with so many places, for columns whose points stand in line.

    >>> fixed(-0.106, 3), fixed(1234.0, 0), fixed(None, 2)
    ('−0.106', '1,234', '–')
    """
    if value is None or not math.isfinite(value):
        return number(value)
    text = f"{value:,.{places}f}"
    return "0" if places == 0 and text == "-0" else text.replace("-", "−")


def rate(value: float | None, places: int) -> str:
    """Write a rate as a percentage with so many places.

    >>> rate(0.1234, 1), rate(0.0, 2)
    ('12.3\\u202f%', '0.00\\u202f%')
    """
    return "–" if value is None else f"{fixed(100.0 * value, places)}{_THIN}%"


def whole(count: float | None) -> str:
    """Write a count with thousands apart.

    >>> whole(32561), whole(1306.4), whole(None)
    ('32,561', '1,306', '–')
    """
    return "–" if count is None else f"{count:,.0f}"


def plural(count: int, one: str, many: str = "") -> str:
    """Write a count with its noun.

    >>> plural(1, "row"), plural(2500, "row"), plural(3, "class", "classes")
    ('1 row', '2,500 rows', '3 classes')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def spelled(count: int) -> str:
    """Write a small count in letters.

    >>> spelled(2), spelled(20)
    ('two', '20')
    """
    return _SMALL[count] if 0 <= count < len(_SMALL) else f"{count:,}"


def seconds(value: float | None) -> str:
    """Write a time.

    >>> seconds(0.0123), seconds(2.34), seconds(75.0), seconds(7300.0)
    ('12\\u202fms', '2.3\\u202fs', '1\\u202fmin 15\\u202fs', '2\\u202fh 1\\u202fmin')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value < 0.9995:
        return f"{1000 * value:.2g}{_THIN}ms" if value < 0.0995 else f"{value:.2f}{_THIN}s"
    if value < 59.95:
        return f"{value:.1f}{_THIN}s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}{_THIN}min {rest}{_THIN}s"
    return f"{minutes // 60}{_THIN}h {minutes % 60}{_THIN}min"


def listed(words: Sequence[str]) -> str:
    """Join words as one says them.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def cut(text: str, most: int = 280) -> str:
    """Return a text of at most `most` characters on one line; what a long one loses is counted.

    >>> cut("a  b\\nc"), cut("a long name", 6), cut("word " * 100, 163)[-26:]
    ('a b c', 'a long…', 'rd … (341 more characters)')
    """
    # A text of megabytes is not read to its end.
    near = _BLANKS.sub(" ", clean(text[: 4 * most + 40])).strip(" ")
    if len(near) <= most:
        return near
    kept = near[:most]
    if " " in kept[most // 2 :] and near[most] != " ":
        kept = kept[: kept.rindex(" ")]
    kept = kept.rstrip(" ")
    if most < _COUNTED:
        return f"{kept}…"
    return f"{kept} … ({len(text) - len(kept):,} more characters)"


def opened(text: str) -> str:
    """Return a sentence with its first letter large, if it begins with a word in small letters.

    >>> opened("proved: no better"), opened("iPhone"), opened("--loss"), opened("C = 1")
    ('Proved: no better', 'iPhone', '--loss', 'C = 1')
    """
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.rstrip(":,;.").islower() else text


def clean(text: str) -> str:
    """Return text that any page can hold: controls become their pictures, broken halves a mark.

    >>> clean("a\\x00b\\ud800")
    'a␀b�'
    """
    return _UNSAFE.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


# ---- frozen dataclasses as plain data and back, by their field types: what JSON can hold


_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_plain(value: Any) -> Any:
    """Return dicts, lists, texts and numbers that say the same.

    >>> to_plain((1, float("inf"), "a"))
    [1, 'inf', 'a']
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: to_plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple | list):
        return [to_plain(part) for part in value]
    if value is None or isinstance(value, str | bool):
        return value
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, float) and not math.isfinite(number):
        return str(number)
    return number


def from_plain(kind: Any, value: Any, where: str) -> Any:
    """Return `value` as `kind`; an error names the place."""
    if is_dataclass(kind):
        return _dataclass(kind, value, where)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in get_args(kind):
            return None
        return from_plain(next(a for a in get_args(kind) if a is not NoneType), value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{where} must be a list. Got {_shown(value)} instead.")
        inner = get_args(kind)[0]
        return tuple(from_plain(inner, part, f"{where}[{k}]") for k, part in enumerate(value))
    return _number_or_text(kind, value, where)


_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _number_or_text(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    right = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not right or (isinstance(value, bool) and kind is not bool):
        what = _KINDS.get(kind, kind.__name__)
        raise ValueError(f"{where} must be {what}. Got {_shown(value)} instead.")
    return kind(value)


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object. Got {_shown(value)} instead.")
    types = _types(kind)
    unknown = sorted(set(value) - set(types))
    if unknown:
        raise ValueError(f"{where} has no field {unknown[0]!r}. It has {', '.join(types)}.")
    for part in fields(kind):
        if part.default is MISSING and part.name not in value:
            raise ValueError(f"{where} must have a field {part.name!r}.")
    return kind(
        **{key: from_plain(types[key], part, f"{where}.{key}") for key, part in value.items()}
    )


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
