"""Traces: streams of requests with their true answers, read from files and asked again through any cache.

read            what a trace's rows ask: start here
rows, fields    files to rows; rows to fields
run             a trace through a real layer
settings        `--config`: names and fields to policies
tally           what came of a run
rivals          static thresholds, and an oracle
intervals       exact intervals for shares
options         options that `replay` and `calibrate` share
output, progress   what they write, and how far they are
"""
