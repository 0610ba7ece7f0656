"""Answers: what they say, whether they may be kept, and how they are taken apart and built anew.

What an answer says:

reply           a model's answer, in whatever wire form it came
reply_reader    reads one: OpenAI, Anthropic, LangChain
fields          the fields of a dict or an object alike
deltas, joining   chunks of a stream, read fast
events          streams in other forms, which say at their end why they ended
finish_reasons, usage   why it ended; how many tokens it took
silence         whether it says anything, in a provider's own form
admission       whether it may be kept

How it is kept in process:

freezer         start here: an answer to what is kept, and back
frozen          what is kept
kinds, copies   which values are immutable, copied, or refused
walk            takes an answer apart into a shape and its leaves
shapes, extractors   compiled code that builds a value of a shape, and takes one apart
tokens          how that code is written
tape            the chunks of a stream
"""
