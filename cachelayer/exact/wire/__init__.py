"""What leaves the process: answers as bytes, streams, entries on disk."""
