"""Guard: one text rules out what somebody must not or will not eat, and the other rules out nothing.

'Breakfast with eggs' / 'I'm vegan, what's for breakfast?', 'snacks with nuts' / 'snacks for a child with a nut
allergy', 'a curry with shrimp' / 'a curry with no seafood in it'.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ..text.signature import Signature

_FOODS: Final = frozenset(
    """alcohol almonds bacon beef bread butter carbs cheese chicken cream dairy egg eggs fish flour garlic gluten ham
    honey lactose meat milk mushrooms nut nuts onion onions pasta peanut peanuts pork rice salt seafood shellfish shrimp
    soy sugar tomatoes tuna wheat whiskey wine yogurt""".split()
)
_DIETS: Final = frozenset(
    """vegan vegans plant-based vegetarian vegetarians veggie meatless pescatarian coeliac celiac keto ketogenic paleo
    halal kosher diabetic diabetics non-alcoholic nonalcoholic alcohol-free sugarless eggless low-carb""".split()
).union(f"{food}-free" for food in _FOODS)
_SICK: Final = frozenset("allergy allergies allergic intolerant intolerance".split())
_MARKS: Final = _FOODS | _DIETS
_RULING_OUT: Final = frozenset("no without minus skip avoid avoiding don't dont doesn't out".split())
_BETWEEN: Final = frozenset(("any", "the", "added", "eat"))
_CAREFUL: Final = _DIETS.union(
    _SICK,
    _RULING_OUT,
    """not don't dont can't cannot doesn't free low less zero out except excluding instead substitute substitutes
    substitution alternative alternatives replace replacement replacing animal contain contains containing suitable
    vegetables vegetable carbohydrates diabetes""".split(),
)
"""With one of these a text may rule out the same in other words."""


def diets(a: Signature, b: Signature) -> bool:
    """One rules something out, the other has no word by which it might."""
    if _MARKS.isdisjoint(a.vocabulary) and _MARKS.isdisjoint(b.vocabulary):
        return False
    return _rules_out(a, b) or _rules_out(b, a)


def _rules_out(one: Signature, other: Signature) -> bool:
    if _CAREFUL.isdisjoint(one.vocabulary) or not _CAREFUL.isdisjoint(other.vocabulary):
        return False
    foods = _FOODS & one.vocabulary
    if foods and any(_excluded(before, word) for before, word in pairwise(_bare(one))):
        return True
    diet = not _DIETS.isdisjoint(one.vocabulary) or (foods and not _SICK.isdisjoint(one.vocabulary))
    return bool(diet) and foods.isdisjoint(other.vocabulary)  # 'Is there ham in it?', whoever asks


def _bare(s: Signature) -> list[str]:
    return [word for word in s.words if word not in _BETWEEN]


def _excluded(before: str, word: str) -> bool:
    """'No seafood', 'without any dairy', 'gluten free'."""
    return (before in _RULING_OUT and word in _FOODS) or (before in _FOODS and word == "free")
