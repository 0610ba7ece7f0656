"""Answers: what they say, whether they may be kept, and how they are taken apart and built anew."""
