"""The exact tier: keys, answers, memory, Redis."""
