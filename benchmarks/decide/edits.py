"""Requests with one edit that changes the answer, put into streams to train on."""

from __future__ import annotations

import random
import re

import numpy as np

from cachelayer.semantic.text.opposites import ANTONYMS

from .data import Stream

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = "january february april june july august september october november december".split()
_NAMES = (
    "paris oslo berlin madrid kenya brazil anna peter maria john visa paypal amazon google samsung toyota "
    "gold basic premium student family business junior travel home garden kitchen office london texas"
).split()
_PLAIN = re.compile(r"[a-z]{4,}")


def _number(text: str, rng: random.Random) -> str:
    found = re.search(r"\d+", text)
    if found is None:
        return f"{text} for {rng.randrange(2, 40)} days"
    return text[: found.start()] + str(int(found[0][:6]) + rng.randrange(1, 9)) + text[found.end() :]


def _date(text: str, rng: random.Random) -> str:
    return f"{text} on {rng.choice(_DAYS)}" if rng.random() < 0.5 else f"{text} in {rng.choice(_MONTHS)}"


def _entity(text: str, rng: random.Random) -> str:
    return f"{text} for {rng.choice(_NAMES)}"


def _direction(text: str, rng: random.Random) -> str:
    a, b = rng.sample(_NAMES, 2)
    return f"{text} from {a} to {b}"


def _opposite(text: str, rng: random.Random) -> str:
    words = text.split()
    places = [i for i, w in enumerate(words) if ANTONYMS.get(w.lower())]
    if not places:
        return ""
    at = rng.choice(places)
    words[at] = rng.choice(sorted(ANTONYMS[words[at].lower()]))
    return " ".join(words)


def _negated(text: str, rng: random.Random) -> str:
    for plain, negated in (("can ", "can't "), ("is ", "isn't "), ("do ", "don't "), ("i ", "i don't ")):
        if f" {plain}" in f" {text.lower()}":
            return f" {text}".lower().replace(f" {plain}", f" {negated}", 1).strip()
    return f"{text} without a card" if rng.random() < 0.3 else ""


EDITS = (_number, _date, _entity, _direction, _opposite, _negated)


def trapped(stream: Stream, embed: dict[str, np.ndarray], share: float, seed: int) -> Stream:
    """About `share` of the requests replaced by edited ones, whose answer is the class's under that edit.

    The same edit is made to several requests of a class, so that edited classes recur, side by side with unedited
    ones and with those edited in another way. Only edits whose text `embed` knows are used.
    """
    rng = random.Random(seed)
    texts, classes, rows = list(stream.texts), list(stream.classes), stream.vectors.copy()
    touched = {c for c in sorted(set(classes)) if rng.random() < 0.5}
    for i, (text, name) in enumerate(zip(stream.texts, stream.classes, strict=True)):
        if name not in touched or rng.random() >= 2 * share:
            continue
        made = edit(text, name, rng.randrange(3))
        if made is not None and made[0] in embed:
            texts[i], kind = made
            classes[i], rows[i] = f"{name}#{kind}", embed[texts[i]]
    return Stream(stream.name, texts, classes, rows)


def edit(text: str, name: str, which: int) -> tuple[str, str] | None:
    """The text under edit `which` of its class, and the edit's name; None if it does not apply."""
    rng = random.Random(f"{name}:{which}")
    how = rng.choice(EDITS)
    made = how(text, rng)
    return (made, f"{how.__name__}{which}") if made and made != text else None
