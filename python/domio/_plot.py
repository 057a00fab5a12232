"""Figures by Altair, which is imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from domio import _domio

Rows = Sequence[dict[str, Any]]


def _altair() -> Any:
    try:
        import altair
    except ImportError as error:
        raise ImportError(
            "figures are drawn by Altair, which is not installed; pip install altair, or take the "
            "rows as they are: polars.DataFrame(result)"
        ) from error
    return altair


def _title(measure: str) -> str:
    for key, title, unit, _ in _domio.measures():
        if key == measure:
            return f"{title} [{unit}]" if unit else title
    return measure


def _path(column: str) -> str:
    """The name of a column as Vega reads it: a point would lead into an object."""
    return column.replace("\\", "\\\\").replace(".", "\\.").replace("[", "\\[").replace("]", "\\]")


def _data(altair: Any, rows: Rows, columns: Sequence[str]) -> Any:
    values = [{c: row[c] for c in columns} for row in rows]
    return altair.Data(values=values)


def bars(rows: Rows, measure: str, along: str, colour: str | None = None) -> Any:
    """Means of a measure, with the least and the most of replications."""
    altair = _altair()
    columns = [along, measure, *([colour] if colour else [])]
    rows = [row for row in rows if row[measure] is not None]
    value = altair.Y(f"mean({_path(measure)}):Q", title=_title(measure))
    chart = altair.Chart(_data(altair, rows, columns))
    x = altair.X(f"{_path(along)}:N", title=along, sort=None)
    marks = chart.mark_bar().encode(x=x, y=value)
    if colour:
        shade = altair.Color(f"{_path(colour)}:N", title=colour, sort=None)
        marks = marks.encode(color=shade, xOffset=altair.XOffset(f"{_path(colour)}:N", sort=None))
    return marks


def lines(
    rows: Rows, measure: str, along: str, domains: Sequence[str], apart: Sequence[str]
) -> Any:
    """Means of a measure along an axis: a line a domain, panels by the other axes."""
    altair = _altair()
    rows = [row for row in rows if row[measure] is not None and row["domain"] in domains]
    columns = [along, measure, "domain", *apart]
    numbers = all(isinstance(row[along], int | float) for row in rows)
    kind = "Q" if numbers else "N"
    chart = altair.Chart(_data(altair, rows, columns))
    mark = chart.mark_line(point=True) if numbers else chart.mark_bar()
    x = altair.X(f"{_path(along)}:{kind}", title=along, sort=None)
    y = altair.Y(f"mean({_path(measure)}):Q", title=_title(measure))
    shade = altair.Color("domain:N", sort=None)
    drawn = mark.encode(x=x, y=y, color=shade)
    if not numbers:
        drawn = drawn.encode(xOffset=altair.XOffset("domain:N", sort=None))
    if len(apart) == 1:
        drawn = drawn.encode(column=altair.Column(f"{_path(apart[0])}:N", title=apart[0], sort=None))
    elif len(apart) >= 2:
        drawn = drawn.encode(
            column=altair.Column(f"{_path(apart[0])}:N", title=apart[0], sort=None),
            row=altair.Row(f"{_path(apart[1])}:N", title=apart[1], sort=None),
        )
    return drawn


def causes(rows: Rows) -> Any:
    """Time waited by domain and cause."""
    altair = _altair()
    seconds = [{**row, "waited_s": row["waited_ns"] / 1e9} for row in rows]
    chart = altair.Chart(_data(altair, seconds, ["domain", "cause", "waited_s"]))
    return chart.mark_bar().encode(
        x=altair.X("sum(waited_s):Q", title="waited [s]"),
        y=altair.Y("domain:N", title=None, sort=None),
        color=altair.Color("cause:N", title="cause"),
    )
