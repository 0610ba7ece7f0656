"""Metrics, explanations and accounting."""
