"""What somebody must not eat is ruled out in one text alone."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.diets import diets


@pairs(
    ("porridge with milk", "I'm vegan, how do I make porridge?", True),
    ("trail mix with nuts", "trail mix for my son, who has a nut allergy", True),
    ("paella with shrimp", "paella with no seafood in it", True),
    ("an omelette with ham", "an omelette, but leave out the ham", True),
    ("bread recipe", "gluten free bread recipe", True),
    ("stew for a diabetic", "stew with beef", True),
    ("vegan porridge", "plant-based porridge", False),
    ("cookies without eggs", "eggless cookies", False),
    ("I'm celiac, which bread can I eat?", "Which bread is safe without gluten?", False),
    ("a stew without meat", "a stew with vegetables only", False),
    ("does the stew suit vegetarians?", "does the stew contain meat?", False),
    ("I'm vegetarian. Is there ham in it?", "Is there ham in it?", False),
    ("stew with beef", "beef stew", False),
)
def test_what_one_rules_out_the_other_may_serve(one: str, other: str, differ: bool):
    assert apart(diets, one, other) is differ
