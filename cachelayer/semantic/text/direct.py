"""An indirect question as a direct one: 'where I can park' is 'where can I park', 'what it costs' what it does cost.

What is put off by 'can you tell me' has its verb behind who does it. Where that verb is not known for one, nothing is
turned.
"""

from __future__ import annotations

from typing import Final

_PEOPLE: Final = frozenset("i you we they he she it there one".split())
_SINGULAR: Final = frozenset(("he", "she", "it", "one"))
_HELPING: Final = frozenset(
    """am is are was were can could may should will would must has have isn't aren't wasn't weren't can't cannot
    couldn't shouldn't won't wouldn't hasn't haven't doesn't don't didn't""".split()
)
_HAVING: Final = {"has": "does", "have": "do"}
_WHETHER: Final = frozenset(("if", "whether"))
_ASKING: Final = frozenset("what who where when how why which".split())
_NAMING: Final = frozenset("what which who how".split())
"""What these ask for may be who does it: 'which trains stop', 'how many people live'."""
_MEASURED: Final = frozenset(
    "much many long often far old big soon fast tall high deep wide heavy late early".split()
)
_ARTICLES: Final = frozenset("the a an my your our his her their this that these those".split())
_JOINED: Final = frozenset("and or but that who which if when while because to".split())
"""Before the verb of a sentence that is not turned."""
_LASTING: Final = frozenset(
    """cost take last weigh start begin end finish open close leave arrive keep work expire apply happen depart land
    sail""".split()
)
"""Verbs that are looked for behind a thing."""
_NOT_NOW: Final = frozenset(
    """got went came made said did had saw paid bought lost left found took sent forgot just also actually still really
    currently usually normally possibly easily quickly not never always only best first once might do does""".split()
)
"""Behind a person these are no verb that 'do' goes with."""
_DIRECT: Final = _HELPING.union(("do", "does", "did"))
_COUNTED: Final = ("many", "much")
_BEGINNING: Final = _ARTICLES | _PEOPLE
_FAR: Final = 6
"""Words of a thing at most."""
_ENDING: Final = ("oes", "sses", "shes", "ches", "xes", "zzes")


def direct(words: list[str]) -> str:
    """The question that `words` ask indirectly, three or more; as they are where they ask none."""
    plain = [word.lower().rstrip(" .?!") for word in words]
    if plain[0] in _WHETHER:
        return " ".join(_turned(words, plain, 1, []) or words[1:]).rstrip(" .?!") + "?"
    if plain[0] not in _ASKING:
        return " ".join(words)
    start = 1
    if (plain[0] == "how" and plain[1] in _MEASURED) or plain[:2] == ["what", "time"]:
        start = 2
    if plain[start] in _DIRECT:
        return " ".join(words)
    counted = plain[0] != "how" or plain[1] in _COUNTED
    if plain[0] in _NAMING and counted and not _BEGINNING.isdisjoint(plain[start + 1 : start + 2]):
        start += 1  # 'which papers I need', 'what size the room is'
    turned = " ".join(_turned(words, plain, start, words[:start]) or words)
    return turned + "?" if words[-1].endswith("?") and not turned.endswith("?") else turned


def _turned(words: list[str], plain: list[str], start: int, asking: list[str]) -> list[str]:
    """`asking`, then the verb or 'do', then who does it, or [] where that is not clear."""
    if start + 1 >= len(words):
        return []
    if plain[start] in _PEOPLE:
        return _by_person(words, plain, start, asking)
    doing = _may_do(plain, start) if asking else False
    for at in range(start + 1, min(start + 1 + _FAR, len(words))):
        word, who = plain[at], words[start:at]
        one = word.removesuffix("s")
        if word in _JOINED:
            break
        if doing and at + 1 < len(words) and (word in _HELPING or one in _LASTING):
            break
        if word in _HELPING:
            return _helped(plain[at], who, plain, words, at, asking)
        if one in _LASTING and (one != word or plain[at - 1].endswith("s")):
            return [*asking, "do" if one == word else "does", *who, one, *words[at + 1 :]]
    return []


def _may_do(plain: list[str], start: int) -> bool:
    """Whether what is asked for may be who does it: 'which trains stop in Rome', 'how many people live there'."""
    if plain[0] not in _NAMING or plain[start] in _ARTICLES or plain[:2] == ["what", "time"]:
        return False
    return plain[0] != "how" or plain[1] in _COUNTED


def _by_person(words: list[str], plain: list[str], at: int, asking: list[str]) -> list[str]:
    verb, who = plain[at + 1], words[at : at + 1]
    if verb in _HELPING:
        return _helped(verb, who, plain, words, at + 1, asking)
    ended = verb.endswith("ed") and not verb.endswith("eed")
    if plain[at] == "there" or verb in _NOT_NOW or ended or (verb.endswith("ing") and len(verb) > 5):
        return []
    if plain[at] not in _SINGULAR:
        return [*asking, "do", *who, *words[at + 1 :]]
    if not verb.endswith("s") or verb.endswith("ss"):
        return []
    return [*asking, "does", *who, infinitive(verb), *words[at + 2 :]]


def _helped(
    verb: str, who: list[str], plain: list[str], words: list[str], at: int, asking: list[str]
) -> list[str]:
    """With the helping verb at `at` before who does it; 'has' alone is 'does have'."""
    after = plain[at + 1 : at + 2]
    done = after and (
        after[0].endswith(("ed", "en")) or after[0] in ("not", "already", "gone", "made", "sent")
    )
    if verb in _HAVING and not done:
        return [*asking, _HAVING[verb], *who, "have", *words[at + 1 :]]
    return [*asking, verb, *who, *words[at + 1 :]]


def infinitive(verb: str) -> str:
    """'works' is 'work', 'goes' 'go', 'carries' 'carry'."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[:-2] if verb.endswith(_ENDING) else verb[:-1]
