"""The in-process tier: slots, their weights, admission and eviction."""
