"""Arguments to keys: normalization, identity, canonical bytes."""
