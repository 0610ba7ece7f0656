"""When it begins is not how long it lasts."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.amounts import spans
from cachelayer.semantic.guards.relations import relations


@pairs(
    ("turn the heating off in three hours", "turn the heating off for three hours"),
    ("mute the channel for an hour", "mute the channel in an hour"),
    ("let the robot clean in thirty minutes", "I'd like the robot to clean for thirty minutes"),
    ("snooze the alarm within 10 minutes", "snooze the alarm for 10 minutes"),
    ("will the pool be shut in two weeks?", "will the pool be shut for two weeks?"),
)
def test_in_a_while_is_not_for_a_while(one: str, other: str):
    assert apart(relations, one, other)


@pairs(
    ("it hasn't rained in two weeks", "it hasn't rained for two weeks"),
    ("the best harvest in ten years", "the best harvest for ten years"),
    ("how far can I swim in an hour", "how far can I swim for an hour"),
    ("stay for two nights in a hotel", "stay in a hotel for two nights"),
    ("leave in an hour for a day", "leave in an hour, stay for a day"),
    ("ready in two days", "ready within two days"),
    ("in a month of rain", "for a month of rain"),
)
def test_where_both_tell_how_long_they_are_alike(one: str, other: str):
    assert not apart(spans, one, other)
