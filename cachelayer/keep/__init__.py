"""A call, what is kept of its answer in process, and for how long."""
