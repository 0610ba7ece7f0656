"""What the owner of a layer does and sees.

lifecycle       from when to when a layer is open
upkeep          invalidate, erase, change the model, statistics
watching        metrics, cost, traces, quality
tracing         the spans of one request
comparing       compares a cheap model with a reference
"""
