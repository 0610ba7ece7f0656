"""The path of a request, from its arguments to its answer."""
