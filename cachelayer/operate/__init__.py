"""What the owner of a layer does and sees.

upkeep          invalidate, erase, change the model, statistics
watching        metrics, cost, traces, quality
tracing         the spans of one request
comparing       compares a cheap model with a reference
"""
