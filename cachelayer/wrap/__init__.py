"""Wrapping functions: what a callable becomes, its name, its options."""
