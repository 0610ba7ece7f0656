"""The similar tier: embedders, vector indexes, guards, verifier, evidence."""
