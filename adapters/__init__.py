"""Ways to hold the layer that need a framework or a server; installed as `cachelayer.adapters`."""
