"""What words add to vectors: guards with a record, words that go with answers."""

from __future__ import annotations

from cachelayer.semantic.evidence.wording import (
    GUARDS,
    WORDING,
    Record,
    Signatures,
    WordCounts,
    objections,
    read,
)
from cachelayer.semantic.text.signature import Signature, signature

NAMES = [name for name, _ in GUARDS]


def column(row: list[float], name: str) -> float:
    return row[WORDING.index(name)]


def test_a_guard_objects_only_where_it_objects_to_every_near_entry_of_the_answer() -> None:
    mine = signature("cancel 2 rooms")
    assert objections(mine, [signature("cancel 3 rooms"), signature("cancel 4 rooms")]) == (
        [NAMES.index("numbers")],
        True,
    )
    assert objections(mine, [signature("cancel 3 rooms"), signature("cancel 2 rooms please")]) == ([], True)


def test_a_guard_that_was_often_wrong_weighs_less_and_one_that_was_right_weighs_more() -> None:
    harmless, telling, numbers = Record(), Record(), [NAMES.index("numbers")]
    fresh = Record().weight(numbers)
    for _ in range(100):
        harmless.learn(numbers, wrong=False)
        telling.learn(numbers, wrong=True)
    assert harmless.weight(numbers) < fresh < telling.weight(numbers)
    assert Record().weight([]) < harmless.weight(numbers)


def test_words_that_came_with_an_answer_link_to_it() -> None:
    wording = WordCounts()
    for _ in range(20):
        wording.learn(0, signature("my card was stolen").words)
        wording.learn(1, signature("my card has not arrived").words)
    (right, wrong), unseen = wording.links({"stolen", "card"}, [20, 20], [0, 1])
    assert right > 0 > wrong
    assert unseen == []
    _, unseen = wording.links({"swallowed", "card"}, [20, 20], [0, 1])
    assert unseen == ["swallowed"]


def test_a_swapped_direction_is_a_hard_objection_and_the_free_rival_is_seen() -> None:
    there, back = "move from Plus to Family", "move from Family to Plus"
    row, objected = read(WordCounts(), Record(), Signatures(), back, [there], [back], [0, 1], [3, 3])
    assert column(row, "hard") == 1.0
    assert column(row, "free_rival") == 1.0
    assert NAMES.index("roles") in objected


def test_what_is_remembered_of_texts_and_words_is_bounded() -> None:
    kept = Signatures(most=8)
    for i in range(50):
        kept(f"text {i}")
    assert len(kept._kept) == 8
    wording = WordCounts()
    for i in range(3000):
        wording.learn(0, [f"word{i}"])
    assert len(wording.by_answer[0]) <= 400


def test_of_entries_that_no_guard_is_asked_about_only_the_words_are_read() -> None:
    whole: list[str] = []

    def reading(text: str) -> Signature:
        whole.append(text)
        return signature(text)

    texts = Signatures(reading, 0, lambda text: signature(text).vocabulary)
    asked, same, others = "I lost my card", ["I lost my bank card", "lost my card"], ["card stolen"]
    read(WordCounts(), Record(), texts, asked, same, others, [0, 1], [3, 3])
    assert whole == [asked, same[0]]
