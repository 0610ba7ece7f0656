"""Embedders: texts to normalized float32 vectors, off the event loop."""
