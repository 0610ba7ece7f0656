"""Requests with two places in which the order of what stands there decides the answer."""

from __future__ import annotations

import random

from . import edit_words as ew
from .sources import part_of

ROLES = [(t, k) for k, ts in {
    "place": ["flights from {a} to {b}", "how far is it from {a} to {b}", "book a train from {a} to {b}",
              "what is the time difference when i fly from {a} to {b}", "ship a parcel from {a} to {b}",
              "can i drive from {a} to {b} in a day", "moving costs from {a} to {b}", "is {a} bigger than {b}",
              "did {a} invade {b}", "how do exports from {a} to {b} work", "is it colder in {a} than in {b}",
              "driving directions starting at {a} and ending in {b}", "do citizens of {a} need a visa for {b}"],
    "money": ["convert {n} {a} to {b}", "how do i exchange {a} for {b}", "what is the rate from {a} to {b}",
              "how many {a} do i get for {n} {b}", "is it better to change {a} into {b} here",
              "how many {a} are in a {b}"],
    "account": ["transfer money from my {a} account to my {b} account", "can i move {n} from {a} to {b}",
                "what is the fee for moving money from {a} into {b}", "pay my {a} with my {b}",
                "can i link my {a} to my {b}"],
    "person": ["did {a} lend money to {b}", "who introduced {a} to {b}", "send {a} the photo of {b}",
    "is {a} taller than {b}",
               "why did {a} criticize {b}", "does {a} report to {b}", "was {a} older than {b}",
               "tell {a} that {b} called",
               "when did {a} meet {b}'s mother", "did {a} influence {b}", "forward the mail of {a} to {b}",
               "what did {a} say about {b}", "did {a} teach {b}", "how much does {a} owe {b}"],
    "team": ["when did {a} beat {b}", "did {a} lose to {b}", "how many times has {a} defeated {b}",
             "who scored when {a} won against {b}", "what was the result of {a} at {b}"],
    "thing": ["how do i migrate from {a} to {b}", "can i import my {a} data into {b}", "is {a} better than {b}",
              "replace {a} with {b}", "should i take {a} before {b}", "can {a} be converted to {b}",
              "is {a} cheaper than {b}",
              "why would i use {a} instead of {b}", "call {a} from {b}", "how do i switch from {a} to {b}",
              "does {a} run on {b}", "can i substitute {a} for {b}", "export a file from {a} to {b}",
              "add {a} after {b}", "does {a} own {b}", "is {a} a subset of {b}", "install {a} inside {b}"],
    "language": ["translate this from {a} to {b}", "how do i translate a text from {a} into {b}",
                 "is {a} harder than {b}", "what is the {a} word for the {b} flag"],
    "relation": ["does {a} cause {b}", "can {a} lead to {b}", "is {a} a symptom of {b}", "does {a} come before {b}",
                 "can {a} affect {b}", "does {a} depend on {b}", "is {a} derived from {b}",
                 "does {a} help against {b}"],
}.items() for t in ts]  # fmt: skip
_FILL = {
    "place": f"{ew.CITIES} {ew.COUNTRIES}", "money": ew.MONEY, "person": ew.PEOPLE, "team": ew.TEAMS,
    "thing": ew.THINGS,
    "language": ew.LANGUAGES, "account": "checking savings joint business personal credit brokerage pension",
    "relation": "stress insomnia anxiety diabetes obesity inflation unemployment poverty smoking fever headache "
                "dehydration fatigue depression asthma migraine debt conflict drought erosion",
}  # fmt: skip


def role_base(rng: random.Random, part: str) -> tuple[str, str]:
    """A request with two places, and the same with them swapped."""
    mine = [t for t in ROLES if part_of(t[0]) == part] or ROLES
    template, kind = rng.choice(mine)
    a, b = rng.sample(ew.words(_FILL[kind], part), 2)
    n = str(rng.choice((20, 50, 100, 250, 1000)))
    return template.format(a=a, b=b, n=n), template.format(a=b, b=a, n=n)
