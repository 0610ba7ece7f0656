"""Guards: named reasons why two texts with near vectors may take different answers."""
