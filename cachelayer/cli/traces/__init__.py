"""Traces: streams of requests with their true answers, read from files and asked again through any cache."""
