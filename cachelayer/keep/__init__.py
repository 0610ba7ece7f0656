"""A call, what is kept of its answer in process, and for how long.

call            the data of a call along the path: start here
scope           whose a call is, and which answer it helps to make
scope_blocks    whose the calls inside a `with` block are
terms           how long an answer is kept, and under which tags
keeper          reads and writes the in-process tier
holdings        all entries by tag, scope and id
ids             of outcomes
invalidation    what was declared invalid
transport_forms   bytes of a request that lead straight to an entry
streams         streams as they are kept
parts           what an answer was built from
part_names      the same as users name it
accounts        what it cost
recorder        records traffic in the background
"""
