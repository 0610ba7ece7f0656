"""cachelayer: the semantic cache that is safe to turn on."""
