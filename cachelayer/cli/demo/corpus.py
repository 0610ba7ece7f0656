"""The bundled corpus: the help desk of Wickley, a maker of smart-home devices that does not exist.

Articles come in neighbour pairs that differ in one word, number, date, product, plan, order or negation, and
the questions marked `trap` play on exactly that. All texts were written for this project.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

import orjson

SEPARATOR = " · "
"""Between the article and the order number in a label."""


@dataclass(frozen=True, slots=True)
class Article:
    """A help article. `examples` are phrasings for retrieval; none of them is one of the questions."""

    id: str
    topic: str
    title: str
    body: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the article that answers it.

    A trap nearly equals the question `trap_of`, which another article answers; `contrast` names the
    difference.
    """

    text: str
    article: str
    kind: str
    contrast: str = ""
    trap_of: str = ""


@dataclass(frozen=True)
class Corpus:
    """Articles by id, general questions, and personal ones with `{order}` in place of an order number."""

    articles: dict[str, Article]
    questions: tuple[Question, ...]
    personal: tuple[Question, ...]

    @cached_property
    def contrasts(self) -> dict[str, str]:
        """Texts of traps, and of what they are traps of, with what tells the two apart."""
        traps = [question for question in self.questions if question.kind == "trap"]
        return {text: trap.contrast for trap in traps for text in (trap.trap_of, trap.text)}


def label(article: str, order: str = "") -> str:
    """What identifies a right answer: the article, and the order where the question is about one."""
    return article + SEPARATOR + order if order else article


def load() -> Corpus:
    """Read the corpus that is installed with the package."""
    articles = [Article(**{**row, "examples": tuple(row["examples"])}) for row in _rows("articles")]
    return Corpus(
        articles={article.id: article for article in articles},
        questions=tuple(_question(row) for row in _rows("questions")),
        personal=tuple(_question({"kind": "personal", **row}) for row in _rows("personal")),
    )


def _question(row: dict[str, Any]) -> Question:
    return Question(text=row.pop("q"), **row)


def _rows(name: str) -> list[dict[str, Any]]:
    content = files(__package__).joinpath("data", f"{name}.jsonl").read_bytes()
    return [orjson.loads(line) for line in content.splitlines()]
