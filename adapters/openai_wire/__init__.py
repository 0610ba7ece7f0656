"""OpenAI's wire form as bytes: server-sent events, streams and whole answers made of each other, fresh identities.

sse             events as bytes
merge           a stream as the whole answer
split           a whole answer as a stream
fresh           a fresh id and time
runs            many events that add to one text, read as one
"""

from .fresh import NONE, Fresh, Marks, freshen, marks_of, renewed, usual_marks
from .merge import body_of
from .runs import joined
from .split import chunks_of
from .sse import DONE, Framer, NotAnAnswer, chunks_in, event, events_in, payloads, said_all

__all__ = [
    "DONE",
    "NONE",
    "Framer",
    "Fresh",
    "Marks",
    "NotAnAnswer",
    "body_of",
    "chunks_in",
    "chunks_of",
    "event",
    "events_in",
    "freshen",
    "joined",
    "marks_of",
    "payloads",
    "renewed",
    "said_all",
    "usual_marks",
]
