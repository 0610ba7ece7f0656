"""A journey is another one if anything but how it is asked for differs."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.journeys import journeys


@pairs(
    ("flights from bern to rome", "nonstop flights from bern to rome"),
    ("fares between bern and rome", "could you tell me the cheapest fare from bern to rome"),
    ("what airlines go from bern to rome", "what are the flights from bern to rome"),
    ("show me all flights from bern to rome", "show me all flights from bern to rome one way"),
    ("what flights go from bern to rome", "flights between rome and st. gallen"),
    ("flights from bern to rome", "are there any flights between rome and bern"),
    ("ground transport in bern", "what's the ground transport from bern to rome"),
    ("which northern flights leave bern before noon", "which northern flights stop in bern before noon"),
    ("bern to rome saturday", "when can i fly from bern to rome on a saturday morning"),
    ("flights to Rome on Swiss", "flights to Rome"),
    ("when does the next bus come in bern west", "when comes the next bus"),
    ("how can i get from bern west to rome", "from bern to rome"),
    ("directions from bern to rome", "directions from bern to rome on foot"),
    ("I want to fly with Swiss. Is there a oneway ticket?", "Is there a round trip flight with Swiss?"),
)
def test_a_journey_of_which_more_is_said_is_another(one: str, other: str) -> None:
    assert apart(journeys, one, other)


@pairs(
    ("list flights between bern and rome", "what are the flights from bern to rome"),
    ("do you have a swiss flight from bern to rome", "which swiss airlines flights go from bern to rome"),
    ("what is the earliest flight from bern to rome", "show me the first flight from bern to rome"),
    ("flights from bern to rome with a stopover in milan", "flights from bern to rome via milan"),
    ("how long is the flight from bern to rome", "what is the flight time between bern and rome"),
    ("how can i get from bern to rome", "find me a connection from bern to rome"),
    ("what is the way to change from day to night shift", "how do i move from the day to the night shift"),
    ("how do i get my files from the old to the new phone", "move files from an old phone to a new one"),
    ("when comes the next bus", "when is the next bus"),
    ("when is the next bus in bern", "when does the next bus leave in bern"),
    ("can i change the date of my flight to rome", "is it possible to move my flight to rome to another day"),
    ("how do i get rid of flies", "what helps against flies in the kitchen"),
    ("how do i train a dog", "how can a dog be trained"),
)
def test_how_a_journey_is_asked_for_says_nothing(one: str, other: str) -> None:
    assert not apart(journeys, one, other)
