"""Values of Python as TOML, for scenarios that are built in code and for changes of keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["changes", "dumps", "value"]


def _quoted(text: str) -> str:
    out = ['"']
    for c in text:
        if c in '"\\':
            out.append("\\" + c)
        elif ord(c) < 32 or ord(c) == 127:
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    out.append('"')
    return "".join(out)


def _key(name: object) -> str:
    text = str(name)
    bare = text.isascii() and text.replace("-", "_").replace("_", "a").isalnum()
    return text if bare else _quoted(text)


def _is_list(what: object) -> bool:
    return isinstance(what, Sequence) and not isinstance(what, str | bytes)


def value(what: Any) -> str:
    """One value as TOML."""
    # Numbers of NumPy and others are as good as Python's own.
    item = getattr(what, "item", None)
    if callable(item) and not isinstance(what, bool | int | float | str):
        what = item()
    if isinstance(what, bool):
        return "true" if what else "false"
    if isinstance(what, int):
        return str(what)
    if isinstance(what, float):
        if not math.isfinite(what):
            raise ValueError(f"{what} is no value of a scenario; expected a finite number")
        return repr(what)
    if isinstance(what, str):
        return _quoted(what)
    if isinstance(what, Mapping):
        inside = ", ".join(f"{_key(k)} = {value(v)}" for k, v in what.items() if v is not None)
        return f"{{ {inside} }}"
    if _is_list(what):
        return f"[{', '.join(value(v) for v in what)}]"
    kind = type(what).__name__
    raise TypeError(f"{what!r} is a {kind}; expected text, a number, a bool, a list or a dict")


def _section(lines: list[str], head: list[str], table: Mapping[str, Any]) -> None:
    def is_tables(v: object) -> bool:
        return _is_list(v) and bool(v) and all(isinstance(e, Mapping) for e in v)  # type: ignore[attr-defined]

    for key, what in table.items():
        if what is None or (head == [] and isinstance(what, Mapping)) or is_tables(what):
            continue
        lines.append(f"{_key(key)} = {value(what)}")
    for key, what in table.items():
        path = [*head, _key(key)]
        if head == [] and isinstance(what, Mapping):
            lines.append(f"\n[{'.'.join(path)}]")
            _section(lines, path, what)
        elif is_tables(what):
            for one in what:
                lines.append(f"\n[[{'.'.join(path)}]]")
                _section(lines, path, one)


def dumps(sections: Mapping[str, Any]) -> str:
    """A text of sections: dictionaries, lists of them for ``[[section]]``, and plain keys."""
    lines: list[str] = []
    _section(lines, [], sections)
    return "\n".join(lines).lstrip("\n") + "\n"


def changes(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Changes as `domio run --set` has them. A text goes as it is, and is TOML where it can be."""
    return [(str(k), v if isinstance(v, str) else value(v)) for k, v in given.items()]


def axis(what: Any) -> str:
    """The values of an axis, as `domio sweep --set` has them."""
    if isinstance(what, str):
        return what
    if isinstance(what, range):
        what = list(what)
    tolist = getattr(what, "tolist", None)
    if callable(tolist):
        what = tolist()
    if not _is_list(what):
        return value(what)
    parts = []
    for one in what:
        # A bare word is read as text, and a comma in it would part values.
        plain = isinstance(one, str) and one and not set(one) & set(",\"'[]{}")
        parts.append(one if plain else value(one))
    return ",".join(parts)
