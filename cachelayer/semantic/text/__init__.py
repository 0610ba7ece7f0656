"""One text, read: its words, numbers, names and marks, and what is known of them."""
