"""The path of a request, from its arguments to its answer.

engine          the order of the tiers: start here
delivery        what a caller gets of a finished flight
keeping         when an answer is kept, and dropping one that was wrong
streamed        what becomes of a stream
explain         the same path without effect
"""
