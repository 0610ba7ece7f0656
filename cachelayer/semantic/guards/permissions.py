"""Guard: one text asks whether an act is allowed, the other whether it is required or advisable.

'Do I have to register the drone?' / 'Is it worth registering the drone?'.
"""

from __future__ import annotations

from typing import Final

from ..text.signature import QUESTION_WORDS, Signature

_FIRST: Final = dict.fromkeys(("can", "could", "may"), "leave") | {
    "must": "duty", "should": "advice", "ought": "advice",
}  # fmt: skip
"""What a question asks for that begins with these."""
_SAID: Final = {
    word: kind
    for kind, said in (
        ("leave", "allowed permitted legal legally lawful illegal forbidden prohibited possible"),
        ("duty", "required obliged obligated obligatory mandatory compulsory necessary need needed must"),
        ("advice", "wise advisable recommended recommend worth worthwhile sensible should"),
        ("safety", "safe dangerous harmful risky unsafe"),
    )
    for word in said.split()
}
_ALIKE: Final = {"leave", "safety"}
_HAVING: Final = ("have", "has", "had")
_ASKED: Final = frozenset(("you", "u", "someone", "somebody", "anyone", "anybody"))
"""'Can you', 'can anyone' ask for a favour."""


def permissions(a: Signature, b: Signature) -> bool:
    """Both ask whether, each for another of leave, duty, advice and safety; but 'can I' may be 'is it safe'."""
    if a.question != "yesno" or b.question != "yesno":
        return False
    asked = {matter(a), matter(b)}
    return len(asked) == 2 and "" not in asked and asked != _ALIKE


def matter(s: Signature) -> str:
    """'leave', 'duty', 'advice' or 'safety'; '' for none of them, and for more than one."""
    words = s.words
    if not QUESTION_WORDS.isdisjoint(s.vocabulary):
        return ""
    kinds = {_SAID[word] for word in words[1:] if word in _SAID}
    if words[0] in _FIRST and (len(words) < 2 or words[1] not in _ASKED):
        kinds.add(_FIRST[words[0]])
    if any(words[i] in _HAVING and words[i + 1] == "to" for i in range(len(words) - 1)):
        kinds.add("duty")
    return kinds.pop() if len(kinds) == 1 else ""
