"""From arguments to a key: what identifies an answer, and nothing else.

identity        the whole step: start here
parameters      arguments by the names of parameters
meaning         which argument is compared by meaning
normalize       what counts as the same text
chat            requests in OpenAI's wire form
sampling        whether an answer is sampled
canonical       values to canonical JSON and bytes
plain           the same for plain JSON values, fast
members, classes   objects with named fields; classes as arguments
held            copies of arguments, for calls that are made later
refusal         the message about an argument that cannot be part of a key
"""
