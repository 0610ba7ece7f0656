"""What lies beyond the process's memory.

hierarchy       all of them in order, and the write-back: start here
wiring          builds the parts of a layer from its arguments

Shared store:

shared          budgets, breaker, leases around the store
shortcuts       raw forms that lead straight to a key
implied         tags that every shared entry has
invalidations   to and from other processes
feed            new entries and reports, to and from other processes
outbox          what the store is to hear once it answers again
records         an entry as it travels

Similar answers:

meaning         between a call and the similar tier
learning        answers on which the owner's judge is asked
rides           near-duplicates wait for one call
shadows         hits that are checked in the background
reports         what follows from a report that an answer was wrong
warming         answers made while the model loads

Restarts:

persistence     entries in a directory
pending         those that were not restored yet
outdated        those that proved wrong for similar requests
directory       damage there
elsewhere       where entries come from and go to
arrivals        entries that come from other processes, or from before a restart
"""
