"""Two texts and nothing else: the probability that they take the same answer."""
