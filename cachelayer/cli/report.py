"""Reports as one HTML file: no scripts, no fonts or images from elsewhere, light and dark, wide and narrow.

A report is a list of sections; `section`, `tiles`, `figure`, `table` and `prose` make their parts, and
escape what they are given, except that parts are markup already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from ..errors import CacheLayerError
from ..types import Reason
from .charts import Drawing

_WIDE, _SLIM = 880, 340
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_REASONS: dict[str, str] = {
    Reason.NO_CANDIDATE: "nothing near",
    Reason.UNSURE: "not sure enough",
    Reason.GUARD: "a guard objected",
    Reason.BUDGET: "out of time",
    Reason.WARMING: "still loading",
    Reason.STOPPED: "stopped after errors",
    Reason.TOO_LONG: "too long to compare",
    Reason.UNKNOWN_WORD: "unknown to the model",
}


@dataclass(frozen=True, slots=True)
class Tile:
    """A number worth reading first, its name, and a remark."""

    value: str
    name: str
    remark: str = ""
    tone: str = "ink"


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell with a tone ('', 'good', 'bad', 'muted') and a remark in small print."""

    text: str
    tone: str = ""
    remark: str = ""


def page(title: str, subtitle: str, sections: Sequence[str]) -> str:
    """The document."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_style()}</style></head><body><main>"
        f"<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>"
        f"{''.join(sections)}</main></body></html>\n"
    )


def write(path: Path, document: str) -> None:
    """Write a page or JSON, making the directories above it; half a surrogate pair is written as its escape.

    Raises CacheLayerError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document, encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        raise CacheLayerError(f"{path} cannot be written: {fault.strerror}") from None


def section(title: str, lead: str, *parts: str) -> str:
    """A headline, a sentence that says what to see, and the parts."""
    intro = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f"<section><h2>{escape(title)}</h2>{intro}{''.join(parts)}</section>"


def tiles(items: Sequence[Tile]) -> str:
    """The key numbers in a row."""
    drawn = (
        f'<div class="tile"><b class="ink-{escape(item.tone)}">{escape(item.value)}</b>'
        f"<span>{escape(item.name)}</span><small>{escape(item.remark)}</small></div>"
        for item in items
    )
    return f'<div class="tiles">{"".join(drawn)}</div>'


def figure(drawing: Drawing, caption: str = "") -> str:
    """A chart, drawn once for wide screens and once for narrow ones."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    drawn = f'<div class="wide">{drawing(_WIDE)}</div><div class="slim">{drawing(_SLIM)}</div>'
    return f"<figure>{drawn}{below}</figure>"


def table(head: Sequence[str], rows: Sequence[Sequence[str | Cell]], *, numbers: Sequence[int] = ()) -> str:
    """A table; columns in `numbers` are aligned right. On narrow screens each row becomes a card."""
    names = "".join(_heading(name, i in numbers) for i, name in enumerate(head))
    body = "".join(f"<tr>{_row(row, head, numbers)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def prose(*paragraphs: str) -> str:
    """Plain paragraphs."""
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)


def listing(text: str) -> str:
    """A program or settings, as they are written."""
    return f"<pre>{escape(text)}</pre>"


def folded(summary: str, *parts: str) -> str:
    """Parts that open on a click."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def _heading(name: str, number: bool) -> str:
    return f'<th class="number">{escape(name)}</th>' if number else f"<th>{escape(name)}</th>"


def _row(row: Sequence[str | Cell], head: Sequence[str], numbers: Sequence[int]) -> str:
    return "".join(_cell(cell, head[i], i in numbers) for i, cell in enumerate(row))


def _cell(cell: str | Cell, name: str, number: bool) -> str:
    content = cell if isinstance(cell, Cell) else Cell(cell)
    small = f"<small>{escape(content.remark)}</small>" if content.remark else ""
    style = " ".join(filter(None, (content.tone, "number" if number else "")))
    name = escape(name, quote=True)
    return f'<td class="{style}" data-name="{name}"><span>{escape(content.text)}{small}</span></td>'


def _style() -> str:
    lines = files(__package__).joinpath("report.css").read_text(encoding="utf-8").splitlines()
    return "".join(line.strip() for line in lines)


def words(reason: str) -> str:
    """A reason of the similar tier, for people."""
    return _REASONS.get(reason, reason.replace("_", " "))
