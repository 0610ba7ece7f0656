"""Exact answers: the same request was asked before.

answers/        what answers say, whether they may be kept, how they are taken apart and built anew
keys/           arguments to canonical bytes and a key
memory/         the in-process tier
wire/           answers as bytes, for whatever leaves the process
redis/          the shared tier
"""
