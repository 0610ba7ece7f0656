"""What is so and what is not, when the two are exchanged; and what is left out, when it is meant."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.contrasts import contrasts
from cachelayer.semantic.guards.relations import relations


@pairs(
    ("it rings but does not light up", "it lights up but does not ring"),
    ("I paid but the order was not placed", "the order was placed but I have not paid"),
    ("I can chat but not call", "I can call but not chat"),
    ("a recipe with rice and without chicken", "a recipe with chicken and without rice"),
    ("I can't log in but I can post", "I can log in but I can't post"),
    ("use tabs, not spaces", "use spaces, not tabs"),
    ("ping works but curl fails", "curl works but ping fails"),
    ("it rings but nobody answers", "nobody rings but it answers"),
    ("is anything but water allowed?", "is water allowed?"),
    ("every plan but Basic has chat", "the Basic plan has chat"),
    ("which is the last but one stop?", "which is the last stop?"),
    ("everyone but my boss knows", "my boss knows"),
    ("is it served on days other than Monday?", "do you serve it on Monday?"),
    ("lot 7 didn't pass the test, why?", "why did lot 7 pass the test?"),
)
def test_what_is_not_so_is_no_part_of_what_is(one: str, other: str):
    assert apart(contrasts, one, other)
    assert apart(relations, one, other)


@pairs(
    ("it rings but does not light up", "it does not light up but it rings"),
    ("the sound works but the picture does not", "the picture does not work but the sound does"),
    ("in CI the tests fail but locally they pass", "the tests pass locally but fail in CI"),
    ("I can see them but they can't see me", "they can't see me but I can see them"),
    ("a room without a TV but with a bath", "a room with a bath but without a TV"),
    ("my wife is not in but I am", "I am in but my wife is not"),
    ("does lot 7 pass the test?", "does lot 7 pass the test or not?"),
    ("how do I control the heat?", "what do I do when I can't control the heat?"),
    ("does everyone but Tom agree?", "does everyone except Tom agree?"),
    ("I tried everything but it still fails", "I tried everything, it still fails"),
    ("I checked all the cables but no luck", "I checked all the cables, no luck"),
    ("I called everybody but nobody answered", "I called everybody and nobody answered"),
    ("it is good for nothing but", "it is good for nothing"),
    ("are there ways other than surgery?", "which ways are there?"),
    ("who other than Tom knows it?", "who knows it besides Tom?"),
)
def test_the_same_in_another_order_is_let_pass(one: str, other: str):
    assert not apart(contrasts, one, other)
