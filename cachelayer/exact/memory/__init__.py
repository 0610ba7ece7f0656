"""The in-process tier: a table of slots, bounded in bytes.

table           finds, adds and removes: start here
slot            one entry, and what it weighs
raw_forms       bytes of arguments that lead straight to an entry
eviction        which slot goes
ghosts          remembers what was evicted
calendar        slots by the time at which they expire
refresh         when to refresh before that
invariants      what holds after each change; for tests
"""
