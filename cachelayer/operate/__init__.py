"""What the owner of a layer does and sees: invalidate, erase, watch, trace, compare."""
