"""Metrics, traces, costs, quality and recorded traffic.

stats           counters, and clocks of the stages
histogram       latencies in buckets
topn            counts of the busiest names
cost            what answers cost and what hits save
quality         whether similar answers are right
health          hit rate collapsed? loop held up?
pace            how a stream reaches its reader
families        every metric: name, kind, labels, meaning
readings        their values now
prometheus, otel_metrics   exporters of these
otel            traces
traffic         recorded requests
"""
