"""Phrasal verbs in one order: 'turn the lights on' is 'turn on the lights'."""

from __future__ import annotations

from typing import Final

_VERBS: Final = {
    verb: frozenset(particles.split())
    for verbs, particles in (
        ("turn switch turning switching", "on off up down"),
        ("shut", "down off"),
        ("set setting", "up"),
        ("fill", "in out"),
        ("pick picking", "up"),
        ("plug", "in"),
        ("lock", "out up"),
        ("hook wake", "up"),
        ("print throw", "out away"),
        ("hang", "up"),
        ("pay", "off back"),
        ("close bring", "down"),
        ("put", "on off"),
    )
    for verb in verbs.split()
}
_OWNING: Final = frozenset("the my our your his her their a an all this that these those every both".split())
_BEHIND: Final = frozenset(
    "at in for with when if before after by from on and but again now today tonight tomorrow every until".split()
)
"""What may follow the particle, besides nothing: of 'put the pan on the stove' it is none."""
LONGEST: Final = 4
"""Words of what stands between at most."""
_NO_THING: Final = frozenset(
    """i you he she it we they me him them us to of is are was were be do does did can will not and or but that which
    who what when where how why if so on off up down in out at for with from by into onto over back away""".split()
)


def joined(words: list[str]) -> list[str]:
    """`words` with each particle right behind its verb, where a thing stood between."""
    out: list[str] = []
    at = 0
    while at < len(words):
        particles, end = _VERBS.get(words[at]), 0
        if particles and words[at + 1 : at + 2]:
            end = _particle(words, at + 1 + (words[at + 1] in _OWNING), particles)
        out.append(words[at])
        if end:
            out += [words[end], *words[at + 1 : end]]
        at = max(at, end) + 1
    return out


def _particle(words: list[str], start: int, particles: frozenset[str]) -> int:
    """Where one of `particles` ends what the verb is done to; 0 where none does."""
    for at in range(start, min(start + LONGEST, len(words))):
        word = words[at]
        if word in particles and at > start:
            return at if at + 1 == len(words) or words[at + 1] in _BEHIND else 0
        if word in _NO_THING:
            return 0
    return 0
